/* Summaries of runs, from records as they are written or from an existing result file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/summary.h"

#include "base/output.h"
#include "io/problem/problem.h"
#include "io/result/result.h"
#include "io/result/population.h"
#include "run/plan/recipe_text.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS_AT_ONCE = 4096 };

void run_summary_fini(struct run_summary *summary)
{
    free(summary->result_path);
    summary->result_path = NULL;
}

enum status run_summary_status(const struct run_summary *summary, const struct run_shown *shown)
{
    double accepted = shown->accept_failed.value;
    if (shown->accept_failed.percent)
        accepted *= 0.01 * (double)summary->digest.n_fit;
    uint64_t n =
        digest_n_failed(&summary->digest) + (shown->strict ? summary->digest.n_doubtful : 0);
    return (double)n <= accepted ? STATUS_OK : STATUS_FITS_FAILED;
}

void summary_add(struct run_summary *summary, const char *id, const struct fit_record *record,
                 size_t n_parameter)
{
    unsigned outcome = record->outcome < N_OUTCOME ? record->outcome : OUTCOME_not_run;
    if (summary->digest.by_outcome[outcome] == 0)
        memcpy(summary->reason[outcome], record->reason, sizeof record->reason);
    digest_add(&summary->digest, id, record, n_parameter);
    summary->objective = record->objective;
    summary->n_same_optimum = outcome == OUTCOME_evaluated ? 0 : record->n_same_optimum;
    summary->log_likelihood = record->log_likelihood;
    summary->log_prior = record->log_prior;
}

void summary_add_refits(struct run_summary *summary, const struct fit_record *record,
                        size_t n_parameter, uint64_t n_replicate)
{
    for (size_t i = 0; i < n_parameter && record->profile_lower_status; i++) {
        summary->by_limit[record->profile_lower_status[i] % N_LIMIT]++;
        summary->by_limit[record->profile_upper_status[i] % N_LIMIT]++;
    }
    if (n_replicate && outcome_is_success((enum outcome)record->outcome)) {
        summary->n_replicate += n_replicate;
        summary->n_replicate_failed +=
            n_replicate - (uint64_t)(record->n_bootstrap > 0 ? record->n_bootstrap : 0);
    }
}

void summary_add_population(struct run_summary *summary, const struct result_population *population)
{
    bool is_laplace = !strcmp(population->head.likelihood, likelihood_name(LIKELIHOOD_LAPLACE));
    summary->population = (struct run_population){.n_estimate = population->m,
                                                   .head = population->head};
    summary->population.head.likelihood =
        likelihood_name(is_laplace ? LIKELIHOOD_LAPLACE : LIKELIHOOD_EXACT);
    struct run_population *to = &summary->population;
    for (size_t i = 0; i < population->r + population->q; i++) {
        bool is_random = i < population->r;
        size_t k = is_random ? i : i - population->r;
        if ((is_random ? population->standard_deviation : population->occasion_deviation)[k] > 0)
            continue;
        if (to->n_zero++ == 0)
            snprintf(to->zero, sizeof to->zero, "%.40s%s",
                     (is_random ? population->name : population->occasion_name)[k],
                     is_random ? "" : "@experiment");
    }
    for (size_t k = 0; k < population->m; k++)
        if (isnan(population->error[k]) && population->estimate[k] != 0 && to->n_no_error++ == 0)
            snprintf(to->no_error, sizeof to->no_error, "%.60s", population->estimate_name[k]);
    result_population_flat(population, to->flat, sizeof to->flat);
}

static enum status count_population(struct result *result, struct run_summary *summary,
                                    struct error *error)
{
    const struct result_population *population;
    struct arena arena = {.first = NULL};
    enum status status = result_population_read(&population, result, &arena, error);
    if (!status && population)
        summary_add_population(summary, population);
    arena_fini(&arena);
    return status;
}

static enum status count_rows(struct result *result, struct run_summary *summary,
                              struct error *error)
{
    struct recipe recipe;
    struct result_block block = {0};
    enum status status = STATUS_OK;
    recipe_read(&recipe, NULL, result_info(result)->identity.description);
    while (result_next(result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++) {
            summary_add(summary, block.id[i], &block.record[i], result_info(result)->n_parameter);
            summary_add_refits(summary, &block.record[i], result_info(result)->n_parameter,
                               (uint64_t)recipe.n_bootstrap);
        }
    result_block_fini(&block);
    return status;
}

/* What no option makes us replace: a directory, a device, the problem itself, other data. */
static enum status check_replaceable(const struct run_paths *paths, struct error *error)
{
    struct problem *other = NULL;
    struct error ignored;
    struct destination destination;
    if (destination_find_file(&destination, paths->result, error))
        return error->status;
    if (paths->in_place || destination.kind == DESTINATION_NEW)
        return STATUS_OK;
    if (spare_file(paths->result, paths->problem, error))
        return error_set(error, STATUS_USAGE,
                         "%s: is the problem file itself. It is kept: choose another output with "
                         "-o, or put the result into it with --in-place",
                         paths->result);
    if (paths->overwrite && !problem_open(&other, paths->result, &ignored)) {
        problem_close(other);
        return error_set(error, STATUS_SYSTEM,
                         "%s: is a problem file, which even --overwrite does not replace: choose "
                         "another output with -o",
                         paths->result);
    }
    return STATUS_OK;
}

enum status summary_look(const struct run_paths *paths, const struct run_identity *identity,
                         struct run_summary *summary, struct error *error)
{
    struct result *result = NULL;
    enum status status = check_replaceable(paths, error);
    if (status || access(paths->result, F_OK) || paths->overwrite)
        return status;
    if (paths->retry_failed && !strstr(identity->selection, "retry=0:"))
        return STATUS_OK;
    if (paths->in_place && !result_is_there(paths->result))
        return STATUS_OK; /* a problem file that holds no result yet */
    if (result_open(&result, paths->result, error))
        return error_set(error, STATUS_SYSTEM,
                         "%s: exists and is not a result that could be read. It is kept: choose "
                         "another output with -o, or replace it with --overwrite",
                         paths->result);
    if (!paths->retry_failed && !identity_equal(&result_info(result)->identity, identity)) {
        char difference[900];
        identity_difference(&result_info(result)->identity, identity, difference,
                            sizeof difference);
        status = error_set(error, STATUS_SYSTEM,
                           "%s: holds the result of another run (%s). It is kept: choose another "
                           "output with -o, or replace it with --overwrite",
                           paths->result, difference);
    }
    if (!status)
        status = count_rows(result, summary, error);
    if (!status)
        status = count_population(result, summary, error);
    if (!status) {
        summary->already_complete = true;
        summary->result_path = strdup(paths->result);
    }
    result_close(result);
    return status;
}

void summary_touch(const struct run_paths *paths)
{
    if (!paths->in_place)
        (void)utimensat(AT_FDCWD, paths->result, NULL, 0);
}
