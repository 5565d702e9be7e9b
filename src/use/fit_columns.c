/* Chooses columns of /fits by name.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/fit_columns.h"

#include "base/arena.h"
#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t prefix = sizeof "/fits/" - 1;

static const char *name_of(int column)
{
    return column == FIT_ID        ? "id"
           : column == FIT_MESSAGE ? "message"
                                   : fit_columns[column].path + prefix;
}

/* The same with the datasets' own columns. */
static const char *label_of(const struct result_info *info, int column)
{
    return column >= FIT_OWN ? info->column_label[column - FIT_OWN] : name_of(column);
}

static bool is_there(const struct result *result, int column)
{
    return column >= N_RESULT_COLUMN || result_has(result, (enum fit_column)column);
}

static void add_choice(struct fit_columns *columns, struct fit_choice choice)
{
    size_t i = 0;
    while (i < columns->n && (columns->chosen[i].column != choice.column ||
                              columns->chosen[i].parameter != choice.parameter))
        i++;
    if (i < columns->n)
        return;
    if (array_grow(&columns->chosen, columns->n, &columns->room, sizeof *columns->chosen))
        columns->chosen[columns->n++] = choice;
    else
        columns->no_memory = true;
}

static void add(struct fit_columns *columns, int column)
{
    add_choice(columns, (struct fit_choice){column, FIT_ALL_PARAMETERS});
}

static void add_own(struct fit_columns *columns, const struct result *result)
{
    for (size_t c = 0; c < result_info(result)->column.n; c++)
        add(columns, FIT_OWN + (int)c);
}

static void add_all(struct fit_columns *columns, const struct result *result)
{
    add(columns, FIT_ID);
    add_own(columns, result);
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        if (i != FIT_COLUMN_COVARIANCE && is_there(result, i))
            add(columns, i);
    add(columns, FIT_MESSAGE);
}

static void add_table(struct fit_columns *columns, const struct result *result)
{
    int last = 0;
    add(columns, FIT_ID);
    add_own(columns, result);
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        last = fit_columns[i].table > last ? fit_columns[i].table : last;
    for (int table = 1; table <= last; table++)
        for (int i = 0; i < N_RESULT_COLUMN; i++)
            if (fit_columns[i].table == table && is_there(result, i))
                add(columns, i);
    add(columns, FIT_MESSAGE);
}

/* The column of this name (n characters), or -1. */
static int find(const struct result_info *info, const char *name, size_t n)
{
    for (int c = FIT_OWN; c < FIT_OWN + (int)info->column.n; c++)
        if (strlen(label_of(info, c)) == n && !strncmp(label_of(info, c), name, n))
            return c;
    for (int i = 0; i < FIT_COLUMNS_MOST; i++)
        if (strlen(name_of(i)) == n && !strncmp(name_of(i), name, n))
            return i;
    return -1;
}

/* NAME for a best value, COLUMN_NAME for other numbers. */
static void name_single(const struct result_info *info, struct fit_choice choice, char *text,
                        size_t size)
{
    bool is_value = choice.column == FIT_COLUMN_PARAMETERS;
    snprintf(text, size, "%s%s%s", is_value ? "" : name_of(choice.column), is_value ? "" : "_",
             info->parameter_name[choice.parameter]);
}

/* The column of a single parameter, as in the head of a table, where the file has it. */
static bool find_single(const struct result *result, const char *name, size_t n,
                        struct fit_choice *choice)
{
    const struct result_info *info = result_info(result);
    char head[NAME_BYTES + 40];
    for (int c = 0; c < N_RESULT_COLUMN; c++)
        for (size_t k = 0;
             k < info->n_parameter && fit_columns[c].shape == PER_PARAMETER && is_there(result, c);
             k++) {
            if (c == FIT_COLUMN_EIGENVALUES)
                break;
            *choice = (struct fit_choice){c, (int)k};
            name_single(info, *choice, head, sizeof head);
            if (strlen(head) == n && !strncmp(head, name, n))
                return true;
        }
    return false;
}

