/* Reads and writes CSV. The bytes of a row are read first (its end depends only on quotes) and
 * then split in place.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/table/csv.h"

#include "base/arena.h"
#include "base/terminal.h"
#include "base/words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct csv_reader {
    FILE *file;
    char *path;
    char delimiter;      /* 0 before the header is read */
    bool is_ragged;      /* rows may leave out empty fields at their ends */
    uint64_t line, next_line, latin1_line; /* latin1_line: the first one; 0: none */
    struct csv_lines comments;
    char first;          /* the row's first character */
    char *row;           /* the row's text; the fields point into it */
    size_t n_row, capacity;
    /* the row below a comment that turned out to be the header: it is read next; row NULL: none */
    struct held {
        char *row;
        size_t n_row;
        uint64_t line, next_line;
    } held;
    char **field;
    size_t n_field, field_capacity;
    char **name;
    size_t n_column;
    struct csv_name {
        const char *name;
        size_t column;
    } *sorted;           /* n_column: by name whatever its case, then by name */
    struct csv_name *alias; /* n_alias: other names of columns, which it owns */
    size_t n_alias;
    bool is_fortran;     /* csv_parse_fortran reads numbers, too */
    const char *const *missing; /* n_missing items, each one or more words */
    size_t n_missing;
    char *text;          /* of a table in memory */
    /* csv_join: n_joined columns whose fields, with `between` between them, make the last one */
    size_t *joined;
    size_t n_joined;
    char *joined_text;
    char between;
    /* csv_set_origin: the line of each field of the n_row rows; NULL: the rows are the file's */
    struct origin {
        uint64_t *line;
        size_t row, n_row;
    } origin;
    struct decimals {
        bool point, comma; /* which marks numbers have had so far */
    } *decimals;
};

static enum status no_memory(const struct csv_reader *reader, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", reader->path);
}

/* The file's line of a column of the row. */
static uint64_t line_of(const struct csv_reader *reader, size_t column)
{
    const struct origin *origin = &reader->origin;
    if (!origin->line || origin->row == 0 || origin->row > origin->n_row)
        return reader->line;
    return origin->line[(origin->row - 1) * reader->n_column +
                        (column < reader->n_column ? column : 0)];
}

enum status csv_fault(const struct csv_reader *reader, size_t column, struct error *error,
                      const char *format, ...)
{
    char message[1000], place[300] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (column < reader->n_column)
        snprintf(place, sizeof place, " column '%.200s':", reader->name[column]);
    return error_set(error, STATUS_BAD_PROBLEM, "%s:%" PRIu64 ":%s %s", reader->path,
                     line_of(reader, column), place, message);
}

static bool is_delimiter(const struct csv_reader *reader, int c)
{
    if (reader->delimiter == ' ')
        return c == ' ' || c == '\t';
    return reader->delimiter ? c == reader->delimiter : c == ',' || c == ';' || c == '\t';
}

static enum status keep_byte(struct csv_reader *reader, int c, struct error *error)
{
    if (reader->n_row == CSV_MAX_ROW)
        return csv_fault(reader, CSV_NO_COLUMN, error,
                         "the row is longer than %d bytes: is a quote missing, or is this not a "
                         "CSV file?",
                         CSV_MAX_ROW);
    if (c == 0)
        return csv_fault(reader, CSV_NO_COLUMN, error,
                         "there is a zero byte: this is not a CSV file in UTF-8");
    if (!array_grow(&reader->row, reader->n_row + 1, &reader->capacity, 1))
        return no_memory(reader, error);
    reader->row[reader->n_row++] = (char)c;
    reader->row[reader->n_row] = '\0';
    return STATUS_OK;
}

/* Completes a line break: CR LF counts as one. */
static void end_line(struct csv_reader *reader, int c)
{
    int next = c == '\r' ? getc_unlocked(reader->file) : EOF;
    if (next != '\n' && next != EOF)
        ungetc(next, reader->file);
    reader->next_line++;
}

