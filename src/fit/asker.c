/* The only place of a fit that talks to its host.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/asker.h"

#include "fit/quotient.h"
#include "fit/stopping.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A deadline may pass while a suspended evaluation waits for its next turn, though this fit has computed for less than
 * it may. It is asked again then, at most so often. */
enum { MAX_RETRY = 100 };

bool fit_point_init(struct fit_point *point, const struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    size_t n_noise = asker->objective.has_noise ? n_row : 0;
    bool has_matrix = n && asker->gradient != GRADIENT_adjoint;
    size_t count = 3 * n + asker->map.n_model + 3 * n_row + n_noise;
    double *numbers = arena_calloc(arena, count, sizeof *numbers);
    double *d_numbers = has_matrix ? arena_calloc(arena, n_row + n_noise, n * sizeof *d_numbers) : NULL;
    if (!numbers || (has_matrix && !d_numbers))
        return false;
    point->theta = numbers;
    point->gradient = numbers + n;
    point->chain = numbers + 2 * n;
    point->p = numbers + 3 * n;
    point->prediction = point->p + asker->map.n_model;
    point->weight = point->prediction + n_row;
    point->residual = point->weight + n_row;
    point->noise = n_noise ? point->residual + n_row : NULL;
    point->d_prediction = d_numbers;
    point->d_noise = has_matrix && n_noise ? d_numbers + n * n_row : NULL;
    point->f = NAN;
    return true;
}

struct fit_answer fit_point_answer(const struct fit_asker *asker, const struct fit_point *point)
{
    return (struct fit_answer){.n = asker->map.n_free, .prediction = point->prediction, .d_prediction = point->d_prediction,
                               .noise = point->noise, .d_noise = point->d_noise, .chain = point->chain,
                               .weight = point->weight, .residual = point->residual, .theta = point->theta, .p = point->p};
}

double fit_point_mean_square(const struct fit_asker *asker, const struct fit_point *point)
{
    size_t n_row = asker->objective.n_row;
    double sum = 0;
    for (size_t i = 0; i < n_row; i++)
        sum += point->residual[i] * point->residual[i];
    return n_row > 0 ? sum / (double)n_row : 0;
}

double fit_point_variance(const struct fit_asker *asker, const struct fit_point *point)
{
    return asker->is_sigma_known ? 1 : fit_point_mean_square(asker, point);
}

double fit_point_size(const struct fit_asker *asker, const struct fit_point *point)
{
    double sum = 0;
    for (size_t i = 0; i < asker->objective.n_row; i++) {
        double weighted = point->prediction[i] * point->weight[i];
        sum += weighted * weighted;
    }
    return sqrt(sum);
}

static enum asked end_fit(struct fit_asker *asker, enum outcome outcome, const char *reason)
{
    asker->outcome = outcome;
    if (reason != asker->reason)
        snprintf(asker->reason, sizeof asker->reason, "%s", reason);
    return ASKED_END;
}