static enum status unknown(const struct result_info *info, const char *name, size_t n,
                           struct error *error)
{
    enum { MOST = FIT_COLUMNS_MOST + OWN_MAX_COLUMN };
    const char *candidates[MOST];
    size_t n_all = FIT_COLUMNS_MOST + info->column.n, n_candidate = n_all < MOST ? n_all : MOST;
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(n < 60 ? n : 60), name);
    for (size_t i = 0; i < n_candidate; i++)
        candidates[i] = label_of(info, (int)i);
    const char *nearest = nearest_name(typed, candidates, n_candidate);
    if (nearest)
        return error_set(error, STATUS_USAGE, "there is no column '%s'. Did you mean '%s'?", typed,
                         nearest);
    return error_set(error, STATUS_USAGE,
                     "there is no column '%s': `man stiffit-file` lists them; 'parameters' are all "
                     "parameters, NAME and standard_error_NAME those of one, 'all' means all "
                     "columns",
                     typed);
}

enum status fit_columns_choose(struct fit_columns *columns, const struct result *result,
                               const char *names, const char *by_default, struct error *error)
{
    columns->n = 0;
    if (!names && !by_default)
        add_table(columns, result);
    for (const char *at = names ? names : by_default; at && *at;) {
        size_t n = strcspn(at, ",");
        int column = find(result_info(result), at, n);
        struct fit_choice single;
        if (n == 3 && !strncmp(at, "all", 3))
            add_all(columns, result);
        else if (column < 0 && find_single(result, at, n, &single))
            add_choice(columns, single);
        else if (column < 0)
            return unknown(result_info(result), at, n, error);
        else if (is_there(result, column))
            add(columns, column);
        else if (names)
            return error_set(error, STATUS_BAD_PROBLEM, "%s: has no column %s",
                             result_info(result)->path, name_of(column));
        at += n + (at[n] == ',');
    }
    if (columns->no_memory)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the columns of a table");
    return columns->n ? STATUS_OK : error_set(error, STATUS_USAGE, "no column is named");
}

void fit_columns_fini(struct fit_columns *columns) { free(columns->chosen); }

/* "k1:lower k3:upper"; cut if it is too long. */
static void bounds_text(const struct result_info *info, const struct fit_record *record, char *text,
                        size_t size)
{
    text[0] = '\0';
    for (size_t j = 0; j < info->n_parameter; j++)
        if (record->at_bound[j])
            words_add(text, size, "%s%s:%s", text[0] ? " " : "", info->parameter_name[j],
                      record->at_bound[j] < 0 ? "lower" : "upper");
}

static void notes_text(uint32_t notes, char *text, size_t size)
{
    text[0] = '\0';
    for (int bit = 0; bit < 32; bit++)
        if (notes >> bit & 1 && note_name(bit))
            words_add(text, size, "%s%s", text[0] ? " " : "", note_name(bit));
}

struct fit_cell fit_cell_own(const struct own_value *value)
{
    struct fit_cell cell = {.kind = FIT_CELL_REAL, .real = NAN};
    if (value && value->text)
        return (struct fit_cell){.kind = FIT_CELL_WORD, .word = value->text};
    if (value)
        cell.real = value->number;
    return cell;
}

enum csv_type fit_cell_type(enum fit_kind kind)
{
    return kind == FIT_DOUBLE       ? CSV_NUMBER
           : fit_kind_names(kind) ? CSV_TEXT
                                  : CSV_INTEGER;
}

struct fit_cell fit_cell(enum fit_kind kind, const void *value)
{
    const char *(*name)(int number) = fit_kind_names(kind);
    struct fit_cell cell = {.kind = kind == FIT_DOUBLE ? FIT_CELL_REAL
                                    : name             ? FIT_CELL_WORD
                                                       : FIT_CELL_INTEGER};
    uint32_t narrow;
    switch (kind) {
    case FIT_DOUBLE: memcpy(&cell.real, value, sizeof cell.real); break;
    case FIT_INT64: memcpy(&cell.integer, value, sizeof cell.integer); break;
    case FIT_UINT32: cell.integer = (memcpy(&narrow, value, sizeof narrow), narrow); break;
    case FIT_INT8: cell.integer = *(const int8_t *)value; break;
    default: cell.integer = *(const uint8_t *)value;
    }
    cell.word = name ? name((int)cell.integer) : NULL;
    return cell;
}