/* Takes the row that was held, or false. */
static bool take_held(struct csv_reader *reader)
{
    struct held *held = &reader->held;
    if (!held->row)
        return false;
    free(reader->row);
    reader->row = held->row;
    reader->n_row = held->n_row;
    reader->capacity = held->n_row + 1;
    reader->line = held->line;
    reader->next_line = held->next_line;
    held->row = NULL;
    return true;
}

/* Reads up to the line break outside quotes that ends the row. *more: there was a row, possibly
 * empty. */
static enum status read_raw(struct csv_reader *reader, bool *more, struct error *error)
{
    enum { AT_START, PLAIN, QUOTED, AFTER_QUOTE } state = AT_START;
    enum status status = STATUS_OK;
    int c;
    *more = take_held(reader);
    if (*more)
        return STATUS_OK;
    reader->n_row = 0;
    reader->line = reader->next_line;
    reader->origin.row++;
    while ((c = getc_unlocked(reader->file)) != EOF) {
        *more = true;
        if ((c == '\n' || c == '\r') && state != QUOTED) {
            end_line(reader, c);
            /* makes even an empty row a string; split_row removes it */
            return keep_byte(reader, '\n', error);
        }
        if (c == '\n')
            reader->next_line++;
        if (state == QUOTED)
            state = c == '"' ? AFTER_QUOTE : QUOTED;
        else if (c == '"' && (state == AT_START || state == AFTER_QUOTE))
            state = QUOTED;
        else if (is_delimiter(reader, c))
            state = AT_START;
        else if (state == AFTER_QUOTE || (c != ' ' && c != '\t'))
            state = PLAIN;
        if ((status = keep_byte(reader, c, error)))
            return status;
    }
    if (ferror(reader->file))
        return error_system(error, errno, "cannot read '%s'", reader->path);
    if (state == QUOTED)
        return csv_fault(reader, CSV_NO_COLUMN, error,
                         "a quote that begins in this row is never closed");
    return *more ? keep_byte(reader, '\n', error) : STATUS_OK;
}

static enum status add_field(struct csv_reader *reader, char *field, struct error *error)
{
    if (!array_grow(&reader->field, reader->n_field, &reader->field_capacity,
                    sizeof *reader->field))
        return no_memory(reader, error);
    reader->field[reader->n_field++] = field;
    return STATUS_OK;
}

static char *skip_blanks(const struct csv_reader *reader, char *p)
{
    while (*p == ' ' || (*p == '\t' && reader->delimiter != '\t'))
        p++;
    return p;
}

/* Removes the quotes in place; *p moves to the delimiter. */
static enum status split_quoted(struct csv_reader *reader, char **p, struct error *error)
{
    char *in = *p + 1, *out = *p;
    enum status status = add_field(reader, out, error);
    for (;; in++) {
        if (*in == '"' && *++in != '"')
            break;
        *out++ = *in;
    }
    const bool is_escaped = out > *p && out[-1] == '\\';
    if (reader->delimiter != ' ')
        in = skip_blanks(reader, in);
    if (!status && *in && !is_delimiter(reader, *in))
        status = csv_fault(reader, reader->n_field - 1, error,
                           "there is text after the closing quote (a quote within a "
                           "quoted field is written twice%s)",
                           is_escaped ? "; R's write.table needs qmethod = \"double\"" : "");
    *out = '\0';
    *p = in;
    return status;
}

