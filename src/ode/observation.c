/* Computes predictions, noise and their derivatives from the state and its sensitivities at a measurement time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"

#include <math.h>
#include <string.h>

/* The largest error of a prediction that may come from the absolute part of the states' tolerances: relative to sigma; if that
 * is unknown, to rtol times the largest prediction so far, since all rows then have the same weight. Without measurements, each
 * observable has its own largest prediction. */
static const double ERROR_OF_SIGMA = 0.01, ERROR_OF_LARGEST = 100;

/* Total derivatives of all observables: dh/dp_j + dh/dy s_j, into ws->h_row (n_observable x n_sens). */
static int differentiate(struct workspace *ws, bool noise, double t, const double *y)
{
    size_t n = ws->n_state, n_observable = ws->abi->n_observable;
    const struct evaluation *evaluation = ws->evaluation;
    int code = derivatives_observe_parameter(&ws->model, noise, t, y, ws->h_parameter);
    if (code == STIFFIT_OK && ws->n_block && !ws->pace)
        code = derivatives_observe_state(&ws->model, noise, t, y, ws->h_state);
    if (code != STIFFIT_OK)
        return code;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        uint32_t j = evaluation->sens[k];
        double *row = ws->h_row + k * n_observable;
        bool direct = derivatives_use(ws->abi, j) & use;
        for (size_t o = 0; o < n_observable; o++)
            row[o] = direct ? ws->h_parameter[o + j * n_observable] : 0;
        if (ws->sens_block[k] < 0)
            continue;
        const double *s = y + ((size_t)ws->sens_block[k] + 1) * n;
        for (size_t i = 0; i < n; i++)
            for (size_t o = 0; o < n_observable; o++)
                row[o] += ws->h_state[o + i * n_observable] * s[i];
    }
    return STIFFIT_OK;
}

static bool has_sigma(const struct ode_task *task, size_t i) { return task->row_sigma && !isnan(task->row_sigma[i]); }

/* Sets the observables that rows first..last-1 need. For noise, rows with a sigma of their own need none. */
static void choose_wanted(struct workspace *ws, bool noise, size_t first, size_t last)
{
    const struct ode_task *task = ws->evaluation->task;
    struct derivatives *d = &ws->model;
    memset(ws->is_wanted, 0, ws->abi->n_observable * sizeof(bool));
    d->n_wanted = 0;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        if (ws->is_wanted[o] || (noise && has_sigma(task, i)))
            continue;
        ws->is_wanted[o] = true;
        d->wanted[d->n_wanted++] = o;
    }
}

/* Fills (prediction, d_prediction) or (noise, d_noise) for rows first..last-1. */
static bool fill_values(struct workspace *ws, bool noise, size_t first, size_t last, double t, const double *y, double *value)
{
    const struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    struct derivatives *d = &ws->model;
    bool good = d->n_wanted == 0 || derivatives_observe(d, noise, t, y, ws->h) == STIFFIT_OK;
    if (!good && !evaluation->lenient)
        return false;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        bool own = noise && has_sigma(task, i), computed = good || own;
        if (!computed) { /* this row alone may be computable */
            d->n_wanted = 1;
            d->wanted[0] = o;
            computed = derivatives_observe(d, noise, t, y, ws->h) == STIFFIT_OK;
        }
        value[i] = own ? task->row_sigma[i] : computed ? ws->h[o] : (double)NAN;
    }
    return true;
}

static bool fill_derivatives(struct workspace *ws, bool noise, size_t first, size_t last, double t, const double *y,
                             double *derivative)
{
    const struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    if (ws->model.n_wanted > 0 && differentiate(ws, noise, t, y) != STIFFIT_OK)
        return false;
    bool finite = true;
    for (size_t k = 0; k < evaluation->n_sens; k++)
        for (size_t i = first; i < last; i++) {
            bool own = noise && has_sigma(task, i);
            double derived = own ? 0 : ws->h_row[task->row_observable[i] + k * ws->abi->n_observable];
            derivative[i + k * task->n_row] = derived;
            finite = finite && isfinite(derived);
        }
    if (!finite)
        ws->model.failure = (struct model_failure){.where = "derivatives of the observables", .t = t,
                                                   .not_finite = true};
    return finite;
}

static bool fill(struct workspace *ws, bool noise, size_t first, size_t last, double t, const double *y, double *value,
                 double *derivative)
{
    const struct evaluation *evaluation = ws->evaluation;
    choose_wanted(ws, noise, first, last);
    if (!fill_values(ws, noise, first, last, t, y, value))
        return false;
    return !derivative || evaluation->n_sens == 0 || evaluation->adjoint ||
           fill_derivatives(ws, noise, first, last, t, y, derivative);
}

