/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/finish_population.h"

#include "fit/objective/distribution.h"
#include "io/result/population.h"

#include <math.h>
#include <stdlib.h>

static const double CONFIDENCE = 0.95;

/* What replicates are read with. */
struct replicates {
    struct fit_record record;
    double point[2 * FIT_MAX_POINT];
    double *estimate;      /* n_bootstrap for each of the m estimates */
    void *arrays;
};

static bool is_possible(const struct mixed_result *mixed, size_t n_parameter)
{
    bool is_good = true;
    for (size_t i = 0; i < mixed->r; i++)
        is_good = is_good && mixed->random[i] < n_parameter;
    for (size_t i = 0; i < mixed->s; i++)
        is_good = is_good && mixed->shared[i] < n_parameter;
    for (size_t i = 0; i < mixed->q; i++)
        is_good = is_good && mixed->occasion[i] < n_parameter;
    return is_good;
}

/* Reads the replicates that succeeded; their estimates are where joint_refits.c puts them. */
static enum status read_replicates(struct replicates *replicates, const struct run_plan *plan,
                                   uint64_t dataset,
                                   struct journal_reader *journal, size_t n_estimate,
                                   size_t *n_good, struct error *error)
{
    const struct run_identity *identity = &plan->header.identity;
    const struct refit_plan *refits = &plan->refits;
    *n_good = 0;
    for (uint32_t b = 0; b < refits->n_bootstrap; b++) {
        uint32_t task = identity->n_start + 2 * refits->n_profile + b;
        if (!journal_get_task(journal, dataset, task, &replicates->record, error))
            return error->status;
        if (!outcome_is_success((enum outcome)replicates->record.outcome)
            || 2 * (size_t)replicates->record.n_point < n_estimate)
            continue;
        for (size_t k = 0; k < n_estimate; k++)
            replicates->estimate[*n_good + k * refits->n_bootstrap] = replicates->record.point[k];
        ++*n_good;
    }
    return STATUS_OK;
}

/* Standard deviations and percentiles of n replicates, of which the numbers of an estimate are
 * n_each apart. */
static void summarise(const struct replicates *replicates, size_t n, size_t n_each,
                      struct result_population *made)
{
    for (size_t k = 0; k < made->m; k++) {
        double *estimate = replicates->estimate + k * n_each;
        struct fit_interval interval = fit_interval_percentile(estimate, n, CONFIDENCE);
        made->bootstrap_error[k] = fit_interval_deviation(estimate, n);
        made->bootstrap_lower[k] = interval.lower;
        made->bootstrap_upper[k] = interval.upper;
    }
    made->n_bootstrap = n;
}

static enum status add_replicates(const struct run_plan *plan,
                                  uint64_t dataset, struct journal_reader *journal,
                                  struct result_population *made, struct error *error)
{
    size_t n = plan->refits.n_bootstrap, n_good = 0;
    struct replicates replicates = {
        .estimate = calloc((n + 1) * (made->m + 1), sizeof(double)),
        .arrays = calloc(1, fit_record_array_bytes(plan->header.n_parameter) + 1)};
    enum status status = STATUS_OK;
    if (!replicates.estimate || !replicates.arrays)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu replicates", n);
    if (!status) {
        fit_record_set_arrays(&replicates.record, plan->header.n_parameter, replicates.arrays);
        replicates.record.point = replicates.point;
        status = read_replicates(&replicates, plan, dataset, journal, made->m, &n_good, error);
    }
    if (!status)
        summarise(&replicates, n_good, n, made);
    free(replicates.estimate);
    free(replicates.arrays);
    return status;
}

enum status finish_population(const struct run_plan *plan,
                              const struct share *share, struct journal_reader *journal,
                              struct result_writer *writer, struct run_summary *summary,
                              struct error *error)
{
    struct arena arena = {.first = NULL};
    struct mixed_result mixed;
    uint32_t n_start = plan->identity.n_start;
    bool is_there = false;
    enum status status = STATUS_OK;
    if (plan->recipe.random)
        status = mixed_result_read(&mixed, &is_there, &n_start, journal, &arena, error);
    is_there = is_there && is_possible(&mixed, plan->header.n_parameter);
    if (!status && n_start < plan->identity.n_start) {
        summary->journal_gone = true; /* the next process computes it again */
        status = error_set(error, STATUS_SYSTEM,
                           "%s: the population's estimates have been removed from it meanwhile; "
                           "the same command computes them again",
                           plan->paths.journal);
    }
    if (!status && is_there) {
        struct result_population *made = result_population_make(
            &mixed, plan->header.parameter_name, plan->header.parameter_scale, &arena);
        if (!made)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for the population");
        else if (plan->refits.n_bootstrap)
            status = add_replicates(plan, components_members(&share->components, 0)[0],
                                    journal, made, error);
        if (!status)
            status = result_writer_population(writer, made, error);
        if (!status)
            summary_add_population(summary, made);
    }
    arena_fini(&arena);
    return status;
}