static enum status split_plain(struct csv_reader *reader, char **p, struct error *error)
{
    const char ends[] = {reader->delimiter, reader->delimiter == ' ' ? '\t' : '\0', '\0'};
    char *begin = *p, *end = begin + strcspn(begin, ends), *last = end;
    *p = end;
    while (last > begin && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    if (last <
        end) /* otherwise the terminator replaces the delimiter, once that has been examined */
        *last = '\0';
    return add_field(reader, begin, error);
}

/* Converts Latin-1, which old programs write. */
static enum status make_utf8(struct csv_reader *reader, struct error *error)
{
    if (utf8_is_valid(reader->row))
        return STATUS_OK;
    size_t capacity = 2 * reader->n_row + 1;
    char *converted = malloc(capacity);
    if (!converted)
        return no_memory(reader, error);
    utf8_from_latin1(reader->row, converted);
    free(reader->row);
    reader->row = converted;
    reader->n_row = strlen(converted);
    reader->capacity = capacity;
    if (!reader->latin1_line)
        reader->latin1_line = reader->line;
    return STATUS_OK;
}

/* Splits the row's text into fields. */
static enum status split_row(struct csv_reader *reader, struct error *error)
{
    reader->n_field = 0;
    reader->first = reader->row[0];
    enum status valid = make_utf8(reader, error);
    if (valid)
        return valid;
    reader->row[--reader->n_row] = '\0'; /* the line break */
    char *p = reader->row;
    for (;;) {
        p = skip_blanks(reader, p);
        if (!*p && reader->delimiter == ' ')
            return STATUS_OK; /* blanks at the end */
        enum status status =
            *p == '"' ? split_quoted(reader, &p, error) : split_plain(reader, &p, error);
        if (status)
            return status;
        if (!*p)
            return STATUS_OK;
        *p++ = '\0';
    }
}

/* Byte-order marks: UTF-8's is skipped, UTF-16's are refused. */
static enum status skip_mark(struct csv_reader *reader, struct error *error)
{
    int c = getc(reader->file);
    if (c == 0xff || c == 0xfe)
        return csv_fault(reader, CSV_NO_COLUMN, error,
                         "this looks like UTF-16: save the table as UTF-8");
    if (c == 0x89 || c == 0)
        return csv_fault(reader, CSV_NO_COLUMN, error,
                         "this is a binary file (HDF5?), not a CSV table");
    if (c != 0xef) {
        if (c != EOF)
            ungetc(c, reader->file);
        return STATUS_OK;
    }
    if (getc(reader->file) != 0xbb || getc(reader->file) != 0xbf)
        return csv_fault(reader, CSV_NO_COLUMN, error, "the text is not UTF-8");
    return STATUS_OK;
}

static bool is_blank(const struct csv_reader *reader)
{
    return reader->row[strspn(reader->row, " \t\n")] == '\0';
}

/* The comment becomes the row, and the row below it is held. */
static void use_comment(struct csv_reader *reader, char *comment, uint64_t line)
{
    reader->held = (struct held){reader->row, reader->n_row, reader->line, reader->next_line};
    reader->row = comment;
    reader->n_row = strlen(comment);
    reader->capacity = reader->n_row + 1;
    reader->line = line;
}

static void count_comment(struct csv_reader *reader, uint64_t line)
{
    if (reader->comments.n++ == 0)
        reader->comments.first = line;
}

/* "TABLE NO. 1", above what NONMEM's $TABLE writes. */
static bool is_table_number(const char *row) { return !strncmp(row, "TABLE NO.", 9); }

/* Reads the row that names the columns: the first one that is neither blank nor a comment, or
 * the last comment above it. */
static enum status read_header(struct csv_reader *reader, bool *more, struct error *error)
{
    char *comment = NULL;
    uint64_t line = 0;
    enum status status = read_raw(reader, more, error);
    while (!status && *more &&
           (is_blank(reader) || reader->row[0] == '#' || is_table_number(reader->row))) {
        if (reader->row[0] == '#') {
            free(comment);
            if (!(comment = strdup(reader->row + strspn(reader->row, "# \t"))))
                return no_memory(reader, error);
            count_comment(reader, line = reader->line);
        }
        status = read_raw(reader, more, error);
    }
    if (!status && *more && comment && csv_is_header_of(comment, reader->row)) {
        use_comment(reader, comment, line);
        reader->comments.n--;
    } else {
        free(comment);
    }
    return status;
}

struct bare_name {
    char *name;
    size_t column;
};

static int compare_bare(const void *a, const void *b)
{
    return strcasecmp(((const struct bare_name *)a)->name, ((const struct bare_name *)b)->name);
}

/* Names without their units, unless two columns would have the same. */
static enum status drop_units(struct csv_reader *reader, struct error *error)
{
    size_t n = reader->n_column, n_made = 0;
    struct bare_name *bare = calloc(n, sizeof *bare);
    for (; bare && n_made < n; n_made++) {
        if (!(bare[n_made].name = strdup(reader->name[n_made])))
            break;
        bare[n_made].column = n_made;
        csv_drop_unit(bare[n_made].name);
    }
    if (n_made == n)
        qsort(bare, n, sizeof *bare, compare_bare);
    for (size_t i = 0; n_made == n && i < n; i++) {
        bool is_first = i == 0 || compare_bare(&bare[i - 1], &bare[i]) != 0;
        bool is_last = i + 1 == n || compare_bare(&bare[i], &bare[i + 1]) != 0;
        if (is_first && is_last)
            strcpy(reader->name[bare[i].column], bare[i].name); /* which is no longer */
    }
    for (size_t i = 0; i < n_made; i++)
        free(bare[i].name);
    free(bare);
    return n_made == n ? STATUS_OK : no_memory(reader, error);
}

static int compare_names(const void *a, const void *b)
{
    const struct csv_name *x = a, *y = b;
    int order = strcasecmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

/* Sorts the names, so that a table of many columns is read as fast as its bytes; equal ones are a
 * fault. */
static enum status sort_names(struct csv_reader *reader, struct error *error)
{
    size_t n = reader->n_column, first = 0, second = CSV_NO_COLUMN;
    struct csv_name *sorted = reader->sorted = calloc(n, sizeof *sorted);
    if (!sorted)
        return no_memory(reader, error);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct csv_name){reader->name[i], i};
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(sorted[i - 1].name, sorted[i].name) && sorted[i].column < second) {
            first = sorted[i - 1].column;
            second = sorted[i].column;
        }
    return second == CSV_NO_COLUMN ? STATUS_OK
                                   : csv_fault(reader, CSV_NO_COLUMN, error,
                                               "columns %zu and %zu have the same name, '%s'",
                                               first + 1, second + 1, reader->name[second]);
}

