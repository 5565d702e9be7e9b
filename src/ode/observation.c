/* From the state and its sensitivities at a measurement time to predictions, noise and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/workspace.h"

#include <math.h>
#include <string.h>

/* Total derivatives of all observables: dh/dp_j + dh/dy s_j, into ws->h_row (n_observable x n_sens). */
static int differentiate(struct workspace *ws, bool noise, double t, const double *y)
{
    size_t n = ws->n_state, n_observable = ws->abi->n_observable;
    const struct evaluation *evaluation = ws->evaluation;
    int code = derivatives_observe_parameter(&ws->model, noise, t, y, ws->h_parameter);
    if (code == STIFFIT_OK && ws->n_block)
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

/* One of the two pairs of answers, (prediction, d_prediction) or (noise, d_noise), for rows first..last-1. */
static bool fill(struct workspace *ws, bool noise, size_t first, size_t last, double t, const double *y, double *value,
                 double *derivative)
{
    const struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t n_observable = ws->abi->n_observable;
    if (derivatives_observe(&ws->model, noise, t, y, ws->h) != STIFFIT_OK)
        return false;
    for (size_t i = first; i < last; i++)
        value[i] = ws->h[task->row_observable[i]];
    if (!derivative || evaluation->n_sens == 0 || evaluation->adjoint)
        return true;
    if (differentiate(ws, noise, t, y) != STIFFIT_OK)
        return false;
    bool finite = true;
    for (size_t k = 0; k < evaluation->n_sens; k++)
        for (size_t i = first; i < last; i++) {
            double d = ws->h_row[task->row_observable[i] + k * n_observable];
            derivative[i + k * task->n_row] = d;
            finite = finite && isfinite(d);
        }
    if (!finite)
        ws->model.failure = (struct model_failure){.where = "derivatives of the observables", .t = t,
                                                   .not_finite = true};
    return finite;
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
    if (!fill(ws, false, first, last, t, y, evaluation->prediction, evaluation->d_prediction))
        return false;
    return !evaluation->noise || !ws->abi->noise ||
           fill(ws, true, first, last, t, y, evaluation->noise, evaluation->d_noise);
}

/* The same pair's share of the gradient. */
static bool weigh(struct workspace *ws, bool noise, size_t first, size_t last, double t, const double *y,
                  const double *weights, double *by_state, double *gradient)
{
    const struct evaluation *evaluation = ws->evaluation;
    size_t n = ws->n_state, n_observable = ws->abi->n_observable;
    double *weight = ws->h; /* by observable */
    bool any = false;
    memset(weight, 0, n_observable * sizeof(double));
    for (size_t i = first; i < last; i++) {
        weight[evaluation->task->row_observable[i]] += weights[i];
        any = any || weights[i] != 0;
    }
    if (!any)
        return true;
    if (derivatives_observe_parameter(&ws->model, noise, t, y, ws->h_parameter) != STIFFIT_OK ||
        (ws->tape && derivatives_observe_state(&ws->model, noise, t, y, ws->h_state) != STIFFIT_OK))
        return false;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        size_t j = evaluation->sens[k];
        for (size_t o = 0; derivatives_use(ws->abi, j) & use && o < n_observable; o++)
            gradient[k] += weight[o] * ws->h_parameter[o + j * n_observable];
    }
    for (size_t i = 0; ws->tape && i < n; i++)
        for (size_t o = 0; o < n_observable; o++)
            by_state[i] += weight[o] * ws->h_state[o + i * n_observable];
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
