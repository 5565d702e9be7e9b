/* Reads the words of a selection once, and asks each row.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/row_filter.h"

#include "base/words.h"
#include "use/fit_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t prefix = sizeof "/fits/" - 1;

/* "chi_square", "k", "standard_error_k": as in the head of an exported table. */
static bool find_column(const struct result *result, const char *name,
                        struct row_condition *condition)
{
    const struct result_info *info = result_info(result);
    for (size_t c = 0; c < info->column.n; c++)
        if (!strcmp(name, info->column_label[c])) {
            *condition = (struct row_condition){.column = FIT_OWN + (int)c};
            return true;
        }
    for (size_t j = 0; j < info->n_parameter; j++)
        if (!strcmp(name, info->parameter_name[j])) {
            *condition = (struct row_condition){.column = FIT_COLUMN_PARAMETERS, .parameter = j};
            return true;
        }
    for (int c = 0; c < N_RESULT_COLUMN; c++) {
        const char *column = fit_columns[c].path + prefix;
        size_t n = strlen(column);
        *condition = (struct row_condition){.column = c};
        if (!result_has(result, (enum fit_column)c) || strncmp(name, column, n) ||
            fit_columns[c].shape == PER_PAIR)
            continue;
        if (fit_columns[c].shape == PER_FIT && !name[n])
            return true;
        for (size_t j = 0;
             fit_columns[c].shape == PER_PARAMETER && name[n] == '_' && j < info->n_parameter; j++)
            if (!strcmp(name + n + 1, info->parameter_name[j])) {
                condition->parameter = j;
                return true;
            }
    }
    return false;
}

static enum status unknown_column(const struct result *result, const char *name,
                                  struct error *error)
{
    const struct result_info *info = result_info(result);
    const char **candidate = calloc(N_RESULT_COLUMN + info->n_parameter + info->column.n,
                                    sizeof *candidate);
    char hint[NEAREST_HINT];
    size_t n = 0;
    if (!candidate)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    for (int c = 0; c < N_RESULT_COLUMN; c++)
        if (fit_columns[c].shape == PER_FIT)
            candidate[n++] = fit_columns[c].path + prefix;
    for (size_t j = 0; j < info->n_parameter; j++)
        candidate[n++] = info->parameter_name[j];
    for (size_t c = 0; c < info->column.n; c++)
        candidate[n++] = info->column_label[c];
    nearest_hint(hint, "; did you mean '", "'?", name, candidate, n);
    free(candidate);
    return error_set(error, STATUS_USAGE, "--where: the rows of %s have no '%s'%s", info->path,
                     name, hint);
}

/* The number of a word of the column: status == converged, notes == poor_fit, at_bound_k ==
 * lower, chi_square == nan. */
static bool find_word(int column, const char *word, double *value)
{
    *value = NAN;
    if (column >= FIT_OWN)
        return !strcmp(word, "nan");
    const char *(*name)(int) = column == FIT_COLUMN_NOTES ? note_name
                               : fit_kind_names(fit_columns[column].kind);
    if (column == FIT_COLUMN_AT_BOUND && (!strcmp(word, "lower") || !strcmp(word, "upper"))) {
        *value = *word == 'l' ? -1 : 1;
        return true;
    }
    for (int i = 0; name && i < 32; i++)
        if (name(i) && !strcmp(name(i), word)) {
            *value = i;
            return true;
        }
    *value = NAN;
    return !name && !strcmp(word, "nan");
}

static enum status add_condition(struct row_filter *filter, const struct row_condition *condition,
                                 struct error *error)
{
    if (filter->n_condition == ROW_N_CONDITION)
        return error_set(error, STATUS_USAGE, "--where: more than %d comparisons", ROW_N_CONDITION);
    filter->condition[filter->n_condition++] = *condition;
    return STATUS_OK;
}

