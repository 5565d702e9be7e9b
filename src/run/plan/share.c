/* Resolves names of shared parameters and their groups, and refuses what a fit over all datasets cannot do yet.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/share.h"

#include "base/sha256.h"
#include "run/plan/refit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMN = 32, MAX_SHARED = 2000 };

static enum status refuse(const char *what, struct error *error)
{
    return error_set(error, STATUS_USAGE, "%s: not with shared parameters (--share, /parameters/level) yet, which make one "
                     "fit of all datasets", what);
}

static enum status check_options(const struct run_options *options, struct error *error)
{
    const struct recipe *recipe = &options->recipe;
    const struct {
        const char *name;
        bool is_given;
    } refused[] = {{"--only", options->select.only != NULL},
                   {"--shard (`stiffit submit --ranks` or mpirun divide the datasets)", options->select.shard_text != NULL},
                   {"--retry-failed", options->retry_failed}, {"--trace", options->trace != NULL},
                   {"--gradient adjoint", recipe->fit.gradient == GRADIENT_adjoint}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_given)
            return refuse(refused[i].name, error);
    return STATUS_OK;
}

/* The level of each parameter as a word: NULL or "dataset", "shared", or the name of a column of groups. Room for the words of
 * the option in `room`. */
static enum status find_words(const struct run_options *options, const struct problem *problem, const char **word, bool *wanted,
                              char *room, struct error *error)
{
    size_t n = problem_n_parameter(problem);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n; i++)
        word[i] = options->recipe.share ? NULL : problem_level(problem, i);
    if (!options->recipe.share)
        return STATUS_OK;
    strcpy(room, options->recipe.share);
    for (char *entry = room, *next; !status && entry; entry = next) {
        if ((next = strchr(entry, ',')))
            *next++ = '\0';
        char *column = strchr(entry, '@'), *hash = column ? strchr(column, ':') : NULL;
        if (column)
            *column++ = '\0';
        if (hash)
            *hash = '\0';
        memset(wanted, 0, n);
        status = refit_mark_names("share", entry, problem_parameter_name(problem), n, wanted, error);
        for (size_t i = 0; !status && i < n; i++)
            if (wanted[i])
                word[i] = column ? column : "shared";
    }
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers the groups of a column from 0, in the order of its values. */
static enum status read_groups(const struct problem *problem, const char *column, uint32_t *group, size_t *n_group,
                               struct error *error)
{
    size_t n = (size_t)problem_info(problem)->n_dataset;
    double *value = calloc(2 * n + 1, sizeof *value), *sorted = value + n;
    enum status status = value ? problem_read_covariate(problem, column, value, error)
                               : error_set(error, STATUS_NO_MEMORY, "out of memory for the groups of %zu datasets", n);
    for (size_t i = 0; !status && i < n; i++)
        if (!isfinite(value[i]))
            status = error_set(error, STATUS_BAD_PROBLEM, "%s: /datasets/covariates row %zu: the group %s is %g",
                               problem_info(problem)->path, i, column, value[i]);
    *n_group = 0;
    if (!status) {
        memcpy(sorted, value, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, compare_doubles);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || sorted[i] != sorted[*n_group - 1])
                sorted[(*n_group)++] = sorted[i];
        for (size_t i = 0; i < n; i++)
            group[i] = (uint32_t)((double *)bsearch(&value[i], sorted, *n_group, sizeof *sorted, compare_doubles) - sorted);
    }
    free(value);
    return status;
}