static enum status take_header(struct csv_reader *reader, struct error *error)
{
    bool more;
    enum status status = skip_mark(reader, error);
    if (!status)
        status = read_header(reader, &more, error);
    if (status)
        return status;
    if (!more)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: is empty; a first line with the names of the columns is expected",
                         reader->path);
    reader->delimiter = csv_find_delimiter(reader->row);
    if ((status = split_row(reader, error)))
        return status;
    while (reader->n_field > 1 && !reader->field[reader->n_field - 1][0])
        reader->n_field--; /* delimiters at the end of the line */
    reader->name = calloc(reader->n_field, sizeof *reader->name);
    for (size_t i = 0; reader->name && i < reader->n_field; i++) {
        if (!reader->field[i][0] && i > 0)
            return csv_fault(reader, CSV_NO_COLUMN, error, "column %zu has no name", i + 1);
        if (!(reader->name[i] = strdup(reader->field[i])))
            break;
        reader->n_column = i + 1;
    }
    if (reader->n_column < reader->n_field)
        return no_memory(reader, error);
    status = drop_units(reader, error);
    return status ? status : sort_names(reader, error);
}

/* Of a file, or of a copy of its text, which may be NULL; nothing has been read. NULL: error. */
static struct csv_reader *make_reader(const char *path, const char *text, size_t n,
                                      struct error *error)
{
    bool is_stdin = !strcmp(path, "-");
    struct csv_reader *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(is_stdin ? "standard input" : path)) ||
        !(made->decimals = calloc(1, sizeof *made->decimals)) ||
        (text && !(made->text = malloc(n + 1)))) {
        csv_close(made);
        error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", path);
        return NULL;
    }
    made->line = made->next_line = 1;
    if (text)
        memcpy(made->text, text, n);
    made->file = text       ? fmemopen(made->text, n, "r")
                 : is_stdin ? stdin
                            : fopen(path, "re");
    if (made->file)
        return made;
    error_system(error, errno, "cannot read '%s'", made->path);
    csv_close(made);
    return NULL;
}

/* After `status`. */
static enum status give(struct csv_reader **reader, struct csv_reader *made, enum status status)
{
    *reader = status ? NULL : made;
    if (status)
        csv_close(made);
    return status;
}

/* text: NULL, or the table in memory, of n bytes. */
static enum status open_table(struct csv_reader **reader, const char *path, bool is_ragged,
                              const char *text, size_t n, struct error *error)
{
    struct csv_reader *made = make_reader(path, text, n, error);
    if (made)
        made->is_ragged = is_ragged;
    return give(reader, made, made ? take_header(made, error) : error->status);
}

