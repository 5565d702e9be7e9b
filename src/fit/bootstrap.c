/* Draws replicates. Random numbers depend only on (seed, stream, measurement), so the order of drawing does not matter.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/bootstrap.h"

#include "base/random.h"
#include "fit/loss.h"

#include <math.h>
#include <stdio.h>

enum { REASON = 160 };
/* Keeps these streams apart from those of other purposes. */
static const uint64_t PURPOSE = 0x626f6f7473747261; /* "bootstra" */

size_t fit_bootstrap_count_loose(size_t n_parameter, const double *best, const double *lower, const double *upper,
                                 const uint8_t *fixed)
{
    size_t n = 0;
    for (size_t i = 0; i < n_parameter; i++)
        n += !(fixed && fixed[i]) && best[i] > lower[i] && best[i] < upper[i];
    return n;
}

static double residual_of(const struct fit_bootstrap *bootstrap, size_t i)
{
    double value = bootstrap->measured.value[i], prediction = bootstrap->prediction[i];
    bool is_log = bootstrap->loss[bootstrap->measured.observable[i]].is_log;
    return (is_log ? log(value / prediction) : value - prediction) / bootstrap->scale[i];
}

bool fit_bootstrap_begin(struct fit_bootstrap *bootstrap, char *reason)
{
    size_t n = 0, *first = bootstrap->first;
    double squares = 0, distance = 0, centred = 0, *residual = bootstrap->residual;
    for (size_t o = 0; o < bootstrap->n_observable; o++) {
        double sum = 0;
        first[o] = n;
        for (size_t i = 0; i < bootstrap->n_row; i++) {
            if (bootstrap->measured.observable[i] != o || isnan(bootstrap->measured.value[i]))
                continue;
            double r = residual[n++] = residual_of(bootstrap, i);
            sum += r;
            squares += r * r;
            distance += fabs(r);
        }
        for (size_t k = first[o]; k < n; k++) {
            residual[k] -= sum / (double)(n - first[o]);
            centred += residual[k] * residual[k];
        }
    }
    first[bootstrap->n_observable] = n;
    bool is_known = bootstrap->is_sigma_known;
    bootstrap->is_parametric = bootstrap->kind == BOOTSTRAP_PARAMETRIC || (bootstrap->kind == BOOTSTRAP_AUTO && is_known);
    bootstrap->inflation = 1;
    if (bootstrap->is_parametric && is_known)
        return true;
    if (n <= bootstrap->n_loose) {
        snprintf(reason, REASON, "no degrees of freedom are left to estimate the measurement error from");
        return false;
    }
    double n_left = (double)(n - bootstrap->n_loose), c = centred > 0 ? sqrt(squares / n_left * (double)n / centred) : 1;
    for (size_t k = 0; k < n; k++)
        residual[k] *= c;
    bool is_linear = bootstrap->loss[bootstrap->measured.observable[0]].has_kink; /* without sigmas losses do not mix */
    if (!is_known)
        bootstrap->inflation = is_linear ? distance / n_left : sqrt(squares / n_left);
    return true;
}

bool fit_bootstrap_draw(const struct fit_bootstrap *bootstrap, uint64_t seed, uint64_t stream, double *value)
{
    bool is_finite = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        const struct fit_loss *loss = &bootstrap->loss[bootstrap->measured.observable[i]];
        const size_t *first = &bootstrap->first[bootstrap->measured.observable[i]];
        value[i] = bootstrap->measured.value[i];
        if (isnan(value[i]))
            continue;
        double deviation = bootstrap->is_parametric
                               ? bootstrap->inflation * fit_loss_draw(loss, seed, stream, i)
                               : bootstrap->residual[first[0] + random_below(seed, stream, i, first[1] - first[0])];
        double error = bootstrap->scale[i] * deviation, prediction = bootstrap->prediction[i];
        value[i] = loss->is_log ? prediction * exp(error) : prediction + error;
        is_finite = is_finite && isfinite(value[i]);
    }
    return is_finite;
}

/* Stores the predictions at the best fit, and s_i in `scale`. */
static enum outcome predict(struct fit_bootstrap *bootstrap, const struct fit_problem *problem,
                            const struct fit_options *options, const struct fit_host *host, double *p, double *prediction,
                            double *scale, int64_t *n_evaluation, int64_t *n_step, char *reason)
{
    bool has_noise = problem->model->abi.noise != NULL;
    for (size_t i = 0; i < problem->n_parameter; i++)
        p[problem->to_model[i]] = problem->start[i];
    struct evaluation evaluation = {.task = problem->task, .p = p, .engine = options->engine,
                                    .max_steps = options->max_steps, .deadline_ns = INT64_MAX, .prediction = prediction,
                                    .noise = has_noise ? scale : NULL};
    struct evaluation *asked = &evaluation;
    for (bool again = true; again; evaluation.engine = ENGINE_CVODES) {
        if (!host->ask(host->context, &asked, 1))
            return OUTCOME_not_run;
        *n_evaluation += 1;
        *n_step += evaluation.n_step;
        again = evaluation.engine == ENGINE_LANES && evaluation.outcome == EVALUATION_ODE_FAILED;
    }
    if (evaluation.outcome != EVALUATION_OK) {
        snprintf(reason, REASON, "no prediction at the best fit: %.120s", evaluation.reason);
        return evaluation.outcome == EVALUATION_MODEL_FAILED ? OUTCOME_model_failed : OUTCOME_ode_failed;
    }
    bootstrap->is_sigma_known = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        bool own = problem->measured.sigma && !isnan(problem->measured.sigma[i]);
        if (own)
            scale[i] = problem->measured.sigma[i];
        else if (!has_noise)
            scale[i] = 1;
        bootstrap->is_sigma_known = bootstrap->is_sigma_known && (own || has_noise);
    }
    return OUTCOME_converged;
}

enum outcome fit_bootstrap_replicate(const struct fit_problem *problem, const struct fit_options *options,
                                     const struct fit_host *host, struct arena *arena, enum bootstrap_kind kind,
                                     uint32_t replicate, double *value, int64_t *n_evaluation, int64_t *n_step, char *reason)
{
    const struct stiffit_model *abi = &problem->model->abi;
    size_t n = problem->task->n_row;
    double *numbers = arena_calloc(arena, 3 * n + abi->n_parameter + 1, sizeof *numbers);
    size_t *first = arena_calloc(arena, (size_t)abi->n_observable + 2, sizeof *first);
    if (!numbers || !first) {
        snprintf(reason, REASON, "no memory for a replicate");
        return OUTCOME_out_of_memory;
    }
    struct fit_bootstrap bootstrap = {
        .n_row = n, .n_observable = abi->n_observable, .measured = problem->measured, .prediction = numbers,
        .scale = numbers + n, .residual = numbers + 2 * n, .first = first, .kind = kind,
        .loss = problem->loss,
        .n_loose = fit_bootstrap_count_loose(problem->n_parameter, problem->start, problem->lower, problem->upper,
                                             problem->fixed)};
    enum outcome outcome = predict(&bootstrap, problem, options, host, numbers + 3 * n, numbers, numbers + n, n_evaluation,
                                   n_step, reason);
    if (outcome != OUTCOME_converged)
        return outcome;
    if (!fit_bootstrap_begin(&bootstrap, reason))
        return OUTCOME_bad_data;
    uint64_t stream = random_stream(random_stream(PURPOSE, problem->dataset), replicate);
    if (fit_bootstrap_draw(&bootstrap, problem->seed, stream, value))
        return OUTCOME_converged;
    snprintf(reason, REASON, "a replicate's measurement is not a finite number");
    return OUTCOME_bad_data;
}