/* Fills the levels. The column with the most values is eliminated; those of the others count as shared. */
static enum status set_levels(struct share *share, const struct problem *problem, const char **word, const char **column,
                              struct error *error)
{
    size_t n = problem_n_parameter(problem), n_dataset = (size_t)problem_info(problem)->n_dataset;
    size_t n_shared = 0, most = 0, first = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < n; i++) {
        size_t c = 0;
        if (!word[i] || !strcmp(word[i], "dataset"))
            continue;
        share->n++;
        share->level[i] = 1;
        n_shared += !strcmp(word[i], "shared");
        if (!strcmp(word[i], "shared"))
            continue;
        while (c < share->levels.n_column && strcmp(column[c], word[i]) != 0)
            c++;
        share->level[i] = (uint8_t)(2 + c);
        if (c < share->levels.n_column)
            continue;
        if (c == MAX_COLUMN || !(share->group[c] = calloc(n_dataset + 1, sizeof **share->group)))
            return error_set(error, STATUS_USAGE, "more than %d columns of groups, or out of memory for them", MAX_COLUMN);
        column[share->levels.n_column++] = word[i];
        status = read_groups(problem, word[i], share->group[c], &share->n_group[c], error);
    }
    for (size_t c = 0; !status && c < share->levels.n_column; c++) {
        size_t values = 0;
        for (size_t i = 0; i < n; i++)
            values += share->level[i] == 2 + c ? share->n_group[c] : 0;
        n_shared += values;
        first = values > most ? c : first;
        most = values > most ? values : most;
    }
    if (!status && n_shared - most > MAX_SHARED)
        return error_set(error, STATUS_USAGE, "%zu values of shared parameters and of groups other than those of %s: at most "
                         "%d are possible", n_shared - most, share->levels.n_column ? column[first] : "any column", MAX_SHARED);
    if (status || first == 0)
        return status;
    const uint32_t *kept = share->group[first];
    size_t n_kept = share->n_group[first];
    const char *name = column[first];
    share->group[first] = share->group[0];
    share->n_group[first] = share->n_group[0];
    column[first] = column[0];
    share->group[0] = (uint32_t *)(uintptr_t)kept;
    share->n_group[0] = n_kept;
    column[0] = name;
    for (size_t i = 0; i < n; i++)
        share->level[i] = share->level[i] == 2 ? (uint8_t)(2 + first) : share->level[i] == 2 + first ? 2 : share->level[i];
    return STATUS_OK;
}

/* What the run's identity holds: names, and where the groups are. */
static bool print(struct share *share, const struct problem *problem, const char **column)
{
    size_t n = problem_n_parameter(problem), used = 0, length = 1, n_dataset = (size_t)problem_info(problem)->n_dataset;
    const char *const *names = problem_parameter_name(problem);
    for (size_t i = 0; i < n; i++)
        length += strlen(names[i]) + 20 + (share->level[i] >= 2 ? strlen(column[share->level[i] - 2]) : 0);
    if (!(share->text = calloc(length, 1)))
        return false;
    for (int groups = 0; groups < 2; groups++)
        for (size_t i = 0; i < n; i++) {
            size_t level = share->level[i];
            unsigned char digest[32];
            if (level == 0 || (level >= 2) != groups)
                continue;
            used += (size_t)snprintf(share->text + used, length - used, "%s%s", used ? "," : "", names[i]);
            if (level < 2)
                continue;
            sha256_of(share->group[level - 2], n_dataset * sizeof(uint32_t), digest);
            used += (size_t)snprintf(share->text + used, length - used, "@%s:%02x%02x%02x%02x", column[level - 2], digest[0],
                                     digest[1], digest[2], digest[3]);
        }
    return true;
}

enum status share_open(struct share *share, struct run_options *options, const struct problem *problem, struct error *error)
{
    size_t n = problem_n_parameter(problem);
    const char **word = calloc(n + 1, sizeof *word), *column[MAX_COLUMN];
    bool *wanted = calloc(n + 1, sizeof *wanted);
    char *room = calloc(options->recipe.share ? strlen(options->recipe.share) + 1 : 1, 1);
    share->level = calloc(n + 1, 1);
    share->group = calloc(MAX_COLUMN, sizeof *share->group);
    share->n_group = calloc(MAX_COLUMN, sizeof *share->n_group);
    enum status status = word && wanted && room && share->level && share->group && share->n_group ? STATUS_OK
                             : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    if (!status)
        status = find_words(options, problem, word, wanted, room, error);
    if (!status)
        status = set_levels(share, problem, word, column, error);
    share->levels.level = share->level;
    share->levels.group = (const uint32_t *const *)share->group;
    share->levels.n_group = share->n_group;
    if (!status && share->n == 0 && options->recipe.leave_out_failed)
        status = error_set(error, STATUS_USAGE, "--leave-out-failed: no parameter is shared (--share, /parameters/level), so "
                           "no dataset fails because of another");
    if (!status && share->n > 0 && !print(share, problem, column))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    if (!status && share->n > 0) {
        options->recipe.share = share->text;
        share->leaves_out = options->recipe.leave_out_failed;
        status = check_options(options, error);
    }
    free(word);
    free(wanted);
    free(room);
    return status;
}

char *share_by_all(const char *text)
{
    char *list = calloc(strlen(text) + 1, 1);
    for (const char *entry = text; list && *entry; entry += strspn(entry, ",")) {
        size_t n = strcspn(entry, ",");
        if (!memchr(entry, '@', n)) {
            if (*list)
                strcat(list, ",");
            strncat(list, entry, n);
        }
        entry += n;
    }
    return list;
}

void share_fini(struct share *share)
{
    for (size_t c = 0; share->group && c < MAX_COLUMN; c++)
        free(share->group[c]);
    free(share->group);
    free(share->n_group);
    free(share->level);
    free(share->text);
    *share = (struct share){.n = 0};
}