bool observation_fill(struct workspace *ws, size_t i_time, const double *y)
{
    const struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t first = ws->i_row, last = first;
    while (last < task->n_row && task->row_time[last] <= i_time)
        last++;
    ws->i_row = last;
    if (first == last)
        return true;
    double t = task->time[i_time];
    if (evaluation->noise && ws->abi->noise && !fill(ws, true, first, last, t, y, evaluation->noise, evaluation->d_noise))
        return false;
    return fill(ws, false, first, last, t, y, evaluation->prediction, evaluation->d_prediction);
}

/* The error of row i's prediction that is due to the integrator's absolute tolerances, from ws->h_state. States still close to
 * 0 at an early time, which will grow, do not count. */
static double excess_of(const struct workspace *ws, size_t i)
{
    size_t o = ws->evaluation->task->row_observable[i];
    double sum = 0;
    for (size_t j = 0; j < ws->n_state; j++)
        if (ws->sizes[j + ws->n_state] == 0)
            sum += fabs(ws->h_state[o + j * ws->abi->n_observable]) * ws->tolerance_beyond[j];
    return sum;
}

bool observation_asks_relative(struct workspace *ws, size_t i_time, const double *y)
{
    const struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t last = ws->i_row, first = last;
    while (first > 0 && task->row_time[first - 1] >= i_time)
        first--;
    if (first == last)
        return false;
    choose_wanted(ws, false, first, last);
    ws->model.is_relative = true;
    bool known = derivatives_observe_state(&ws->model, false, task->time[i_time], y, ws->h_state) == STIFFIT_OK;
    ws->model.is_relative = false;
    for (size_t i = first; i < last; i++) {
        double *largest = &ws->h_largest[task->row_sigma ? 0 : task->row_observable[i]];
        double sigma = evaluation->noise && ws->abi->noise ? evaluation->noise[i] : task->row_sigma ? task->row_sigma[i] : NAN;
        *largest = fmax(*largest, fabs(evaluation->prediction[i]));
        if (task->row_is_log && task->row_is_log[i])
            sigma *= fabs(evaluation->prediction[i]);
        double allowed = isnan(sigma) ? ERROR_OF_LARGEST * ws->rtol * *largest
                                      : fmax(ERROR_OF_SIGMA, 10 * ERROR_OF_LARGEST * ws->rtol) * sigma;
        if (isnan(evaluation->prediction[i]) || (known && excess_of(ws, i) > allowed))
            return true;
    }
    return false;
}

/* Adds the same rows' share of the gradient. */
static bool weigh(struct workspace *ws, bool noise, size_t first, size_t last, double t, const double *y,
                  const double *weights, double *by_state, double *gradient)
{
    const struct evaluation *evaluation = ws->evaluation;
    size_t n = ws->n_state, n_observable = ws->abi->n_observable;
    double *weight = ws->h; /* by observable */
    bool any = false;
    memset(weight, 0, n_observable * sizeof(double));
    for (size_t i = first; i < last; i++) {
        if (noise && has_sigma(evaluation->task, i))
            continue;
        weight[evaluation->task->row_observable[i]] += weights[i];
        any = any || weights[i] != 0;
    }
    if (!any)
        return true;
    choose_wanted(ws, noise, first, last);
    const struct derivatives *d = &ws->model;
    if (derivatives_observe_parameter(&ws->model, noise, t, y, ws->h_parameter) != STIFFIT_OK ||
        (ws->tape && derivatives_observe_state(&ws->model, noise, t, y, ws->h_state) != STIFFIT_OK))
        return false;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        size_t j = evaluation->sens[k];
        for (size_t w = 0; derivatives_use(ws->abi, j) & use && w < d->n_wanted; w++)
            gradient[k] += weight[d->wanted[w]] * ws->h_parameter[d->wanted[w] + j * n_observable];
    }
    for (size_t i = 0; ws->tape && i < n; i++)
        for (size_t w = 0; w < d->n_wanted; w++)
            by_state[i] += weight[d->wanted[w]] * ws->h_state[d->wanted[w] + i * n_observable];
    return true;
}

bool observation_weigh(struct workspace *ws, size_t i_time, const double *y, double *by_state, double *gradient)
{
    const struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t last = ws->i_row, first = last;
    while (first > 0 && task->row_time[first - 1] >= i_time)
        first--;
    ws->i_row = first;
    if (first == last || evaluation->n_sens == 0)
        return true;
    double t = task->time[i_time];
    return weigh(ws, false, first, last, t, y, evaluation->adjoint->by_prediction, by_state, gradient) &&
           (!evaluation->noise || !ws->abi->noise ||
            weigh(ws, true, first, last, t, y, evaluation->adjoint->by_noise, by_state, gradient));
}