enum status csv_open(struct csv_reader **reader, const char *path, struct error *error)
{
    return open_table(reader, path, false, NULL, 0, error);
}

enum status csv_open_ragged(struct csv_reader **reader, const char *path, struct error *error)
{
    return open_table(reader, path, true, NULL, 0, error);
}

enum status csv_open_text(struct csv_reader **reader, const char *path, const char *text, size_t n,
                          struct error *error)
{
    return open_table(reader, path, false, text, n, error);
}

enum status csv_open_lines(struct csv_reader **reader, const char *path, const char *text, size_t n,
                           char delimiter, struct error *error)
{
    struct csv_reader *made = make_reader(path, text, n, error);
    if (made)
        made->delimiter = delimiter;
    return give(reader, made, made ? skip_mark(made, error) : error->status);
}

enum status csv_next_line(struct csv_reader *reader, bool *more, struct error *error)
{
    enum status status;
    while (!(status = read_raw(reader, more, error)) && *more && reader->row[0] == '#')
        count_comment(reader, reader->line);
    return status || !*more ? status : split_row(reader, error);
}

size_t csv_n_field(const struct csv_reader *reader) { return reader->n_field; }

void csv_set_origin(struct csv_reader *reader, const struct csv_reader *lines, uint64_t *line,
                    size_t n_row)
{
    reader->latin1_line = lines->latin1_line;
    reader->comments = lines->comments;
    reader->origin = (struct origin){.line = line, .n_row = n_row};
}

void csv_close(struct csv_reader *reader)
{
    if (!reader)
        return;
    if (reader->file && reader->file != stdin)
        fclose(reader->file);
    for (size_t i = 0; i < reader->n_column; i++)
        free(reader->name[i]);
    free(reader->name);
    free(reader->sorted);
    for (size_t i = 0; i < reader->n_alias; i++)
        free((char *)reader->alias[i].name);
    free(reader->alias);
    free(reader->joined);
    free(reader->joined_text);
    free(reader->text);
    free(reader->origin.line);
    free(reader->field);
    free(reader->row);
    free(reader->held.row);
    free(reader->path);
    free(reader->decimals);
    free(reader);
}

size_t csv_n_column(const struct csv_reader *reader) { return reader->n_column; }
const char *csv_column_name(const struct csv_reader *reader, size_t column)
{
    return reader->name[column];
}
uint64_t csv_line(const struct csv_reader *reader) { return line_of(reader, 0); }
uint64_t csv_latin1_line(const struct csv_reader *reader) { return reader->latin1_line; }
struct csv_lines csv_comments(const struct csv_reader *reader) { return reader->comments; }
char csv_first_character(const struct csv_reader *reader) { return reader->first; }
const char *csv_field(const struct csv_reader *reader, size_t column)
{
    return reader->field[column];
}

/* The column that the file calls like this. */
static size_t find_in_file(const struct csv_reader *reader, const char *name)
{
    size_t low = 0, high = reader->n_column;
    while (low < high) { /* the first that is not before it */
        size_t middle = (low + high) / 2;
        if (strcasecmp(reader->sorted[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t n_similar = 0;
    for (size_t i = low; i < reader->n_column; i++, n_similar++) {
        if (strcasecmp(reader->sorted[i].name, name))
            break;
        if (!strcmp(reader->sorted[i].name, name))
            return reader->sorted[i].column;
    }
    return n_similar == 1 ? reader->sorted[low].column : CSV_NO_COLUMN;
}

size_t csv_find_column(const struct csv_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->n_alias; i++)
        if (!strcasecmp(reader->alias[i].name, name))
            return reader->alias[i].column;
    return find_in_file(reader, name);
}

enum status csv_alias(struct csv_reader *reader, const char *name, const char *of, bool *found,
                      struct error *error)
{
    size_t column = find_in_file(reader, of);
    *found = column != CSV_NO_COLUMN;
    if (!*found)
        return STATUS_OK;
    for (size_t i = 0; i < reader->n_alias; i++)
        if (!strcasecmp(reader->alias[i].name, name) && reader->alias[i].column != column)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: both '%.100s' and '%.100s' are columns that stand for '%.100s'",
                             reader->path, reader->name[reader->alias[i].column],
                             reader->name[column], name);
    struct csv_name *longer =
        realloc(reader->alias, (reader->n_alias + 1) * sizeof *reader->alias);
    reader->alias = longer ? longer : reader->alias;
    if (!longer || !(longer[reader->n_alias].name = strdup(name)))
        return no_memory(reader, error);
    longer[reader->n_alias++].column = column;
    return STATUS_OK;
}

enum status csv_lacks(const struct csv_reader *reader, struct error *error, const char *format, ...)
{
    char what[700], names[600] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < reader->n_column && strlen(names) < sizeof names - 1; i++)
        words_add(names, sizeof names, "%s%.100s", i ? ", " : "", reader->name[i]);
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s; the columns are: %s", reader->path, what,
                     names);
}

