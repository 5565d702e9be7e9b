/* A few fits, each from where the one before it ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/unit.h"

#include "fit/statistics.h"

#include <math.h>
#include <string.h>

/* A kink that is off by this part of itself moves nothing by more than 1e-5 of the residuals' size. */
static const double SETTLED = 1e-3;
enum { MAX_ROUND = 8, LEAST_EVALUATIONS = 4 };
/* Exact data: residuals below so many errors of the predictions say nothing. */
static const double EXACT = 100;

bool fit_unit_is_open(const struct fit_problem *problem)
{
    size_t n_row = problem->task->n_row;
    bool is_open = n_row > 0 && !problem->model->abi.noise && !problem->mixes
                   && problem->loss[problem->task->row_observable[0]].has_kink;
    for (size_t i = 0; i < n_row && problem->sigma; i++)
        is_open = is_open && isnan(problem->sigma[i]);
    return is_open;
}

/* Root mean square of the data; 1 where they are zero. */
static double size_of(const struct fit_problem *problem)
{
    double largest = 0, sum = 0, n = (double)problem->task->n_row;
    for (size_t i = 0; i < problem->task->n_row; i++)
        largest = fmax(largest, fabs(problem->value[i]));
    for (size_t i = 0; i < problem->task->n_row && largest > 0; i++)
        sum += problem->value[i] / largest * (problem->value[i] / largest) / n;
    return largest > 0 ? largest * sqrt(sum) : 1;
}

static void fit_round(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                      struct arena *arena, double *sigma, struct fit_result *result, fit_unit_run *run)
{
    struct fit_problem with = *problem;
    struct fit_statistics *statistics = result->statistics;
    double unit = problem->unit;
    for (size_t i = 0; i < problem->task->n_row; i++)
        sigma[i] = unit;
    with.sigma = sigma;
    run(&with, options, host, arena, result);
    result->objective *= unit;
    result->gradient_norm *= unit;
    result->tight_change *= unit;
    result->tight_decrease *= unit;
    if (!statistics)
        return;
    statistics->chi_square *= unit;
    statistics->residual_error *= unit;
    for (size_t i = 0; i < problem->n_parameter; i++)
        statistics->eigenvalue[i] *= unit * unit;
}

/* What is left of the budgets. */
static struct fit_options options_left(const struct fit_options *options, int64_t n_evaluation, int64_t n_step)
{
    struct fit_options left = *options;
    left.max_evaluations -= n_evaluation;
    left.max_total_steps -= n_step;
    left.is_near = options->is_near || n_evaluation > 0;
    return left;
}

/* Where the caller wants no statistics: those of the rounds. */
static bool statistics_init(struct fit_statistics *statistics, size_t n, struct arena *arena)
{
    double *numbers = arena_calloc(arena, 5 * n + 1, sizeof *numbers);
    *statistics = (struct fit_statistics){.standard_error = numbers, .interval_lower = numbers + n,
                                          .interval_upper = numbers + 2 * n, .eigenvalue = numbers + 3 * n,
                                          .flattest = numbers + 4 * n, .lack = arena_calloc(arena, n + 1, 1),
                                          .confidence = 0.95};
    return numbers && statistics->lack;
}

static void find(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                 struct arena *arena, double *sigma, double *start, struct fit_result *result, fit_unit_run *run)
{
    struct fit_problem now = *problem;
    size_t n = problem->n_parameter, n_row = problem->task->n_row;
    double least = EXACT * options->accuracy * size_of(problem), best = NAN;
    int64_t n_evaluation = 0, n_step = 0, n_iteration = 0;
    uint32_t notes = 0;
    bool is_settled = false, is_last = false;
    now.unit = size_of(problem);
    for (int round = 0; !is_last; round++) {
        struct fit_options left = options_left(options, n_evaluation, n_step);
        is_last = is_settled || round == MAX_ROUND;
        left.certify = options->certify && is_last;
        fit_round(&now, &left, host, arena, sigma, result, run);
        n_evaluation += result->n_evaluation;
        n_step += result->n_step;
        n_iteration += result->n_iteration;
        notes |= result->notes & (NOTE_failed_evaluations | NOTE_start_moved);
        if (!isfinite(result->objective) && round > 0) { /* not even its start: what is known stays */
            memcpy(result->parameter, start, n * sizeof *start);
            result->objective = best;
        }
        if (!outcome_is_success(result->outcome) || options->max_evaluations - n_evaluation < LEAST_EVALUATIONS)
            break;
        double unit = fmax(result->statistics->chi_square / (double)n_row, least);
        is_settled = fabs(unit / now.unit - 1) <= SETTLED;
        now.unit = is_last ? now.unit : unit;
        memcpy(start, result->parameter, n * sizeof *start);
        now.start = start;
        now.start_number = 0;
        best = result->objective;
    }
    result->n_evaluation = n_evaluation;
    result->n_step = n_step;
    result->n_iteration = n_iteration;
    result->notes |= notes;
    if (options->certify && !is_last && outcome_is_success(result->outcome))
        result->notes |= NOTE_not_certified;
}

bool fit_unit_find(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                   struct arena *arena, struct fit_result *result, fit_unit_run *run)
{
    size_t n_row = problem->task->n_row;
    double *sigma = arena_calloc(arena, n_row + problem->n_parameter + 1, sizeof *sigma);
    struct fit_statistics own, *given = result->statistics;
    if (!sigma || (!given && !statistics_init(&own, problem->n_parameter, arena)))
        return false;
    if (!given)
        result->statistics = &own;
    if (problem->unit > 0)
        fit_round(problem, options, host, arena, sigma, result, run);
    else
        find(problem, options, host, arena, sigma, sigma + n_row, result, run);
    result->statistics = given;
    return true;
}
