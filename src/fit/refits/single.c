/* Fits a dataset again, and draws its replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/refits/single.h"

#include "fit/joint/one.h"
#include "fit/objective/unit.h"

#include <stdio.h>
#include <string.h>

static void fit_single(void *context, const double *start, const uint8_t *fixed, double unit,
                       const struct fit_options *options, double *end, struct fit_record *record)
{
    struct fit_single *single = context;
    single->problem.start = start;
    single->problem.fixed = fixed;
    single->problem.unit = unit;
    arena_reset(single->scratch);
    fit_run(&single->problem, options, single->host, single->scratch, record);
    if (end)
        memcpy(end, record->parameter, single->problem.n_parameter * sizeof *end);
}

static bool draw_single(void *context, const struct fit_options *options, uint32_t replicate,
                        struct fit_record *record)
{
    struct fit_single *single = context;
    double *value = arena_calloc(single->arena, fit_problem_n_row(&single->problem) + 1,
                                 sizeof *value);
    enum outcome outcome = OUTCOME_out_of_memory;
    if (value)
        outcome = fit_bootstrap_values(&single->problem, options, single->host, single->arena,
                                       single->kind, replicate, value, record);
    else
        snprintf(record->reason, sizeof record->reason, "no memory for a replicate");
    record->outcome = (uint8_t)outcome;
    single->problem.measured.value = value;
    return outcome == OUTCOME_converged;
}

struct fit_subject fit_subject_single(struct fit_single *single, const struct fit_options *options)
{
    struct fit_problem *problem = &single->problem;
    /* A fit that meets a jump takes differences after its first evaluation: two evaluations for
     * each parameter. */
    bool may_jump = problem->model->abi.n_switching > 0;
    bool differs = options->gradient == GRADIENT_differences || may_jump;
    int64_t max_look = 1 + (differs ? may_jump + 2 * (int64_t)problem->n_parameter : 0);
    problem->start_number = 0;
    return (struct fit_subject){
        .n_parameter = problem->n_parameter, .n_copy = 1, .n_row = fit_problem_n_row(problem),
        .start = problem->start, .lower = problem->lower, .upper = problem->upper,
        .fixed = problem->fixed, .scale = problem->scale, .prior = problem->prior,
        .has_open_unit = fit_unit_is_open(problem), .max_look = max_look, .fit = fit_single,
        .draw = draw_single, .context = single};
}