void fit_cell_csv(struct csv_writer *writer, struct fit_cell cell)
{
    switch (cell.kind) {
    case FIT_CELL_WORD: csv_put_text(writer, cell.word ? cell.word : ""); break;
    case FIT_CELL_INTEGER: csv_put_integer(writer, cell.integer); break;
    case FIT_CELL_REAL: csv_put_number(writer, cell.real); break;
    }
}

void fit_cell_json(struct json *json, const char *key, struct fit_cell cell)
{
    switch (cell.kind) {
    case FIT_CELL_WORD: json_string(json, key, cell.word); break;
    case FIT_CELL_INTEGER: json_integer(json, key, cell.integer); break;
    case FIT_CELL_REAL: json_number(json, key, cell.real); break;
    }
}

double fit_correlation(const struct fit_record *record, size_t n, size_t c, size_t d)
{
    double product = record->covariance[c + c * n] * record->covariance[d + d * n];
    return c == d && product > 0 ? 1 : record->covariance[d + c * n] / sqrt(product);
}

static void put_columns(const struct fit_columns *columns, const struct result_info *info,
                        struct csv_writer *writer)
{
    char text[600];
    for (size_t i = 0; i < columns->n; i++) {
        int c = columns->chosen[i].column, parameter = columns->chosen[i].parameter;
        size_t n = c < N_RESULT_COLUMN ? fit_column_width((enum fit_column)c, info->n_parameter)
                                       : 1,
               p = info->n_parameter;
        size_t first = parameter < 0 ? 0 : (size_t)parameter;
        bool single = c >= N_RESULT_COLUMN || fit_columns[c].shape == PER_FIT ||
                      (c == FIT_COLUMN_AT_BOUND && parameter < 0);
        bool has_text = c >= N_RESULT_COLUMN || c == FIT_COLUMN_NOTES ||
                        (c == FIT_COLUMN_AT_BOUND && parameter < 0);
        bool is_own_number = c >= FIT_OWN && !info->column.is_text[c - FIT_OWN];
        enum csv_type type = is_own_number ? CSV_NUMBER
                             : has_text    ? CSV_TEXT
                                           : fit_cell_type(fit_columns[c].kind);
        if (single)
            csv_put_column(writer, label_of(info, c), type);
        for (size_t k = first; !single && k < (parameter < 0 ? n : first + 1); k++) {
            if (c == FIT_COLUMN_EIGENVALUES) /* by direction, not by parameter */
                snprintf(text, sizeof text, "%s_%zu", name_of(c), k + 1);
            else if (fit_columns[c].shape == PER_PARAMETER)
                name_single(info, (struct fit_choice){c, (int)k}, text, sizeof text);
            else
                snprintf(text, sizeof text, "%s_%s_%s", name_of(c), info->parameter_name[k / p],
                         info->parameter_name[k % p]);
            if (fit_columns[c].shape != PER_PAIR || k % p >= k / p)
                csv_put_column(writer, text, type);
        }
    }
}

void fit_columns_csv_head(const struct fit_columns *columns, const struct result_info *info,
                          struct csv_writer *writer)
{
    while (csv_head(writer))
        put_columns(columns, info, writer);
}