/* The columns of the file. */
static size_t n_in_file(const struct csv_reader *reader)
{
    return reader->n_column - (reader->n_joined > 0);
}

static enum status add_name(struct csv_reader *reader, const char *name, struct error *error)
{
    char **longer = realloc(reader->name, (reader->n_column + 1) * sizeof *longer);
    reader->name = longer ? longer : reader->name;
    if (!longer || !(reader->name[reader->n_column] = strdup(name)))
        return no_memory(reader, error);
    reader->n_column++;
    free(reader->sorted);
    reader->sorted = NULL;
    return sort_names(reader, error);
}

enum status csv_join(struct csv_reader *reader, const char *name, const char *list, char between,
                     struct error *error)
{
    bool has_name = csv_find_column(reader, name) != CSV_NO_COLUMN;
    size_t n = 1, n_found = 0;
    for (const char *c = list; *c; c++)
        n += *c == ',';
    char *words = strdup(list), *word = words, *next;
    reader->joined = calloc(n, sizeof *reader->joined);
    enum status status = words && reader->joined ? STATUS_OK : no_memory(reader, error);
    for (size_t i = 0; !status && i < n; i++, word = next) {
        next = strchr(word, ',');
        next = next ? (*next = '\0', next + 1) : word + strlen(word);
        reader->joined[i] = csv_find_column(reader, word);
        n_found += reader->joined[i] != CSV_NO_COLUMN;
        if (reader->joined[i] == CSV_NO_COLUMN && !(has_name && n_found == 0))
            status = csv_lacks(reader, error, "there is no column '%.100s'", word);
    }
    free(words);
    if (status || n_found == 0 || (n == 1 && has_name && !strcasecmp(list, name)))
        return status;
    if (has_name)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: has a column '%s', too: which one is meant? rename it, or leave out "
                         "--id",
                         reader->path, name);
    reader->between = between;
    status = add_name(reader, name, error);
    reader->n_joined = status ? 0 : n;
    return status;
}

bool csv_is_joined(const struct csv_reader *reader, size_t column)
{
    for (size_t i = 0; i < reader->n_joined; i++)
        if (reader->joined[i] == column)
            return true;
    return false;
}

/* The field of the column that is joined. */
static enum status join(struct csv_reader *reader, struct error *error)
{
    size_t length = 1, used = 0;
    bool is_empty = false;
    if (reader->n_joined == 0)
        return STATUS_OK;
    for (size_t i = 0; i < reader->n_joined; i++)
        length += strlen(reader->field[reader->joined[i]]) + 1;
    char *text = realloc(reader->joined_text, length);
    if (!text)
        return no_memory(reader, error);
    reader->joined_text = text;
    for (size_t i = 0; i < reader->n_joined; i++) {
        const char *field = reader->field[reader->joined[i]];
        is_empty = is_empty || !*field;
        if (i > 0)
            text[used++] = reader->between;
        used += (size_t)sprintf(text + used, "%s", field);
    }
    text[is_empty ? 0 : used] = '\0';
    return add_field(reader, text, error);
}

/* Fields beyond the columns that are empty: delimiters at the end of a row, as spreadsheets
 * write them. */