/* A comparison of a text with the word. */
static enum status add_text(struct row_filter *filter, struct row_condition *condition,
                            const char *word, struct error *error)
{
    if (condition->comparison != IS_SAME && condition->comparison != IS_OTHER)
        return error_set(error, STATUS_USAGE,
                         "--where: '%s' is compared with == or !=, not with %s", word,
                         condition_operator_text(condition->comparison));
    enum status status = STATUS_OK;
    if (!(condition->text = strdup(word)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory");
    if (!status)
        status = add_condition(filter, condition, error);
    if (status)
        free(condition->text);
    return status;
}

static enum status take_condition(struct row_filter *filter, const struct result *result,
                                  const struct condition *read, struct error *error)
{
    struct row_condition condition;
    const char *name = read->name, *word = read->word;
    if (!find_column(result, name, &condition))
        return unknown_column(result, name, error);
    condition.comparison = read->comparison;
    if (condition.column >= FIT_OWN &&
        result_info(result)->column.is_text[condition.column - FIT_OWN])
        return add_text(filter, &condition, word, error);
    bool is_word = find_word(condition.column, word, &condition.value);
    if (!is_word &&
        (condition.column == FIT_COLUMN_NOTES || !option_number(word, &condition.value)))
        return error_set(error, STATUS_USAGE, "--where: '%s' is neither a number nor a word of %s",
                         word, name);
    if (is_word && read->comparison != IS_SAME && read->comparison != IS_OTHER)
        return error_set(error, STATUS_USAGE,
                         "--where: '%s' is compared with == or !=, not with %s", word,
                         condition_operator_text(read->comparison));
    return add_condition(filter, &condition, error);
}

static enum status read_where(struct row_filter *filter, const char *where,
                              const struct result *result, struct error *error)
{
    struct condition condition;
    enum status status = STATUS_OK;
    for (bool more = true; more && !status;)
        if (!(status = condition_next(&where, &condition, &more, error)))
            status = take_condition(filter, result, &condition, error);
    return status;
}

static enum status read_outcomes(struct row_filter *filter, const struct row_words *words,
                                 struct error *error)
{
    const char *candidates[N_OUTCOME];
    for (int i = 0; i < N_OUTCOME; i++) {
        candidates[i] = outcome_name(i);
        filter->outcomes |= words->failed && !outcome_is_success((enum outcome)i) ? 1u << i : 0;
    }
    for (const char *at = words->status ? words->status : ""; *at;) {
        char word[NAME_BYTES], hint[NEAREST_HINT];
        size_t n = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(n < NAME_BYTES ? n : NAME_BYTES - 1), at);
        int outcome = words_find(word, candidates, N_OUTCOME);
        if (outcome < 0)
            return error_set(error, STATUS_USAGE, "--status: no fit ends as '%s'%s", word,
                             nearest_hint(hint, "; did you mean '", "'?", word, candidates,
                                          N_OUTCOME));
        filter->outcomes |= 1u << outcome;
        at += n + (at[n] == ',');
    }
    if (!words->status && !words->failed)
        filter->outcomes = ~0u;
    return STATUS_OK;
}

enum status row_filter_init(struct row_filter *filter, const struct row_words *words,
                            const struct result *result, struct error *error)
{
    const char *path = result ? result_info(result)->path : "the tables";
    *filter = (struct row_filter){.info = result ? result_info(result) : NULL,
                                  .is_open = !words->id && !words->status && !words->where &&
                                             !words->failed};
    enum status status = read_outcomes(filter, words, error);
    bool has_room = !words->id
                    || (selection_split(&filter->names, words->id)
                        && (filter->found = calloc(filter->names.n, sizeof *filter->found))
                        && (filter->path = strdup(path)));
    if (!status && !has_room)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the ids");
    filter->whole = words->id;
    if (!status && words->where)
        status = read_where(filter, words->where, result, error);
    return status;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool is_named(struct row_filter *filter, const char *id)
{
    if (!filter->whole)
        return true;
    bool is_whole = !strcmp(id, filter->whole);
    char **hit = bsearch(&id, filter->names.name, filter->names.n, sizeof *filter->names.name,
                         compare_names);
    filter->has_whole |= is_whole;
    if (hit)
        filter->found[hit - filter->names.name] = true;
    return hit || is_whole;
}

static double number_of(const struct row_condition *condition, const struct fit_record *record)
{
    if (condition->column >= FIT_OWN)
        return record->own ? record->own[condition->column - FIT_OWN].number : (double)NAN;
    enum fit_kind kind = fit_columns[condition->column].kind;
    const char *values =
        fit_column_values((enum fit_column)condition->column, (struct fit_record *)record);
    return fit_fact(NULL, NULL, kind, values + condition->parameter * fit_kind_size(kind)).value;
}

static bool holds(const struct row_condition *condition, const struct fit_record *record)
{
    const bool is_same = condition->comparison == IS_SAME;
    double x = number_of(condition, record), y = condition->value;
    if (condition->text) {
        const char *text = record->own ? record->own[condition->column - FIT_OWN].text : NULL;
        return is_same == (text && !strcmp(text, condition->text));
    }
    if (condition->column == FIT_COLUMN_NOTES)
        return is_same == (record->notes >> (int)y & 1);
    return condition_holds(condition->comparison, x, y);
}

bool row_filter_is_done(const struct row_filter *filter)
{
    return filter->names.n == 1 && filter->found[0];
}

bool row_filter_takes(struct row_filter *filter, const char *id, const struct fit_record *record)
{
    unsigned outcome = record->outcome < N_OUTCOME ? record->outcome : OUTCOME_not_run;
    bool takes = is_named(filter, id) && filter->outcomes >> outcome & 1;
    for (size_t i = 0; i < filter->n_condition && takes; i++)
        takes = holds(&filter->condition[i], record);
    filter->n_taken += takes;
    return takes;
}

enum status row_filter_end(const struct row_filter *filter, const struct row_words *words,
                           struct error *error)
{
    for (size_t i = 0; words->id && !filter->has_whole && i < filter->names.n; i++)
        if (!filter->found[i])
            return error_set(error, STATUS_USAGE, "%s: has no dataset '%s'", filter->path,
                             filter->names.name[i]);
    return filter->n_taken || !words->id
               ? STATUS_OK
               : error_set(error, STATUS_USAGE, "%s: has no dataset '%s' that is selected",
                           filter->path, words->id);
}

void row_filter_fini(struct row_filter *filter)
{
    for (size_t i = 0; i < filter->n_condition; i++)
        free(filter->condition[i].text);
    filter->n_condition = 0;
    selection_names_fini(&filter->names);
    free(filter->found);
    free(filter->path);
    filter->found = NULL;
    filter->path = NULL;
}
