/* CSV tables: reads them row by row, reporting faults with file, line and column, and writes them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CSV_MAX_ROW = 1 << 26 }; /* bytes of one row: a million columns */
#define CSV_NO_COLUMN SIZE_MAX

/* Reads RFC 4180 and common variants. Fields may be quoted ("" for a quote, line breaks allowed
 * inside); lines end in LF, CR LF or CR; a byte-order mark is skipped; the delimiter is a comma,
 * semicolon or tab, whichever is most frequent in the first line, or, if it has none of them,
 * any number of blanks; blanks around an unquoted field, empty lines, rows whose fields are all
 * empty, and empty fields behind the last column are ignored. The first row names the columns; a
 * unit behind a name ("time [h]", "dose (mg)") is dropped unless the name is then another
 * column's. The first column may have the name "": an index that a program wrote. Lines above
 * the first row that begin with # are comments, unless the last one has as many fields as the
 * numbers below it: then it is the header; those that begin with "TABLE NO." are skipped. Below,
 * a line that begins with # and has another number of fields than there are columns is a
 * comment. */
struct csv_reader;

/* Opens a file ("-": standard input) and reads the header. STATUS_BAD_PROBLEM: the file is
 * empty, or a column but the first has no name, or one has that of another. */
enum status csv_open(struct csv_reader **reader, const char *path, struct error *error);
/* Opens a table whose rows may leave out empty fields at their ends. */
enum status csv_open_ragged(struct csv_reader **reader, const char *path, struct error *error);
/* Opens the file's n bytes of text, which are copied. */
enum status csv_open_text(struct csv_reader **reader, const char *path, const char *text, size_t n,
                          struct error *error);
/* Opens n bytes of text without a header, for csv_next_line: lines may have any number of
 * fields. */
enum status csv_open_lines(struct csv_reader **reader, const char *path, const char *text, size_t n,
                           char delimiter, struct error *error);
/* The next line that is no comment, even an empty one, as csv_n_field fields. */
enum status csv_next_line(struct csv_reader *reader, bool *more, struct error *error);
size_t csv_n_field(const struct csv_reader *reader);
/* After csv_open_text, of a table of n_row rows that was made from `lines`: row i, column j came
 * from line[i * columns + j], which the reader frees. Comments are those of `lines`. */
void csv_set_origin(struct csv_reader *reader, const struct csv_reader *lines, uint64_t *line,
                    size_t n_row);
void csv_close(struct csv_reader *reader); /* NULL is legal */

size_t csv_n_column(const struct csv_reader *reader);
const char *csv_column_name(const struct csv_reader *reader, size_t column);
/* The column's number, CSV_NO_COLUMN if there is none; case matters only if names differ by case
 * alone. */
size_t csv_find_column(const struct csv_reader *reader, const char *name);
/* From now on the name means the column that the file calls `of`, and no longer one that it calls
 * like this; columns keep their names for messages. *found: the file has such a column.
 * STATUS_BAD_PROBLEM: the name means another one already. */
enum status csv_alias(struct csv_reader *reader, const char *name, const char *of, bool *found,
                      struct error *error);