void fit_columns_csv_row(const struct fit_columns *columns, const struct result_info *info,
                         const char *id, struct fit_record *record, struct csv_writer *writer)
{
    char text[4000];
    size_t p = info->n_parameter;
    for (size_t i = 0; i < columns->n; i++) {
        int c = columns->chosen[i].column, parameter = columns->chosen[i].parameter;
        if (c == FIT_ID || c == FIT_MESSAGE) {
            csv_put_text(writer, c == FIT_ID ? id : record->reason);
            continue;
        }
        if (c >= FIT_OWN) {
            fit_cell_csv(writer, fit_cell_own(record->own ? &record->own[c - FIT_OWN] : NULL));
            continue;
        }
        if ((c == FIT_COLUMN_AT_BOUND && parameter < 0) || c == FIT_COLUMN_NOTES) {
            c == FIT_COLUMN_NOTES ? notes_text(record->notes, text, sizeof text)
                                  : bounds_text(info, record, text, sizeof text);
            csv_put_text(writer, text);
            continue;
        }
        const unsigned char *values = fit_column_values((enum fit_column)c, record);
        enum fit_kind kind = fit_columns[c].kind;
        size_t n = fit_column_width((enum fit_column)c, p), size = fit_kind_size(kind);
        size_t first = parameter < 0 ? 0 : (size_t)parameter;
        for (size_t k = first; values && k < (parameter < 0 ? n : first + 1); k++)
            if (fit_columns[c].shape != PER_PAIR || k % p >= k / p)
                fit_cell_csv(writer, fit_cell(kind, values + k * size));
    }
    csv_end_row(writer);
}

void fit_columns_json_matrix(struct json *json, const char *key, size_t n, const double *matrix)
{
    json_array_begin(json, key);
    for (size_t c = 0; c < n; c++) {
        json_array_begin(json, NULL);
        for (size_t d = 0; d < n; d++)
            json_number(json, NULL, matrix[c * n + d]);
        json_array_end(json);
    }
    json_array_end(json);
}

static void json_by_parameter(struct json *json, const struct result_info *info, int column,
                              const unsigned char *values)
{
    enum fit_kind kind = fit_columns[column].kind;
    json_object_begin(json, name_of(column));
    for (size_t j = 0; j < info->n_parameter; j++) {
        struct fit_cell cell = fit_cell(kind, values + j * fit_kind_size(kind));
        if (column != FIT_COLUMN_AT_BOUND)
            fit_cell_json(json, info->parameter_name[j], cell);
        else if (cell.integer)
            json_string(json, info->parameter_name[j], cell.integer < 0 ? "lower" : "upper");
    }
    json_object_end(json);
}

void fit_columns_json(const struct fit_columns *columns, const struct result_info *info,
                      const char *id, struct fit_record *record, struct json *json)
{
    for (size_t i = 0; i < columns->n; i++) {
        int c = columns->chosen[i].column, parameter = columns->chosen[i].parameter;
        const unsigned char *values =
            c < N_RESULT_COLUMN ? fit_column_values((enum fit_column)c, record) : NULL;
        if (c == FIT_ID || c == FIT_MESSAGE) {
            json_string(json, name_of(c), c == FIT_ID ? id : record->reason);
        } else if (c >= FIT_OWN) {
            fit_cell_json(json, label_of(info, c),
                          fit_cell_own(record->own ? &record->own[c - FIT_OWN] : NULL));
        } else if (!values) {
            json_null(json, name_of(c));
        } else if (parameter >= 0) {
            char key[600];
            enum fit_kind kind = fit_columns[c].kind;
            name_single(info, columns->chosen[i], key, sizeof key);
            fit_cell_json(json, key,
                          fit_cell(kind, values + (size_t)parameter * fit_kind_size(kind)));
        } else if (c == FIT_COLUMN_NOTES) {
            json_array_begin(json, name_of(c));
            for (int bit = 0; bit < 32; bit++)
                if (record->notes >> bit & 1 && note_name(bit))
                    json_string(json, NULL, note_name(bit));
            json_array_end(json);
        } else if (c == FIT_COLUMN_EIGENVALUES) {
            json_array_begin(json, name_of(c));
            for (size_t k = 0; k < info->n_parameter; k++)
                json_number(json, NULL, record->eigenvalue[k]);
            json_array_end(json);
        } else if (fit_columns[c].shape == PER_FIT) {
            fit_cell_json(json, name_of(c), fit_cell(fit_columns[c].kind, values));
        } else if (fit_columns[c].shape == PER_PARAMETER) {
            json_by_parameter(json, info, c, values);
        } else {
            fit_columns_json_matrix(json, name_of(c), info->n_parameter, record->covariance);
        }
    }
}