static void drop_empty_fields(struct csv_reader *reader)
{
    while (reader->n_field > n_in_file(reader) && !reader->field[reader->n_field - 1][0])
        reader->n_field--;
}

/* Empty ones for those that a row leaves out at its end. */
static enum status complete_row(struct csv_reader *reader, struct error *error)
{
    static char empty[] = "";
    enum status status = STATUS_OK;
    while (!status && reader->is_ragged && reader->n_field < n_in_file(reader))
        status = add_field(reader, empty, error);
    return status;
}

static bool is_empty_row(const struct csv_reader *reader)
{
    for (size_t i = 0; i < reader->n_field; i++)
        if (reader->field[i][0])
            return false;
    return true;
}

enum status csv_next(struct csv_reader *reader, bool *more, struct error *error)
{
    for (;;) {
        enum status status = read_raw(reader, more, error);
        if (status || !*more)
            return status;
        if (is_blank(reader) &&
            (reader->delimiter == ' ' || !strchr(reader->row, reader->delimiter)))
            continue;
        if ((status = split_row(reader, error)))
            return status;
        drop_empty_fields(reader);
        if ((status = complete_row(reader, error)))
            return status;
        if (n_in_file(reader) > 1 &&
            is_empty_row(reader)) /* an empty field of a single column is written "" */
            continue;
        if (reader->n_field == n_in_file(reader))
            return join(reader, error);
        if (reader->first != '#')
            break;
        count_comment(reader, reader->line);
    }
    bool is_one_more = reader->n_field == n_in_file(reader) + 1;
    return csv_fault(reader, CSV_NO_COLUMN, error,
                     "there are %zu fields where the first line names %zu columns%s",
                     reader->n_field, n_in_file(reader),
                     is_one_more ? " (if the first field is a row's name: R's write.table needs "
                                   "row.names = FALSE)"
                                 : "");
}

void csv_set_missing(struct csv_reader *reader, const char *const *item, size_t n)
{
    reader->missing = item;
    reader->n_missing = n;
}

void csv_set_fortran(struct csv_reader *reader) { reader->is_fortran = true; }

static bool is_missing_word(const struct csv_reader *reader, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < reader->n_missing; i++)
        for (const char *word = reader->missing[i]; word;) {
            size_t length = strcspn(word, ",");
            if (length == n && !strncasecmp(word, text, n))
                return true;
            word = word[length] ? word + length + 1 : NULL;
        }
    return false;
}

bool csv_is_missing(const struct csv_reader *reader, size_t column)
{
    double number;
    const char *text = csv_field(reader, column);
    return is_missing_word(reader, text) || (csv_parse_double(text, &number) && isnan(number));
}

/* 1,5 is a number where commas do not separate columns. 1.234 may be a thousand there, so a
 * table has points or commas. */
enum status csv_number(const struct csv_reader *reader, size_t column, double *value,
                       struct error *error)
{
    char copy[64];
    const char *text = reader->field[column], *comma = strchr(text, ',');
    bool is_comma =
        comma && reader->delimiter != ',' && !strchr(text, '.') && strlen(text) < sizeof copy;
    if (is_comma) {
        strcpy(copy, text);
        copy[comma - text] = '.';
    }
    if (reader->n_missing && is_missing_word(reader, text)) {
        *value = NAN;
        return STATUS_OK;
    }
    const char *number = is_comma ? copy : text;
    if (!csv_parse_double(number, value) &&
        !(reader->is_fortran && csv_parse_fortran(number, value)))
        return csv_fault(reader, column, error, "'%.100s' is not a number%s", text,
                         comma && reader->delimiter == ',' ? ": decimals are written with a point "
                                                             "if commas separate columns"
                                                           : "");
    reader->decimals->comma = reader->decimals->comma || is_comma;
    reader->decimals->point = reader->decimals->point || (strchr(text, '.') && !isnan(*value));
    return reader->decimals->comma && reader->decimals->point ? csv_fault(reader, column, error,
                                                                          "'%.100s': the table has "
                                                                          "numbers with decimal "
                                                                          "points and with decimal "
                                                                          "commas",
                                                                          text)
                                                              : STATUS_OK;
}
