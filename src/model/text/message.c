/* Messages about a model text: their line and column, a bounded list of them, and their printed
 * form, with the line of the text and a caret under the place.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/text/message.h"

#include "base/terminal.h"
#include "base/words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

size_t message_character(const char *p, const char *end)
{
    const unsigned char *s = (const unsigned char *)p;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0x80 ? 2 : 1;
    if ((size_t)(end - p) < n) /* the text may end without a NUL */
        return 0;
    bool is_control =
        n == 1 ? (s[0] < 0x20 && s[0] != '\t') || s[0] == 0x7f : s[0] == 0xc2 && s[1] < 0xa0;
    return is_control ? 0 : (size_t)utf8_length(s);
}

/* Characters in a piece of the text; each byte of invalid UTF-8 counts as one. */
static uint32_t count_characters(const char *p, const char *end)
{
    uint32_t n = 0;
    for (; p < end; n++) {
        size_t length = *p >= 0x20 && *p < 0x7f ? 1 : message_character(p, end);
        p += length ? length : 1;
    }
    return n;
}

/* The place for the next message. If all are taken, an error replaces the last warning. NULL:
 * none. */
static struct text_message *room_for(struct text_messages *messages, bool is_error)
{
    if (messages->n_message < TEXT_MAX_MESSAGES)
        return &messages->message[messages->n_message];
    for (size_t i = messages->n_message; is_error && i-- > 0;)
        if (!messages->message[i].is_error)
            return &messages->message[i];
    return NULL;
}

bool message_is_kept(const struct source *source)
{
    return !source->messages->message || room_for(source->messages, true);
}

/* Finds line and column, continuing from the last place found if that lies before this one:
 * otherwise a text of one long line would be scanned again for each message. */
static void place(struct source *source, struct span at, struct text_message *message)
{
    const char *text = source->text, *p = text + at.offset, *end = p + at.length;
    if (source->found.line == 0 || source->found.offset > at.offset) {
        bool mark = source->n_byte >= 3 && at.offset >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
        source->found.offset = mark ? 3 : 0;
        source->found.line = source->found.column = 1;
    }
    const char *begin = text + source->found.offset, *next;
    while ((next = memchr(begin, '\n', (size_t)(p - begin)))) {
        begin = next + 1;
        source->found.line++;
        source->found.column = 1;
    }
    source->found.column += count_characters(begin, p);
    source->found.offset = at.offset;
    /* underline only within the first line */
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    message->line = source->found.line;
    message->column = source->found.column;
    message->length = count_characters(p, line_end ? line_end : end);
    if (message->length == 0)
        message->length = 1;
}

void message_add(struct source *source, bool is_error, struct span at, const char *format, ...)
{
    struct text_messages *messages = source->messages;
    messages->n_error += is_error;
    if (!messages->message)
        messages->message = calloc(TEXT_MAX_MESSAGES, sizeof *messages->message);
    struct text_message *message = messages->message ? room_for(messages, is_error) : NULL;
    if (messages->message && !message) {
        messages->n_dropped++;
        return;
    }
    char text[1500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *kept = message ? strdup(text) : NULL;
    if (!kept) {
        source->no_memory = true;
        return;
    }
    if (message->text) { /* a warning replaced by an error */
        free(message->text);
        messages->n_dropped++;
    } else {
        messages->n_message++;
    }
    *message = (struct text_message){.is_error = is_error, .text = kept, .length = 1};
    if (at.length)
        place(source, at, message);
}

static bool is_after(const struct text_message *a, const struct text_message *b)
{
    return a->line > b->line || (a->line == b->line && a->column > b->column);
}

void message_sort(struct text_messages *messages)
{
    for (size_t i = 1; i < messages->n_message; i++) {
        /* at most 100; those at one place keep their order */
        struct text_message moved = messages->message[i];
        size_t j = i;
        for (; j > 0 && is_after(&messages->message[j - 1], &moved); j--)
            messages->message[j] = messages->message[j - 1];
        messages->message[j] = moved;
    }
}

void text_messages_fini(struct text_messages *messages)
{
    for (size_t i = 0; i < messages->n_message; i++)
        free(messages->message[i].text);
    free(messages->message);
    *messages = (struct text_messages){0};
}

/* Of a long line only this many characters around the place are shown. */
enum { SHOWN_BEFORE = 60, SHOWN = 110 };

/* The lines of the text, found one after the other. */
struct lines {
    const char *p, *end; /* beginning of the current line; end of the text */
    uint32_t line;
    /* in the current line, at `column`: the next quote usually comes after it */
    const char *place;
    uint32_t column;
};

/* Beginning and end of a line without its line break. Lines must be requested in order. */
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

/* Prints one column per character, whatever it is: nothing in the text can move the terminal's
 * cursor. */
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

/* Prints the part of the line around the place, and the caret. */
static void quote(struct lines *lines, const struct text_message *message, bool color, FILE *out)
{
    const char *end, *p = find_line(lines, message->line, &end);
    uint32_t column = 1,
             skip = message->column > SHOWN_BEFORE + 20 ? message->column - SHOWN_BEFORE : 1;
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
    fprintf(out, "%s\n%*s%s", p < end ? "..." : "",
            (int)(message->column - first) + (first > 1 ? 7 : 4), "", color ? "\033[1;32m" : "");
    uint32_t last = message->column + message->length - 1;
    fputc('^', out);
    for (uint32_t i = message->column + 1; i <= last && i < first + SHOWN; i++)
        fputc('~', out);
    fprintf(out, "%s\n", color ? "\033[0m" : "");
}

void text_messages_print(const struct text_messages *messages, const char *text, size_t n_byte,
                         const char *origin, bool color, FILE *out)
{
    /* a byte order mark is not in any column */
    size_t mark = n_byte >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    struct lines lines = {text + mark, text + n_byte, 1, text + mark, 1};
    for (size_t i = 0; i < messages->n_message; i++) {
        const struct text_message *message = &messages->message[i];
        const char *kind = message->is_error ? "error" : "warning";
        const char *shade = message->is_error ? "\033[1;31m" : "\033[1;35m";
        terminal_put_name(out, origin);
        if (message->line)
            fprintf(out, ":%u:%u", (unsigned)message->line, (unsigned)message->column);
        fprintf(out, ": %s%s:%s %s\n", color ? shade : "", kind, color ? "\033[0m" : "",
                message->text);
        if (message->line)
            quote(&lines, message, color, out);
    }
    if (messages->n_dropped) {
        terminal_put_name(out, origin);
        fprintf(out, ": %zu more message%s\n", messages->n_dropped,
                messages->n_dropped > 1 ? "s" : "");
    }
}
