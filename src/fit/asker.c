/* The only place of a fit that talks to its host.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/asker.h"

#include "fit/preequilibration.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The deadline may pass while a suspended evaluation waits for its next turn, although the fit has used less computing time
 * than it is allowed. The evaluation is then repeated, at most this often. */
enum { MAX_RETRY = 100 };

/* A point that lanes cannot integrate is a failed trial: far from the optimum most of them fail with CVODES, too, which takes
 * several times as long for all the others. It counts LOST, one that can be integrated takes one off, and at MAX_LOST CVODES
 * takes over. */
enum { LOST = 2, MAX_LOST = 16 };

/* Differences beyond this part change the bits of a natural parameter, unless both are on the same bound. */
static const double SURELY = 1e-12;

/* The present reason may be among the arguments, hence the copy. */
static void put_reason(struct fit_asker *asker, const char *format, va_list arguments)
{
    char reason[sizeof asker->reason];
    vsnprintf(reason, sizeof reason, format, arguments);
    memcpy(asker->reason, reason, sizeof reason);
}

enum asked fit_asker_end(struct fit_asker *asker, enum outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_reason(asker, format, arguments);
    va_end(arguments);
    asker->outcome = outcome;
    return ASKED_END;
}

enum asked fit_asker_miss(struct fit_asker *asker, enum outcome failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_reason(asker, format, arguments);
    va_end(arguments);
    asker->failure = failure;
    asker->notes |= NOTE_failed_evaluations;
    return ASKED_FAILED;
}

static double seconds_left(const struct fit_asker *asker)
{
    if (!(asker->options->max_seconds < INFINITY))
        return INFINITY;
    return asker->options->max_seconds - 1e-9 * (double)asker->host->elapsed_ns(asker->host->context);
}

static int64_t deadline_after(double seconds)
{
    if (!(seconds < 1e9))
        return INT64_MAX;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (int64_t)(1e9 * seconds);
}

/* Checks for everything that can end the fit before the next evaluation. */
static enum asked check_budgets(struct fit_asker *asker, size_t n, int64_t most_steps)
{
    const struct fit_options *options = asker->options;
    if (options->max_evaluations - asker->used.n_evaluation < (int64_t)n)
        return fit_asker_end(asker, OUTCOME_budget, "the budget of %" PRId64 " evaluations is used up (--max-evaluations)%s",
                             options->max_evaluations, n > 1 ? ": difference quotients take two for each parameter" : "");
    if (asker->used.n_step >= most_steps)
        return fit_asker_end(asker, OUTCOME_budget, "the budget of %" PRId64 " integrator steps is used up (--max-total-steps)",
                             most_steps);
    if (!(seconds_left(asker) > 0))
        return fit_asker_end(asker, OUTCOME_timeout, "the budget of %g s of computing is used up (--max-seconds)",
                             options->max_seconds);
    return ASKED_OK;
}

bool fit_asker_prepare(struct fit_asker *asker, struct arena *arena)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    size_t n = problem->n_experiment;
    asker->first_row = arena_calloc(arena, n + 1, sizeof *asker->first_row);
    asker->evaluation = arena_calloc(arena, n, sizeof *asker->evaluation);
    asker->asked = arena_calloc(arena, 2 * n, sizeof(struct evaluation *));
    for (size_t e = 0; asker->first_row && e < n; e++)
        asker->first_row[e + 1] = asker->first_row[e] + problem->task[e].n_row;
    return asker->first_row && asker->evaluation && asker->asked &&
           ARENA_DOUBLES(arena, {&asker->of_model, map->n_of_model, 1}, {&asker->compared, map->n_parameter, 2});
}

const char *fit_name_experiment(const struct fit_problem *problem, const struct ode_task *task, char name[FIT_NAME_SIZE])
{
    name[0] = '\0';
    if (problem->n_experiment > 1 && problem->experiment_id)
        snprintf(name, FIT_NAME_SIZE, "experiment %.60s: ", problem->experiment_id[task - problem->task]);
    return name;
}

/* Decides whether a finished evaluation's failure ends the fit. */
static enum asked judge_end(struct fit_asker *asker, struct fit_accuracy accuracy, const struct evaluation *evaluation,
                            bool limited_by_total)
{
    if (evaluation->outcome == EVALUATION_NO_MEMORY)
        return fit_asker_end(asker, OUTCOME_out_of_memory, "%s", evaluation->reason[0] ? evaluation->reason : "out of memory");
    if (evaluation->outcome == EVALUATION_TIMEOUT)
        return fit_asker_end(asker, OUTCOME_timeout, "the time of this fit is used up within an evaluation (--max-seconds)");
    if (evaluation->outcome == EVALUATION_BUDGET && limited_by_total)
        return fit_asker_end(asker, OUTCOME_budget, "the integrator steps of this fit are used up within an evaluation "
                             "(--max-total-steps)");
    bool is_lost = evaluation->outcome == EVALUATION_ODE_FAILED && evaluation->engine == ENGINE_LANES;
    asker->has_lost = asker->has_lost || is_lost;
    asker->leaves_lanes = is_lost && !accuracy.is_loose && !asker->stays_in_lanes
                          && (isnan(asker->start_f) || asker->n_lost >= MAX_LOST);
    if (asker->leaves_lanes)
        return fit_asker_end(asker, OUTCOME_ode_failed, "%s", evaluation->reason);
    return ASKED_OK;
}

