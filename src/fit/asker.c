/* The only place of a fit that talks to its host.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/asker.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The deadline may pass while a suspended evaluation waits for its next turn, although the fit has used less computing time
 * than it is allowed. The evaluation is then repeated, at most this often. */
enum { MAX_RETRY = 100 };

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
static enum asked check_budgets(struct fit_asker *asker, size_t n)
{
    const struct fit_options *options = asker->options;
    if (options->max_evaluations - asker->n_evaluation < (int64_t)n)
        return fit_asker_end(asker, OUTCOME_budget, "all %" PRId64 " evaluations are used up%s", options->max_evaluations,
                             n > 1 ? ": difference quotients take two for each parameter (--max-evaluations)" : "");
    if (asker->n_step >= options->max_total_steps)
        return fit_asker_end(asker, OUTCOME_budget, "all %" PRId64 " integrator steps are used up", options->max_total_steps);
    if (!(seconds_left(asker) > 0))
        return fit_asker_end(asker, OUTCOME_timeout, "all %g s of computing are used up", options->max_seconds);
    return ASKED_OK;
}

/* Decides whether a finished evaluation's failure ends the fit. */
static enum asked judge_end(struct fit_asker *asker, const struct evaluation *evaluation, bool limited_by_total)
{
    if (evaluation->outcome == EVALUATION_NO_MEMORY)
        return fit_asker_end(asker, OUTCOME_out_of_memory, "%s", evaluation->reason[0] ? evaluation->reason : "out of memory");
    if (evaluation->outcome == EVALUATION_TIMEOUT)
        return fit_asker_end(asker, OUTCOME_timeout, "the time of this fit is used up within an evaluation");
    if (evaluation->outcome == EVALUATION_BUDGET && limited_by_total)
        return fit_asker_end(asker, OUTCOME_budget, "the integrator steps of this fit are used up within an evaluation");
    asker->leaves_lanes = evaluation->outcome == EVALUATION_ODE_FAILED && evaluation->engine == ENGINE_LANES;
    if (asker->leaves_lanes)
        return fit_asker_end(asker, OUTCOME_stalled, "%s", evaluation->reason);
    return ASKED_OK;
}

enum asked fit_asker_fail(struct fit_asker *asker, const struct evaluation *evaluation)
{
    bool is_budget = evaluation->outcome == EVALUATION_BUDGET && !evaluation->reason[0];
    bool is_model = evaluation->outcome == EVALUATION_MODEL_FAILED;
    return fit_asker_miss(asker, is_model ? OUTCOME_model_failed : OUTCOME_ode_failed, "%s",
                          is_budget ? "one evaluation's integrator steps are used up" : evaluation->reason);
}

/* Asks for the first n of the list, and again for those that timed out while the fit has time left. */
static bool ask_again(struct fit_asker *asker, struct evaluation **evaluations, size_t n)
{
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

enum asked fit_ask_all(struct fit_asker *asker, struct evaluation **evaluations, size_t n)
{
    enum asked asked = check_budgets(asker, n);
    if (asked != ASKED_OK)
        return asked;
    int64_t left = (asker->options->max_total_steps - asker->n_step) / (int64_t)(n ? n : 1);
    bool limited_by_total = left <= asker->options->max_steps;
    double tighter = asker->tighter;
    if (asker->gradient == GRADIENT_differences && asker->problem->model->abi.n_state > 0)
        tighter *= FIT_QUOTIENT_TIGHTER;
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->engine = asker->engine;
        evaluations[k]->tighter = tighter;
        evaluations[k]->max_steps = limited_by_total ? left : asker->options->max_steps;
    }
    if (!ask_again(asker, evaluations, n))
        return fit_asker_end(asker, OUTCOME_not_run, "cancelled");
    for (size_t k = 0; k < n; k++) {
        asker->n_evaluation++;
        asker->n_step += evaluations[k]->n_step;
        if (asked == ASKED_OK)
            asked = judge_end(asker, evaluations[k], limited_by_total);
    }
    return asked;
}

double fit_asker_rtol(const struct fit_asker *asker)
{
    double rtol = asker->options->accuracy;
    return asker->problem->model->abi.n_state == 0 ? fmin(rtol, FIT_QUOTIENT_ROUNDING) : rtol / asker->tighter;
}

bool fit_asker_is_same(const struct fit_asker *asker, const double *theta, const double *other)
{
    const struct fit_map *map = &asker->map;
    double *p = asker->compared, *q = p + map->n_model;
    for (size_t j = 0; j < map->n_free; j++) { /* most are: cheaper than their exponentials */
        bool is_inside = theta[j] > map->lower[j] && theta[j] < map->upper[j];
        if (is_inside && fabs(theta[j] - other[j]) > SURELY * fmax(1, fabs(theta[j])))
            return false;
    }
    return memcmp(theta, other, map->n_free * sizeof *theta) == 0
           || (fit_map_natural(map, theta, p) && fit_map_natural(map, other, q)
               && memcmp(p, q, map->n_model * sizeof *p) == 0);
}
