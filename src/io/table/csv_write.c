/* Writes CSV tables.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/table/csv.h"

#include "base/terminal.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void begin_field(struct csv_writer *writer)
{
    if (writer->in_row)
        putc(writer->delimiter       ? writer->delimiter
             : writer->decimal_comma ? ';'
                                     : ',',
             writer->file);
    writer->in_row = true;
}

/* What a file gets reads back; what a terminal gets is looked at. */
static void put_piece(struct csv_writer *writer, const char *text, size_t n)
{
    if (writer->kind == CSV_UNKNOWN)
        writer->kind = terminal_is(writer->file) ? CSV_TERMINAL : CSV_FILE;
    if (writer->kind == CSV_TERMINAL)
        terminal_put(writer->file, text, n);
    else
        fwrite(text, 1, n, writer->file);
}

void csv_put_text(struct csv_writer *writer, const char *text)
{
    size_t n = strlen(text);
    /* Without quotes blanks and an empty row would be lost, and a row that begins with # might
     * be a comment. */
    bool lost = n ? strchr(" \t", text[0]) || strchr(" \t", text[n - 1]) ||
                        (text[0] == '#' && !writer->in_row)
                  : !writer->in_row;
    begin_field(writer);
    if (!lost && !strpbrk(text, ",;\t\"\r\n")) {
        put_piece(writer, text, n);
        return;
    }
    putc('"', writer->file);
    for (const char *p = text, *quote; *p; p = quote) {
        quote = p + strcspn(p, "\"");
        put_piece(writer, p, (size_t)(quote - p));
        if (*quote) {
            fputs("\"\"", writer->file);
            quote++;
        }
    }
    putc('"', writer->file);
}

bool csv_head(struct csv_writer *writer)
{
    if (writer->part != CSV_BODY)
        csv_end_row(writer);
    writer->part = writer->part == CSV_BODY                       ? CSV_NAMES
                   : writer->part == CSV_NAMES && writer->types_row ? CSV_TYPES
                                                                  : CSV_BODY;
    return writer->part != CSV_BODY;
}

void csv_put_column(struct csv_writer *writer, const char *name, enum csv_type type)
{
    static const char *const word[] = {"text", "integer", "number"};
    csv_put_text(writer, writer->part == CSV_TYPES ? word[type] : name);
}

void csv_put_number(struct csv_writer *writer, double value)
{
    char text[NUMBER_SIZE];
    begin_field(writer);
    number_text(text, value);
    char *point = writer->decimal_comma ? strchr(text, '.') : NULL;
    if (point)
        *point = ',';
    fputs(isnan(value) ? "NaN" : isinf(value) ? value > 0 ? "Inf" : "-Inf" : text, writer->file);
}

void csv_put_integer(struct csv_writer *writer, int64_t value)
{
    begin_field(writer);
    fprintf(writer->file, "%" PRId64, value);
}

void csv_end_row(struct csv_writer *writer)
{
    putc('\n', writer->file);
    writer->in_row = false;
}