enum asked fit_asker_fail(struct fit_asker *asker, const struct evaluation *evaluation)
{
    bool is_budget = evaluation->outcome == EVALUATION_BUDGET && !evaluation->reason[0];
    bool is_model = evaluation->outcome == EVALUATION_MODEL_FAILED;
    char name[FIT_NAME_SIZE];
    return fit_asker_miss(asker, is_model ? OUTCOME_model_failed : OUTCOME_ode_failed, "%s%s",
                          fit_name_experiment(asker->problem, evaluation->task, name),
                          is_budget ? "the integrator steps of one evaluation are used up (--max-steps)" : evaluation->reason);
}

/* Asks for the evaluations, and again for those that timed out while the fit has time left. */
static bool ask_again(void *context, struct evaluation *const *all, size_t n)
{
    struct fit_asker *asker = context;
    struct evaluation **evaluations = asker->again;
    memcpy(evaluations, all, n * sizeof(struct evaluation *));
    for (int retry = 0; n > 0; retry++) {
        for (size_t k = 0; k < n; k++)
            evaluations[k]->deadline_ns = deadline_after(seconds_left(asker));
        if (!asker->host->ask(asker->host->context, evaluations, n))
            return false;
        if (retry == MAX_RETRY || !(seconds_left(asker) > 0))
            break;
        size_t n_again = 0; /* not counted: how often this happens depends on the machine's load */
        for (size_t k = 0; k < n; k++)
            if (evaluations[k]->outcome == EVALUATION_TIMEOUT) {
                struct evaluation *again = evaluations[k];
                evaluations[k] = evaluations[n_again];
                evaluations[n_again++] = again;
            }
        n = n_again;
    }
    return true;
}

enum asked fit_ask_all(struct fit_asker *asker, struct fit_accuracy accuracy, struct evaluation **evaluations, size_t n)
{
    size_t n_experiment = asker->problem->n_experiment;
    int64_t most = asker->options->max_total_steps, most_steps = most > INT64_MAX / (int64_t)n_experiment
                                                                     ? INT64_MAX : most * (int64_t)n_experiment;
    enum asked asked = check_budgets(asker, n / n_experiment, most_steps);
    if (asked != ASKED_OK)
        return asked;
    int64_t left = (most_steps - asker->used.n_step) / (int64_t)(n ? n : 1);
    bool limited_by_total = left <= asker->options->max_steps;
    double tighter = accuracy.tighter;
    if (accuracy.gradient == GRADIENT_differences && asker->problem->model->abi.n_state > 0)
        tighter *= FIT_QUOTIENT_TIGHTER;
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->engine = accuracy.engine;
        evaluations[k]->tighter = tighter;
        evaluations[k]->max_steps = limited_by_total ? left : asker->options->max_steps;
    }
    asker->again = evaluations + n;
    if (!fit_preequilibrate(asker->problem, &asker->map, evaluations, n, ask_again, asker))
        return fit_asker_end(asker, OUTCOME_not_run, "cancelled");
    asker->used.n_evaluation += (int64_t)(n / n_experiment);
    bool is_lost = false;
    for (size_t k = 0; k < n; k++) {
        asker->used.n_step += evaluations[k]->n_step;
        is_lost = is_lost || evaluations[k]->outcome == EVALUATION_ODE_FAILED;
        if (asked == ASKED_OK)
            asked = judge_end(asker, accuracy, evaluations[k], limited_by_total);
    }
    asker->n_lost = is_lost ? asker->n_lost + LOST : asker->n_lost > 0 ? asker->n_lost - 1 : 0;
    return asked;
}

double fit_asker_rtol(const struct fit_asker *asker, double tighter)
{
    double rtol = asker->options->accuracy;
    return asker->problem->model->abi.n_state == 0 ? fmin(rtol, FIT_QUOTIENT_ROUNDING) : rtol / tighter;
}

bool fit_asker_is_same(const struct fit_asker *asker, const double *theta, const double *other)
{
    const struct fit_map *map = &asker->map;
    double *p = asker->compared, *q = p + map->n_parameter;
    for (size_t j = 0; j < map->n_free; j++) { /* most are: cheaper than their exponentials */
        bool is_inside = theta[j] > map->lower[j] && theta[j] < map->upper[j];
        if (is_inside && fabs(theta[j] - other[j]) > SURELY * fmax(1, fabs(theta[j])))
            return false;
    }
    return memcmp(theta, other, map->n_free * sizeof *theta) == 0
           || (fit_map_natural(map, theta, p) && fit_map_natural(map, other, q)
               && memcmp(p, q, map->n_parameter * sizeof *p) == 0);
}
