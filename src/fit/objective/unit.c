/* Makes a few fits, each from the end of the one before.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/unit.h"

#include <math.h>
#include <string.h>

/* A relative error of this size in the kink moves no result by more than 1e-5 of the residuals'
 * size. */
static const double SETTLED = 1e-3;
enum { MAX_ROUND = 8, LEAST_EVALUATIONS = 4 };
/* Exact data: residuals below this many errors of the predictions mean nothing. */
static const double EXACT = 100;

bool fit_unit_is_open(const struct fit_problem *problem)
{
    size_t n_row = fit_problem_n_row(problem);
    const struct ode_task *task = problem->task;
    while (n_row > 0 && task->n_row == 0) /* others begin at its steady state */
        task++;
    bool is_open = n_row > 0 && !problem->model->abi.noise && !problem->mixes
                   && problem->loss[task->row_observable[0]].has_kink;
    for (size_t i = 0; i < n_row && problem->measured.sigma; i++)
        is_open = is_open && isnan(problem->measured.sigma[i]);
    return is_open;
}

/* Root mean square of the data; 1 if all are zero. */
static double size_of(const struct fit_problem *problem)
{
    size_t n_row = fit_problem_n_row(problem);
    double largest = 0, sum = 0, n = (double)n_row;
    for (size_t i = 0; i < n_row; i++)
        largest = fmax(largest, fabs(problem->measured.value[i]));
    for (size_t i = 0; i < n_row && largest > 0; i++)
        sum += problem->measured.value[i] / largest * (problem->measured.value[i] / largest) / n;
    return largest > 0 ? largest * sqrt(sum) : 1;
}

static void fit_round(const struct fit_problem *problem, const struct fit_options *options,
                      const struct fit_host *host, struct arena *arena, double *sigma,
                      struct fit_record *record, fit_unit_run *run)
{
    struct fit_problem with = *problem;
    double unit = problem->unit;
    for (size_t i = 0, n_row = fit_problem_n_row(problem); i < n_row; i++)
        sigma[i] = unit;
    with.measured.sigma = sigma;
    run(&with, options, host, arena, record);
    fit_record_rescale(record, problem->n_parameter, unit);
}

/* The rest of the budgets. */
static struct fit_options options_left(const struct fit_options *options, int64_t n_evaluation,
                                       int64_t n_step, uint32_t notes)
{
    struct fit_options left = *options;
    left.statistics = true; /* its chi-square gives the next unit */
    left.max_evaluations -= n_evaluation;
    left.max_total_steps -= n_step;
    left.is_near = options->is_near || n_evaluation > 0;
    if (notes & NOTE_changed_engine)
        left.engine = ENGINE_REFERENCE;
    return left;
}

static void find(const struct fit_problem *problem, const struct fit_options *options,
                 const struct fit_host *host, struct arena *arena, double *sigma, double *start,
                 struct fit_record *record, fit_unit_run *run)
{
    struct fit_problem now = *problem;
    size_t n = problem->n_parameter, n_row = fit_problem_n_row(problem);
    double least = EXACT * options->accuracy * size_of(problem), best = NAN;
    struct fit_record work = {.dataset = 0};
    uint32_t notes = 0;
    bool is_settled = false, is_last = false;
    now.unit = size_of(problem);
    for (int round = 0; !is_last; round++) {
        struct fit_options left = options_left(options, work.n_evaluation, work.n_step, notes);
        is_last = is_settled || round == MAX_ROUND;
        left.certify = options->certify && is_last;
        fit_round(&now, &left, host, arena, sigma, record, run);
        fit_record_add_work(&work, record);
        notes |= record->notes & (NOTE_failed_evaluations | NOTE_start_moved | NOTE_changed_engine);
        if (!isfinite(record->objective) && round > 0) { /* its start could not be evaluated */
            memcpy(record->parameter, start, n * sizeof *start);
            record->objective = best;
        }
        if (!outcome_is_success(record->outcome) ||
            options->max_evaluations - work.n_evaluation < LEAST_EVALUATIONS)
            break;
        double unit = fmax(record->chi_square / (double)n_row, least);
        is_settled = fabs(unit / now.unit - 1) <= SETTLED;
        now.unit = is_last ? now.unit : unit;
        memcpy(start, record->parameter, n * sizeof *start);
        now.start = start;
        now.start_number = 0;
        best = record->objective;
    }
    fit_record_zero_work(record);
    fit_record_add_work(record, &work);
    record->notes |= notes;
    if (options->certify && !is_last && outcome_is_success(record->outcome))
        record->notes |= NOTE_not_certified;
}

bool fit_unit_find(const struct fit_problem *problem, const struct fit_options *options,
                   const struct fit_host *host, struct arena *arena, struct fit_record *record,
                   fit_unit_run *run)
{
    size_t n_row = fit_problem_n_row(problem);
    double *sigma = arena_calloc(arena, n_row + problem->n_parameter + 1, sizeof *sigma);
    if (!sigma)
        return false;
    if (problem->unit > 0)
        fit_round(problem, options, host, arena, sigma, record, run);
    else
        find(problem, options, host, arena, sigma, sigma + n_row, record, run);
    return true;
}
