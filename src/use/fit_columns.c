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

/* The name of any column, also of the datasets' own ones. */
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

struct fact fit_fact_own(const char *key, const char *text, const struct own_value *value)
{
    return value && value->text ? fact_word(key, text, 0, value->text)
                                : fact_number(key, text, 0, 0, value ? value->number : (double)NAN);
}

struct fact fit_fact(const char *key, const char *text, enum fit_kind kind, const void *value)
{
    static const uint64_t nothing = 0;
    const char *(*name)(int number) = fit_kind_names(kind);
    enum fact_kind whole = name ? FACT_WORD : FACT_COUNT;
    struct fact fact = {key, text, .kind = kind == FIT_DOUBLE ? FACT_NUMBER : whole};
    int64_t wide;
    uint32_t narrow;
    value = value ? value : &nothing;
    switch (kind) {
    case FIT_DOUBLE: memcpy(&fact.value, value, sizeof fact.value); break;
    case FIT_INT64: fact.value = (double)(memcpy(&wide, value, sizeof wide), wide); break;
    case FIT_UINT32: fact.value = (memcpy(&narrow, value, sizeof narrow), narrow); break;
    case FIT_INT8: fact.value = *(const int8_t *)value; break;
    default: fact.value = *(const uint8_t *)value;
    }
    fact.word = name ? name((int)fact.value) : NULL;
    return fact;
}

double fit_correlation(const struct fit_record *record, size_t n, size_t c, size_t d)
{
    double product = record->covariance[c + c * n] * record->covariance[d + d * n];
    return c == d && product > 0 ? 1 : record->covariance[d + c * n] / sqrt(product);
}

/* A row while it is put together. Without a record it has the heads of the columns, which rows do
 * not need. */
struct row {
    struct view *view;
    const struct result_info *info;
    struct fit_record *record;
};

static const char *head(const struct row *row, struct fit_choice choice)
{
    char text[NAME_BYTES + 40];
    if (row->record)
        return "";
    name_single(row->info, choice, text, sizeof text);
    return view_word(row->view, "%s", text);
}

static void add_bounds(const struct row *row)
{
    char text[4000] = "";
    const char *name = name_of(FIT_COLUMN_AT_BOUND);
    if (row->record)
        bounds_text(row->info, row->record, text, sizeof text);
    VIEW_FACTS(row->view, fact_word(NULL, name, 0, view_word(row->view, "%s", text)));
    view_group(row->view, name, NULL, VIEW_HIDDEN);
    for (size_t j = 0; row->record && j < row->info->n_parameter; j++)
        if (row->record->at_bound[j])
            VIEW_FACTS(row->view, fact_word(row->info->parameter_name[j], NULL, 0,
                                            row->record->at_bound[j] < 0 ? "lower" : "upper"));
    view_end(row->view);
}

static void add_notes(const struct row *row)
{
    char text[4000] = "";
    uint32_t notes = row->record ? row->record->notes : 0;
    const char **name = arena_alloc(&row->view->arena, 32 * sizeof *name);
    size_t n = 0;
    for (int bit = 0; name && bit < 32; bit++)
        if (notes >> bit & 1 && note_name(bit)) {
            words_add(text, sizeof text, "%s%s", n ? " " : "", note_name(bit));
            name[n++] = note_name(bit);
        }
    row->view->failed = row->view->failed || !name;
    VIEW_FACTS(row->view, fact_names(name_of(FIT_COLUMN_NOTES), NULL, name, n),
               fact_word(NULL, name_of(FIT_COLUMN_NOTES), 0, view_word(row->view, "%s", text)));
}

/* By direction, not by parameter. */
static void add_eigenvalues(const struct row *row, const double *value)
{
    const char *name = name_of(FIT_COLUMN_EIGENVALUES);
    VIEW_FACTS(row->view, fact_list(name, value, value ? row->info->n_parameter : 0));
    for (size_t k = 0; k < row->info->n_parameter; k++)
        VIEW_FACTS(row->view,
                   fact_number(NULL, row->record ? "" : view_word(row->view, "%s_%zu", name, k + 1),
                               0, 0, value ? value[k] : (double)NAN));
}