/* A fault, "FILE: there is no column 'NAME'" say, to which the names of the columns are added. */
enum status csv_lacks(const struct csv_reader *reader, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a column `name` behind the others, of the fields of the columns in `list` (names between
 * commas) with `between` between them; "" where one is empty. Before the first row. A table that
 * has none of them, but a column of that name, stays as it is. */
enum status csv_join(struct csv_reader *reader, const char *name, const char *list, char between,
                     struct error *error);
/* Whether it is one of `list`. */
bool csv_is_joined(const struct csv_reader *reader, size_t column);

/* Reads the next row; *more is false at the end. A row with another number of fields than the
 * header is a fault, unless the table may be ragged: then fields that are missing are empty. */
enum status csv_next(struct csv_reader *reader, bool *more, struct error *error);
uint64_t csv_line(const struct csv_reader *reader); /* first line of the row, from 1 */
/* The first line so far that is not UTF-8 and was read as Latin-1; 0: none. */
uint64_t csv_latin1_line(const struct csv_reader *reader);
/* The comments so far. */
struct csv_lines {
    uint64_t n, first; /* first: a line, from 1 */
} csv_comments(const struct csv_reader *reader);
/* The row's first character, outside quotes. */
char csv_first_character(const struct csv_reader *reader);
/* Fields of the row, UTF-8; valid until the next csv_next. */
const char *csv_field(const struct csv_reader *reader, size_t column);
/* Words that csv_number reads as missing values, beside those of csv_parse_double: n items, each
 * a word or several with commas between. They must outlive the reader. */
void csv_set_missing(struct csv_reader *reader, const char *const *item, size_t n);
/* Whether the field is a missing value. */
bool csv_is_missing(const struct csv_reader *reader, size_t column);
/* csv_number shall also read numbers as csv_parse_fortran. */
void csv_set_fortran(struct csv_reader *reader);
/* As csv_parse_double; a decimal comma is read, too, where semicolons or tabs separate columns. */
enum status csv_number(const struct csv_reader *reader, size_t column, double *value,
                       struct error *error);

/* STATUS_BAD_PROBLEM, with "FILE:LINE: column 'NAME': " prepended. CSV_NO_COLUMN: only file and
 * line. */
enum status csv_fault(const struct csv_reader *reader, size_t column, struct error *error,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* What separates the columns of a header: the most frequent of , ; and tab outside quotes; if it
 * has none, a blank between its words, which may be quoted as R's write.table does. */
char csv_find_delimiter(const char *header);
/* Whether a comment names the columns of the row below it, as numpy.savetxt writes: "#
 * time,value" above numbers. */
bool csv_is_header_of(const char *comment, const char *row);
/* "time [h]", "value (nM)": without the unit. */
void csv_drop_unit(char *name);
/* A decimal number, with a point in every locale, or inf. "", ".", NA, N/A and NaN are missing
 * values: NaN. False for anything else, such as trailing text, hexadecimal, a decimal comma, or
 * 1e999. */
bool csv_parse_double(const char *text, double *value);
/* A number with an exponent as Fortran writes it: 9.05D1 or, without a letter, 8.19+1. False for
 * anything else. */
bool csv_parse_fortran(const char *text, double *value);

/* Writing: LF, quotes only if needed. The caller owns the file and checks ferror at the end. */
struct csv_writer {
    FILE *file;
    bool in_row;
    /* and columns are separated by semicolons, as spreadsheets of half the world read */
    bool decimal_comma;
    bool types_row; /* below the names of the columns */
    char delimiter; /* 0: a comma, or with decimal commas a semicolon */
    /* By its first text: a terminal gets '?' for control characters. */
    enum { CSV_UNKNOWN, CSV_TERMINAL, CSV_FILE } kind;
    enum { CSV_BODY, CSV_NAMES, CSV_TYPES } part;
};
enum csv_type { CSV_TEXT, CSV_INTEGER, CSV_NUMBER };
struct csv_column {
    const char *name;
    enum csv_type type;
};
/* The head: `while (csv_head(&writer)) csv_put_column(&writer, ...);`, a call for each column.
 * The loop runs once for the names, and with types_row once more for the types: what a column
 * holds does not depend on its values, which a reader would have to guess from. */
bool csv_head(struct csv_writer *writer);
void csv_put_column(struct csv_writer *writer, const char *name, enum csv_type type);
void csv_put_text(struct csv_writer *writer, const char *text);
/* reads back to the same bits; NaN, Inf, -Inf */
void csv_put_number(struct csv_writer *writer, double value);
void csv_put_integer(struct csv_writer *writer, int64_t value);
void csv_end_row(struct csv_writer *writer);