static enum asked fail_trial(struct fit_asker *asker, enum outcome failure, const char *reason)
{
    asker->failure = failure;
    snprintf(asker->reason, sizeof asker->reason, "%s", reason);
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

/* Everything that can end the fit before the next evaluation is asked for. */
static bool has_budget(struct fit_asker *asker, size_t n)
{
    const struct fit_options *options = asker->options;
    char reason[160];
    if (options->max_evaluations - asker->n_evaluation < (int64_t)n) {
        snprintf(reason, sizeof reason, "all %" PRId64 " evaluations are used up%s", options->max_evaluations,
                 n > 1 ? ": difference quotients take two for each parameter (--max-evaluations)" : "");
        end_fit(asker, OUTCOME_budget, reason);
        return false;
    }
    if (asker->n_step >= options->max_total_steps) {
        snprintf(reason, sizeof reason, "all %" PRId64 " integrator steps are used up", options->max_total_steps);
        end_fit(asker, OUTCOME_budget, reason);
        return false;
    }
    if (!(seconds_left(asker) > 0)) {
        snprintf(reason, sizeof reason, "all %g s of computing are used up", options->max_seconds);
        end_fit(asker, OUTCOME_timeout, reason);
        return false;
    }
    return true;
}

/* For adjoints: how the objective depends on each prediction. Called by the engine when it has them all. */
static bool weigh(void *context, const struct evaluation *evaluation)
{
    struct fit_asker *asker = context;
    struct fit_answer answer = fit_point_answer(asker, asker->asked);
    (void)evaluation;
    if (!isfinite(fit_objective_value(&asker->objective, &answer)))
        return false;
    fit_objective_slopes(&asker->objective, &answer, asker->by_prediction, asker->by_noise);
    return true;
}

static void fill_request(struct fit_asker *asker, struct fit_point *point, bool with_derivatives)
{
    struct evaluation *evaluation = &asker->evaluation;
    bool with_sens = with_derivatives && asker->gradient != GRADIENT_differences;
    memset(evaluation, 0, sizeof *evaluation);
    if (with_derivatives && asker->gradient == GRADIENT_adjoint) {
        asker->asked = point;
        asker->adjoint = (struct evaluation_adjoint){.weigh = weigh, .context = asker, .gradient = point->gradient,
                                                     .by_prediction = asker->by_prediction, .by_noise = asker->by_noise};
        evaluation->adjoint = &asker->adjoint;
    }
    evaluation->task = asker->problem->task;
    evaluation->p = point->p;
    evaluation->n_sens = with_sens ? asker->map.n_free : 0;
    evaluation->sens = asker->map.model_index;
    evaluation->prediction = point->prediction;
    evaluation->d_prediction = point->d_prediction;
    evaluation->noise = point->noise;
    evaluation->d_noise = point->d_noise;
}

/* Which failures of a finished evaluation end the fit. */
static enum asked judge_end(struct fit_asker *asker, const struct evaluation *evaluation, bool limited_by_total)
{
    switch (evaluation->outcome) {
    case EVALUATION_NO_MEMORY:
        return end_fit(asker, OUTCOME_out_of_memory, evaluation->reason[0] ? evaluation->reason : "out of memory");
    case EVALUATION_TIMEOUT:
        return end_fit(asker, OUTCOME_timeout, "the time of this fit is used up within an evaluation");
    case EVALUATION_BUDGET:
        if (limited_by_total)
            return end_fit(asker, OUTCOME_budget, "the integrator steps of this fit are used up within an evaluation");
        return ASKED_OK;
    default:
        return ASKED_OK;
    }
}

enum asked fit_asker_fail(struct fit_asker *asker, const struct evaluation *evaluation)
{
    if (evaluation->outcome == EVALUATION_BUDGET)
        return fail_trial(asker, OUTCOME_ode_failed,
                          evaluation->reason[0] ? evaluation->reason : "one evaluation's integrator steps are used up");
    return fail_trial(asker, evaluation->outcome == EVALUATION_MODEL_FAILED ? OUTCOME_model_failed : OUTCOME_ode_failed,
                      evaluation->reason);
}

/* Asks for the first n of the list, and again for those that ran out of time though the fit has some left. */
static bool ask_again(struct fit_asker *asker, struct evaluation **evaluations, size_t n)
{
    for (int retry = 0; n > 0; retry++) {
        for (size_t k = 0; k < n; k++)
            evaluations[k]->deadline_ns = deadline_after(seconds_left(asker));
        if (!asker->host->ask(asker->host->context, evaluations, n))
            return false;
        if (retry == MAX_RETRY || !(seconds_left(asker) > 0))
            break;
        size_t n_again = 0; /* not counted: how often this happens depends on what else runs */
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
    if (!has_budget(asker, n))
        return ASKED_END;
    int64_t left = (asker->options->max_total_steps - asker->n_step) / (int64_t)(n ? n : 1);
    bool limited_by_total = left <= asker->options->max_steps;
    double tighter = asker->tighter;
    if (asker->gradient == GRADIENT_differences)
        tighter *= fit_quotient_tighter(asker);
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->tighter = tighter;
        evaluations[k]->max_steps = limited_by_total ? left : asker->options->max_steps;
    }
    if (!ask_again(asker, evaluations, n))
        return end_fit(asker, OUTCOME_not_run, "cancelled");
    enum asked asked = ASKED_OK;
    for (size_t k = 0; k < n; k++) {
        asker->n_evaluation++;
        asker->n_step += evaluations[k]->n_step;
        if (asked == ASKED_OK)
            asked = judge_end(asker, evaluations[k], limited_by_total);
    }
    return asked;
}

/* The objective is in these (fit/unit.h). */
static double unit_of(const struct fit_asker *asker) { return asker->problem->unit > 0 ? asker->problem->unit : 1; }

/* Of an objective that is not finite: the earliest prediction that log-normal errors do not allow, if there is one. */
static enum asked fail_objective(struct fit_asker *asker, const struct fit_answer *answer)
{
    const struct ode_task *task = asker->problem->task;
    for (size_t i = 0; i < asker->objective.n_row; i++) {
        double prediction = answer->prediction[i];
        if (!fit_objective_loss(&asker->objective, i)->is_log || prediction > 0)
            continue;
        char reason[sizeof asker->reason];
        const char *name = asker->problem->model->abi.observable_name[task->row_observable[i]];
        snprintf(reason, sizeof reason, "the prediction of %.60s at t = %.6g is %.6g; with its log-normal errors it must be "
                 "> 0", name, task->time[task->row_time[i]], prediction);
        return fail_trial(asker, OUTCOME_model_failed, reason);
    }
    return fail_trial(asker, OUTCOME_model_failed, "the objective is not a finite number");
}

/* Objective and gradient; a number that is not finite makes it a failed trial. */
static enum asked judge_answer(struct fit_asker *asker, struct fit_point *point, bool with_derivatives)
{
    if (with_derivatives)
        fit_map_chain(&asker->map, point->p, point->chain);
    struct fit_answer answer = fit_point_answer(asker, point);
    point->f = fit_objective_value(&asker->objective, &answer);
    if (asker->host->judged)
        asker->host->judged(asker->host->context, point->f * unit_of(asker), NAN);
    if (!isfinite(point->f))
        return fail_objective(asker, &answer);
    if (isnan(asker->start_f)) {
        asker->start_f = point->f;
        asker->start_tighter = asker->tighter;
    }
    if (!with_derivatives)
        return ASKED_OK;
    if (asker->gradient == GRADIENT_differences) {
        enum asked asked = fit_quotient_fill(asker->quotient, asker, point);
        if (asked != ASKED_OK)
            return asked;
    }
    if (asker->gradient == GRADIENT_adjoint) {
        for (size_t j = 0; j < asker->map.n_free; j++)
            point->gradient[j] *= point->chain[j];
        fit_objective_add_priors(&asker->objective, &answer, point->gradient);
    } else {
        fit_objective_gradient(&asker->objective, &answer, point->gradient);
    }
    for (size_t j = 0; j < asker->map.n_free; j++)
        if (!isfinite(point->gradient[j]))
            return fail_trial(asker, OUTCOME_model_failed, "the gradient of the objective is not finite");
    if (asker->host->judged)
        asker->host->judged(asker->host->context, NAN, stopping_gradient_norm(asker, point) * unit_of(asker));
    return ASKED_OK;
}

enum asked fit_ask(struct fit_asker *asker, struct fit_point *point, bool with_derivatives)
{
    if (!fit_map_natural(&asker->map, point->theta, point->p))
        return fail_trial(asker, OUTCOME_model_failed, "a parameter left the range of floating-point numbers");
    struct evaluation *evaluation = &asker->evaluation;
    fill_request(asker, point, with_derivatives);
    if (fit_ask_all(asker, &(struct evaluation *){evaluation}, 1) == ASKED_END)
        return ASKED_END;
    if (evaluation->outcome != EVALUATION_OK)
        return fit_asker_fail(asker, evaluation);
    asker->meets_jump = evaluation->crosses && evaluation->n_sens > 0;
    if (asker->meets_jump)
        return end_fit(asker, OUTCOME_stalled, "the right-hand side jumps on the way: sensitivities lack that");
    return judge_answer(asker, point, with_derivatives);
}

double fit_asker_rtol(const struct fit_asker *asker)
{
    double rtol = asker->options->accuracy;
    return asker->problem->model->abi.n_state == 0 ? fmin(rtol, FIT_QUOTIENT_ROUNDING) : rtol / asker->tighter;
}

double fit_asker_accuracy(const struct fit_asker *asker)
{
    return asker->gradient == GRADIENT_differences && asker->problem->model->abi.n_state > 0 ? fit_quotient_accuracy(asker)
                                                                                            : fit_asker_rtol(asker);
}

bool fit_asker_is_same(const struct fit_asker *asker, const double *theta, const double *other)
{
    const struct fit_map *map = &asker->map;
    double *p = asker->compared, *q = p + map->n_model;
    return memcmp(theta, other, map->n_free * sizeof *theta) == 0
           || (fit_map_natural(map, theta, p) && fit_map_natural(map, other, q)
               && memcmp(p, q, map->n_model * sizeof *p) == 0);
}
