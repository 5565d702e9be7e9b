/* The one place where bytes of the user's go into C code.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/c_text.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char comment_character(unsigned char c, char last)
{
    if (c == '\t')
        return ' ';
    if (c < ' ' || c > '~' || c == '\\')
        return '~';
    return (c == '/' && last == '*') || (c == '*' && last == '/') || (c == '?' && last == '?') ? '~' : (char)c;
}

void c_comment(FILE *out, const char *text, size_t length)
{
    char last = 0;
    size_t n_put = 0;
    for (size_t i = 0; i < length && n_put < COMMENT_MAX; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80 && c < 0xc0) /* the rest of a character of several bytes */
            continue;
        last = comment_character(c, last);
        putc(last, out);
        n_put++;
    }
    if (n_put == COMMENT_MAX)
        fputs(" ...", out);
}

bool c_lines_init(struct c_lines *lines, const char *text)
{
    size_t n_end = 0;
    for (const char *c = text; c && (c = strchr(c, '\n')); c++)
        n_end++;
    lines->start = calloc(n_end + 2, sizeof *lines->start);
    if (!lines->start || !text)
        return lines->start;
    lines->start[lines->n++] = text;
    for (const char *c = text; (c = strchr(c, '\n')); c++)
        lines->start[lines->n++] = c + 1;
    lines->start[lines->n] = text + strlen(text);
    return true;
}

void c_lines_fini(struct c_lines *lines)
{
    free(lines->start);
    *lines = (struct c_lines){0};
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

const char *c_lines_get(const struct c_lines *lines, uint32_t number, size_t *length)
{
    *length = 0;
    if (number < 1 || number > lines->n)
        return "";
    const char *first = lines->start[number - 1], *end = lines->start[number];
    while (end > first && is_blank(end[-1]))
        end--;
    while (first < end && is_blank(*first))
        first++;
    *length = (size_t)(end - first);
    return first;
}

/* Not the question mark: trigraphs. */
static int is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(" _.,:;+-*/^()[]=<>", c));
}

void c_string(FILE *out, const char *text)
{
    if (!text) {
        putc('0', out);
        return;
    }
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (is_plain(*c))
            putc(*c, out);
        else
            fprintf(out, "\\%03o", *c);
    }
    putc('"', out);
}

void c_number(FILE *out, double value)
{
    char text[NUMBER_SIZE];
    if (isnan(value)) {
        fputs("NAN", out);
    } else if (isinf(value)) {
        fputs(value > 0 ? "INFINITY" : "(-INFINITY)", out);
    } else {
        number_text(text, value);
        const char *point = strpbrk(text, ".e") ? "" : ".0";
        fprintf(out, signbit(value) ? "(%s%s)" : "%s%s", text, point);
    }
}
