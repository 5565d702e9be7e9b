/* Statements of the model text as lines: broken where they are long, with comments that hold what
 * authors call things.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sbml/translation.h"

#include "model/text/message.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 110, COMMENT_MOST = 100 };

struct writer begin_line(struct translation *translation, struct line *line,
                         const struct item *about)
{
    line->text = NULL;
    line->out = open_memstream(&line->text, &line->size);
    if (!line->out)
        document_no_memory(translation->document);
    /* Without memory the text is thrown away; a stream that is closed to none keeps the callers
     * simple. */
    return (struct writer){.translation = translation,
                           .out = line->out ? line->out : stderr,
                           .about = about};
}

/* Text that continues on lines of its own where it is long. Labels, which are in double quotes, are
 * never broken: they have no end on another line. */
static void put_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        const char *end = at + 1;
        for (bool is_label = *at == '"'; *end && (is_label || *end != ' '); end++)
            is_label = is_label != (*end == '"');
        size_t n = (size_t)(end - at);
        if (*at == ' ' && column + n > LINE_COLUMNS && text[0] != '#') {
            fputs(" \\\n    ", out);
            column = 4;
            at++;
            n--;
        }
        fwrite(at, 1, n, out);
        column += n;
        at += n;
    }
}

void put_label(FILE *out, const char *text, size_t most, char quote)
{
    size_t n = 0;
    for (const char *at = text, *end = text + strlen(text); *at;) {
        size_t length = message_character(at, end), step = length ? length : 1;
        if ((n += step) > most)
            return;
        if (length && *at != '"' && *at != '\t')
            fwrite(at, 1, length, out);
        else
            putc(*at == '"' ? quote : strchr("\t\r\n", *at) ? ' ' : '?', out);
        at += step;
    }
}

void end_line(struct translation *translation, struct line *line, enum section section,
              const char *comment)
{
    FILE *out = translation->section[section];
    if (!line->out)
        return;
    if (fclose(line->out))
        document_no_memory(translation->document);
    else {
        put_wrapped(out, line->text);
        fputs(*comment ? "  # " : "", out);
        put_label(out, comment, COMMENT_MOST, '"');
        putc('\n', out);
    }
    free(line->text);
}

const char *comment_of(struct translation *translation, const struct item *item)
{
    const char *label = strcmp(item->label, item->id) ? item->label : "";
    if (item->kind == ITEM_LOCAL || !item->id[0] || !strcmp(item->name, item->id))
        return label;
    const char *text =
        document_format(translation->document, label[0] ? "id %s: %s" : "id %s", item->id, label);
    return text ? text : "";
}