/* Each once. */
static void add_pairs(const struct row *row, int column, const double *value)
{
    size_t n = fit_column_width((enum fit_column)column, row->info->n_parameter) > 0
                   ? row->info->n_parameter : 0;
    const char *const *name = row->info->parameter_name;
    VIEW_FACTS(row->view, fact_matrix(name_of(column), value, value ? n : 0));
    for (size_t c = 0; c < n; c++)
        for (size_t d = c; d < n; d++)
            VIEW_FACTS(row->view,
                       fact_number(NULL,
                                   row->record ? "" : view_word(row->view, "%s_%s_%s",
                                                                name_of(column), name[c], name[d]),
                                   0, 0, value ? value[c * n + d] : (double)NAN));
}

static void add_by_parameter(const struct row *row, struct fit_choice choice,
                             const unsigned char *values)
{
    enum fit_kind kind = fit_columns[choice.column].kind;
    size_t size = fit_kind_size(kind), n = row->info->n_parameter;
    if (choice.parameter >= 0) {
        char key[NAME_BYTES + 40];
        name_single(row->info, choice, key, sizeof key);
        VIEW_FACTS(row->view,
                   fit_fact(view_word(row->view, "%s", key), head(row, choice), kind,
                            values ? values + (size_t)choice.parameter * size : NULL));
        return;
    }
    view_group(row->view, name_of(choice.column), NULL, VIEW_HIDDEN);
    for (size_t j = 0; j < n; j++)
        VIEW_FACTS(row->view,
                   fit_fact(row->info->parameter_name[j],
                            head(row, (struct fit_choice){choice.column, (int)j}), kind,
                            values ? values + j * size : NULL));
    view_end(row->view);
}

static void add_fact(const struct row *row, struct fit_choice choice)
{
    enum fit_column column = (enum fit_column)choice.column;
    const char *name = name_of(choice.column);
    void *values = row->record ? fit_column_values(column, row->record) : NULL;
    if (row->record && !values)
        VIEW_FACTS(row->view, fact_word(name, NULL, 0, NULL));
    else if (column == FIT_COLUMN_NOTES)
        add_notes(row);
    else if (column == FIT_COLUMN_AT_BOUND && choice.parameter < 0)
        add_bounds(row);
    else if (column == FIT_COLUMN_EIGENVALUES)
        add_eigenvalues(row, values);
    else if (fit_columns[column].shape == PER_PAIR)
        add_pairs(row, choice.column, values);
    else if (fit_columns[column].shape == PER_PARAMETER)
        add_by_parameter(row, choice, values);
    else
        VIEW_FACTS(row->view, fit_fact(name, name, fit_columns[column].kind, values));
}

void fit_columns_row(const struct fit_columns *columns, const struct result_info *info,
                     const char *id, struct fit_record *record, struct view *view)
{
    const struct row row = {view, info, record};
    for (size_t i = 0; i < columns->n; i++) {
        int c = columns->chosen[i].column;
        const char *name = c >= FIT_OWN ? label_of(info, c) : name_of(c);
        bool is_text = c >= FIT_OWN && info->column.is_text[c - FIT_OWN];
        const struct own_value none = {.text = is_text ? "" : NULL, .number = NAN};
        if (c == FIT_ID || c == FIT_MESSAGE)
            VIEW_FACTS(view,
                       fact_word(name, name, 0, c == FIT_ID || !record ? id : record->reason));
        else if (c >= FIT_OWN)
            VIEW_FACTS(view, fit_fact_own(name, name, record ? &record->own[c - FIT_OWN] : &none));
        else
            add_fact(&row, columns->chosen[i]);
    }
}
