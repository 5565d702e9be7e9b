/* Drawing replicates. Random numbers are known by (seed, dataset, replicate, measurement), so that it does not matter who
 * draws when.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/bootstrap.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REASON = 160 };
/* Streams of other purposes must not coincide with these. */
static const uint64_t PURPOSE = 0x626f6f7473747261; /* "bootstra" */

struct draw {
    const struct fit_problem *problem;
    size_t n_row;
    double *p, *prediction, *scale; /* scale: s_i */
    double *residual;              /* n_row, observable by observable: centred and inflated */
    size_t *first;                 /* n_observable + 1: where each observable's residuals begin */
    bool is_sigma_known;
    double inflation;              /* u of the parametric form */
};

static bool draw_init(struct draw *draw, const struct fit_problem *problem, struct arena *arena)
{
    const struct stiffit_model *abi = &problem->model->abi;
    size_t n = problem->task->n_row;
    double *numbers = arena_calloc(arena, 3 * n + abi->n_parameter + 1, sizeof *numbers);
    *draw = (struct draw){.problem = problem, .n_row = n, .prediction = numbers,
                          .scale = numbers + n, .residual = numbers + 2 * n, .p = numbers + 3 * n,
                          .first = arena_calloc(arena, (size_t)abi->n_observable + 2, sizeof *draw->first)};
    return numbers && draw->first;
}

static enum outcome predict(struct draw *draw, const struct fit_options *options, const struct fit_host *host,
                            int64_t *n_evaluation, int64_t *n_step, char *reason)
{
    const struct fit_problem *problem = draw->problem;
    bool has_noise = problem->model->abi.noise != NULL;
    for (size_t i = 0; i < problem->n_parameter; i++)
        draw->p[problem->to_model[i]] = problem->start[i];
    struct evaluation evaluation = {.task = problem->task, .p = draw->p, .max_steps = options->max_steps,
                                    .deadline_ns = INT64_MAX, .prediction = draw->prediction,
                                    .noise = has_noise ? draw->scale : NULL};
    struct evaluation *asked = &evaluation;
    if (!host->ask(host->context, &asked, 1))
        return OUTCOME_not_run;
    *n_evaluation += 1;
    *n_step += evaluation.n_step;
    if (evaluation.outcome != EVALUATION_OK) {
        snprintf(reason, REASON, "no prediction at the best fit: %.120s", evaluation.reason);
        return evaluation.outcome == EVALUATION_MODEL_FAILED ? OUTCOME_model_failed : OUTCOME_ode_failed;
    }
    draw->is_sigma_known = true;
    for (size_t i = 0; i < draw->n_row; i++) {
        bool own = problem->sigma && !isnan(problem->sigma[i]);
        if (own)
            draw->scale[i] = problem->sigma[i];
        else if (!has_noise)
            draw->scale[i] = 1;
        draw->is_sigma_known = draw->is_sigma_known && (own || has_noise);
    }
    return OUTCOME_converged;
}

/* Parameters that the data have been used up for. */
static size_t count_loose(const struct fit_problem *problem)
{
    size_t n = 0;
    for (size_t i = 0; i < problem->n_parameter; i++)
        n += !(problem->fixed && problem->fixed[i]) && problem->start[i] > problem->lower[i] &&
             problem->start[i] < problem->upper[i];
    return n;
}

/* Whether the row's errors are those of logarithms. */
static bool is_log(const struct draw *draw, size_t i)
{
    return draw->problem->loss[draw->problem->task->row_observable[i]].error == ERROR_LOG_NORMAL;
}

static double residual_of(const struct draw *draw, size_t i)
{
    double value = draw->problem->value[i], prediction = draw->prediction[i];
    return (is_log(draw, i) ? log(value / prediction) : value - prediction) / draw->scale[i];
}

/* Fills residuals and inflation; false: no degrees of freedom are left to know the errors by. */
static bool gather_residuals(struct draw *draw)
{
    const uint32_t *observable = draw->problem->task->row_observable;
    uint32_t n_observable = draw->problem->model->abi.n_observable;
    size_t n = 0, n_loose = count_loose(draw->problem);
    double squares = 0, centred = 0;
    for (uint32_t o = 0; o < n_observable; o++) {
        double sum = 0;
        draw->first[o] = n;
        for (size_t i = 0; i < draw->n_row; i++)
            if (observable[i] == o) {
                double r = residual_of(draw, i);
                draw->residual[n++] = r;
                sum += r;
                squares += r * r;
            }
        for (size_t k = draw->first[o]; k < n; k++) {
            draw->residual[k] -= sum / (double)(n - draw->first[o]);
            centred += draw->residual[k] * draw->residual[k];
        }
    }
    draw->first[n_observable] = n;
    if (n <= n_loose)
        return false;
    double variance = squares / (double)(n - n_loose);
    double c = centred > 0 ? sqrt(variance * (double)n / centred) : 1;
    for (size_t k = 0; k < n; k++)
        draw->residual[k] *= c;
    draw->inflation = draw->is_sigma_known ? 1 : sqrt(variance);
    return true;
}

static double deviation(const struct draw *draw, bool is_parametric, uint64_t stream, size_t i)
{
    uint64_t seed = draw->problem->seed;
    if (is_parametric)
        return draw->inflation * random_normal(seed, stream, i);
    const size_t *first = &draw->first[draw->problem->task->row_observable[i]];
    return draw->residual[first[0] + random_below(seed, stream, i, first[1] - first[0])];
}

enum outcome fit_bootstrap_draw(const struct fit_problem *problem, const struct fit_options *options,
                                const struct fit_host *host, struct arena *arena, enum bootstrap_kind kind,
                                uint32_t replicate, double *value, int64_t *n_evaluation, int64_t *n_step, char *reason)
{
    struct draw draw;
    if (!draw_init(&draw, problem, arena)) {
        snprintf(reason, REASON, "no memory for a replicate");
        return OUTCOME_out_of_memory;
    }
    enum outcome outcome = predict(&draw, options, host, n_evaluation, n_step, reason);
    if (outcome != OUTCOME_converged)
        return outcome;
    bool is_parametric = kind == BOOTSTRAP_PARAMETRIC || (kind == BOOTSTRAP_AUTO && draw.is_sigma_known);
    if (!gather_residuals(&draw) && !(is_parametric && draw.is_sigma_known)) {
        snprintf(reason, REASON, "no degrees of freedom are left to know the measurement error by");
        return OUTCOME_bad_data;
    }
    if (draw.is_sigma_known)
        draw.inflation = 1;
    uint64_t stream = random_stream(random_stream(PURPOSE, problem->dataset), replicate);
    for (size_t i = 0; i < draw.n_row; i++) {
        double error = draw.scale[i] * deviation(&draw, is_parametric, stream, i);
        value[i] = is_log(&draw, i) ? draw.prediction[i] * exp(error) : draw.prediction[i] + error;
        if (!isfinite(value[i])) {
            snprintf(reason, REASON, "a replicate's measurement is not a finite number");
            return OUTCOME_bad_data;
        }
    }
    return OUTCOME_converged;
}
