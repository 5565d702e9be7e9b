/* Messages as a person reads them: the line of the text with a caret under the place.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/message.h"

#include "base/terminal.h"

#include <string.h>

/* Of a long line only so many characters around the place are shown. */
enum { SHOWN_BEFORE = 60, SHOWN = 110 };

/* Lines of the text, found one after the other. */
struct lines {
    const char *p, *end; /* the current line's begin; the text's end */
    uint32_t line;
    const char *place;   /* in the current line, at `column`: what is quoted next is mostly behind it */
    uint32_t column;
};

/* The line's begin and end without its line break. Lines must be asked for in order. */
static const char *find_line(struct lines *lines, uint32_t line, const char **line_end)
{
    const char *next;
    while (lines->line < line && (next = memchr(lines->p, '\n', (size_t)(lines->end - lines->p)))) {
        lines->place = lines->p = next + 1;
        lines->column = 1;
        lines->line++;
    }
    const char *end = memchr(lines->p, '\n', (size_t)(lines->end - lines->p));
    if (!end)
        end = lines->end;
    if (end > lines->p && end[-1] == '\r')
        end--;
    *line_end = end;
    return lines->p;
}

static const char *next_character(const char *p, const char *end)
{
    size_t n = message_character(p, end);
    return p + (n ? n : 1);
}

/* One column for each character, whatever stands there: nothing in the text can move the terminal's cursor. */
static void put_character(const char *p, const char *end, FILE *out)
{
    size_t n = message_character(p, end);
    if (n == 0)
        fputc('?', out);
    else if (*p == '\t')
        fputc(' ', out);
    else
        fwrite(p, 1, n, out);
}

/* Prints the part of the line where the message belongs, and the caret. */
static void quote(struct lines *lines, const struct text_message *message, bool color, FILE *out)
{
    const char *end, *p = find_line(lines, message->line, &end);
    uint32_t column = 1, skip = message->column > SHOWN_BEFORE + 20 ? message->column - SHOWN_BEFORE : 1;
    if (lines->column <= skip) {
        p = lines->place;
        column = lines->column;
    }
    for (; p < end && column < skip; column++)
        p = next_character(p, end);
    lines->place = p;
    lines->column = column;
    uint32_t first = column;
    fputs(first > 1 ? "    ..." : "    ", out);
    for (; p < end && column < first + SHOWN; column++) {
        put_character(p, end, out);
        p = next_character(p, end);
    }
    fprintf(out, "%s\n%*s%s", p < end ? "..." : "", (int)(message->column - first) + (first > 1 ? 7 : 4), "",
            color ? "\033[1;32m" : "");
    uint32_t last = message->column + message->length - 1;
    fputc('^', out);
    for (uint32_t i = message->column + 1; i <= last && i < first + SHOWN; i++)
        fputc('~', out);
    fprintf(out, "%s\n", color ? "\033[0m" : "");
}

void text_messages_print(const struct text_messages *messages, const char *text, size_t n_byte, const char *origin,
                         bool color, FILE *out)
{
    size_t mark = n_byte >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0; /* a byte order mark is in no column */
    struct lines lines = {text + mark, text + n_byte, 1, text + mark, 1};
    for (size_t i = 0; i < messages->n_message; i++) {
        const struct text_message *message = &messages->message[i];
        const char *kind = message->is_error ? "error" : "warning";
        const char *shade = message->is_error ? "\033[1;31m" : "\033[1;35m";
        terminal_put_name(out, origin);
        if (message->line)
            fprintf(out, ":%u:%u", (unsigned)message->line, (unsigned)message->column);
        fprintf(out, ": %s%s:%s %s\n", color ? shade : "", kind, color ? "\033[0m" : "", message->text);
        if (message->line)
            quote(&lines, message, color, out);
    }
    if (messages->n_dropped)
        terminal_put_name(out, origin);
    if (messages->n_dropped)
        fprintf(out, ": %zu more message%s\n", messages->n_dropped, messages->n_dropped > 1 ? "s" : "");
}
