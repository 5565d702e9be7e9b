/* Computes predictions, noise and their derivatives from the state and its sensitivities at a measurement time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"

#include <math.h>
#include <string.h>

/* The largest error of a prediction that may come from the absolute part of the states' tolerances: relative to sigma; if that
 * is unknown, to rtol times the largest prediction so far, since all rows then have the same weight. Without measurements, each
 * observable has its own largest prediction. */
static const double ERROR_OF_SIGMA = 0.01, ERROR_OF_LARGEST = 100;

/* The derivatives of the wanted observables by state. */
static int differentiate_by_state(struct observer *ob, bool noise, double t, const double *y)
{
    const struct derivatives *d = &ob->model;
    int code = derivatives_by_state(&ob->model, noise ? MODEL_NOISE : MODEL_OBSERVE, t, y, ob->h_state);
    const double *column = ob->h_state;
    ob->n_term = 0;
    for (size_t i = 0; code == STIFFIT_OK && i < ob->n_state; i++, column += ob->abi->n_observable)
        for (size_t w = 0; w < d->n_wanted; w++)
            if (column[d->wanted[w]] != 0)
                ob->term[ob->n_term++] = (struct observer_term){d->wanted[w], (uint32_t)i, column[d->wanted[w]]};
    return code;
}

/* At +infinity the time at which the steady state was found. */
static double time_of(const struct observer *ob, size_t i_time)
{
    double t = ob->evaluation->task->time[i_time];
    return t == INFINITY ? ob->t : t;
}

/* The derivatives of the wanted observables by parameter, if any of these is in use directly, and by state. */
static int differentiate(struct observer *ob, bool noise, double t, const double *y, bool *is_direct)
{
    const struct evaluation *evaluation = ob->evaluation;
    bool by_state = ob->n_block && !ob->pace;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE, used = 0;
    for (size_t k = 0; k < evaluation->n_sens; k++)
        used |= derivatives_use(ob->abi, ob->sens[k]) & use;
    *is_direct = used;
    enum point_function which = noise ? MODEL_NOISE : MODEL_OBSERVE;
    int code = used ? derivatives_by_parameter(&ob->model, which, t, y, ob->h_parameter) : STIFFIT_OK;
    if (code == STIFFIT_OK && by_state)
        code = differentiate_by_state(ob, noise, t, y);
    ob->has_terms = code == STIFFIT_OK && by_state && !noise && ob->abi->observe_state;
    return code;
}

/* Total derivatives of all observables: dh/dp_j + dh/dy s_j, into ob->h_row (n_observable x n_sens). */
static void add_up(struct observer *ob, bool noise, const double *y)
{
    size_t n = ob->n_state, n_observable = ob->abi->n_observable;
    const struct evaluation *evaluation = ob->evaluation;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        uint32_t j = ob->sens[k];
        double *row = ob->h_row + k * n_observable;
        bool direct = derivatives_use(ob->abi, j) & use;
        for (size_t o = 0; o < n_observable; o++)
            row[o] = direct ? ob->h_parameter[o + j * n_observable] : 0;
        if (ob->sens_block[k] < 0)
            continue;
        const double *s = y + ((size_t)ob->sens_block[k] + 1) * n;
        for (const struct observer_term *term = ob->term; term < ob->term + ob->n_term; term++)
            row[term->observable] += term->value * s[term->state];
    }
}

/* The same for the most frequent case, and faster: each of n_row rows has an observable of its own, which depends on one state
 * and on no parameter directly. False: it is another case. */
static bool add_up_single(struct observer *ob, size_t n_row, const double *y, double *derivative, size_t stride, bool *finite)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct observer_term *term = ob->term;
    bool single = ob->has_terms && !evaluation->column && ob->n_term == n_row && ob->model.n_wanted == n_row;
    for (size_t i = 0; single && i < n_row; i++)
        single = term[i].observable == ob->model.wanted[i];
    for (size_t k = 0; single && k < evaluation->n_sens; k++)
        single = ob->sens_block[k] >= 0;
    double odd = 0;
    for (size_t k = 0; single && k < evaluation->n_sens; k++, derivative += stride) {
        const double *s = y + ((size_t)ob->sens_block[k] + 1) * ob->n_state;
        for (size_t i = 0; i < n_row; i++) {
            double derived = 0 + term[i].value * s[term[i].state];
            derivative[i] = derived;
            odd += 0 * derived; /* NaN if it is not finite */
        }
    }
    *finite = odd == 0;
    return single;
}

static bool has_sigma(const struct ode_task *task, size_t i) { return task->row_sigma && !isnan(task->row_sigma[i]); }

/* Sets the observables that rows first..last-1 need. For noise, rows with a sigma of their own need none. */
static void choose_wanted(struct observer *ob, bool noise, size_t first, size_t last)
{
    const struct ode_task *task = ob->evaluation->task;
    struct derivatives *d = &ob->model;
    memset(ob->is_wanted, 0, ob->abi->n_observable * sizeof(bool));
    d->n_wanted = 0;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        if (ob->is_wanted[o] || (noise && has_sigma(task, i)))
            continue;
        ob->is_wanted[o] = true;
        d->wanted[d->n_wanted++] = o;
    }
}

/* Fills (prediction, d_prediction) or (noise, d_noise) for rows first..last-1. */
static bool fill_values(struct observer *ob, bool noise, size_t first, size_t last, double t, const double *y, double *value)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    struct derivatives *d = &ob->model;
    enum point_function which = noise ? MODEL_NOISE : MODEL_OBSERVE;
    bool good = d->n_wanted == 0 || derivatives_value(d, which, t, y, ob->h) == STIFFIT_OK;
    if (!good && !evaluation->lenient)
        return false;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        bool own = noise && has_sigma(task, i), computed = good || own;
        if (!computed) { /* this row alone may be computable */
            d->n_wanted = 1;
            d->wanted[0] = o;
            computed = derivatives_value(d, which, t, y, ob->h) == STIFFIT_OK;
        }
        value[i] = own ? task->row_sigma[i] : computed ? ob->h[o] : (double)NAN;
    }
    return true;
}

static bool fill_derivatives(struct observer *ob, bool noise, size_t first, size_t last, double t, const double *y,
                             double *derivative)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    const uint32_t *column = evaluation->column;
    size_t stride = evaluation->stride ? evaluation->stride : task->n_row;
    bool is_direct = false, finite = true;
    if (ob->model.n_wanted > 0 && differentiate(ob, noise, t, y, &is_direct) != STIFFIT_OK)
        return false;
    bool done = !is_direct && add_up_single(ob, last - first, y, derivative + first, stride, &finite);
    if (!done && ob->model.n_wanted > 0)
        add_up(ob, noise, y);
    for (size_t k = 0; column && k < evaluation->n_sens; k++)
        for (size_t i = first; i < last; i++)
            derivative[i + column[k] * stride] = 0;
    for (size_t k = 0; !done && k < evaluation->n_sens; k++)
        for (size_t i = first; i < last; i++) {
            bool own = noise && has_sigma(task, i);
            double derived = own ? 0 : ob->h_row[task->row_observable[i] + k * ob->abi->n_observable];
            if (column)
                derivative[i + column[k] * stride] += derived;
            else
                derivative[i + k * stride] = derived;
            finite = finite && isfinite(derived);
        }
    if (!finite)
        ob->model.failure = (struct model_failure){.where = "derivatives of the observables", .t = t,
                                                   .not_finite = true};
    return finite;
}

static bool fill(struct observer *ob, bool noise, size_t first, size_t last, double t, const double *y, double *value,
                 double *derivative)
{
    const struct evaluation *evaluation = ob->evaluation;
    choose_wanted(ob, noise, first, last);
    if (!fill_values(ob, noise, first, last, t, y, value))
        return false;
    return !derivative || evaluation->n_sens == 0 || evaluation->adjoint ||
           fill_derivatives(ob, noise, first, last, t, y, derivative);
}

/* Rows of one variant follow each other. */
static size_t end_of_variant(const struct ode_task *task, size_t first, size_t last)
{
    size_t end = first + 1;
    while (end < last && (!task->row_variant || task->row_variant[end] == task->row_variant[first]))
        end++;
    return end;
}

size_t observation_end(const struct observer *ob)
{
    const struct ode_task *task = ob->evaluation->task;
    size_t last = ob->i_row;
    while (last < task->n_row && task->row_time[last] <= ob->i_time)
        last++;
    return last;
}

void observation_mark(const struct observer *ob, bool *is_wanted)
{
    for (size_t i = ob->i_row, end = observation_end(ob); i < end; i++)
        is_wanted[ob->evaluation->task->row_observable[i]] = true;
}

bool observation_fill(struct observer *ob, size_t i_time, const double *y)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t first = ob->i_row, last = observation_end(ob);
    ob->has_terms = false;
    ob->i_row = last;
    if (first == last)
        return true;
    double t = time_of(ob, i_time);
    bool good = true;
    for (size_t end; first < last && good; first = end) {
        end = end_of_variant(task, first, last);
        if (!observer_begin_variant(ob, first))
            return false;
        good = (!evaluation->noise || !ob->abi->noise ||
                fill(ob, true, first, end, t, y, evaluation->noise, evaluation->d_noise)) &&
               fill(ob, false, first, end, t, y, evaluation->prediction, evaluation->d_prediction);
        observer_end_variant(ob, first);
    }
    ob->has_terms = ob->has_terms && !task->row_variant;
    return good;
}

/* The errors of all observables that are due to the integrator's absolute tolerances. States still close to 0 at an early time,
 * which will grow, do not count. */
static void excesses(const struct observer *ob, double *excess)
{
    memset(excess, 0, ob->abi->n_observable * sizeof *excess);
    for (const struct observer_term *term = ob->term; term < ob->term + ob->n_term; term++)
        if (ob->sizes[term->state + ob->n_state] == 0)
            excess[term->observable] += fabs(term->value) * ob->tolerance_beyond[term->state];
}

/* Whether rows first..last-1, of one variant, do. */
static bool asks_relative(struct observer *ob, size_t first, size_t last, size_t i_time, const double *y)
{
    bool known = ob->has_terms;
    if (!known) {
        choose_wanted(ob, false, first, last);
        ob->model.is_relative = true;
        known = differentiate_by_state(ob, false, time_of(ob, i_time), y) == STIFFIT_OK;
        ob->model.is_relative = false;
    }
    if (known)
        excesses(ob, ob->h);
    return observation_rows_ask_relative(ob, first, last, known ? ob->h : NULL);
}

bool observation_rows_ask_relative(struct observer *ob, size_t first, size_t last, const double *error)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    double by_sigma = fmax(ERROR_OF_SIGMA, 10 * ERROR_OF_LARGEST * ob->rtol);
    for (size_t i = first; i < last; i++) {
        double size = fabs(evaluation->prediction[i]), *largest = &ob->h_largest[task->row_sigma ? 0 : task->row_observable[i]];
        double sigma = evaluation->noise && ob->abi->noise ? evaluation->noise[i] : task->row_sigma ? task->row_sigma[i] : NAN;
        *largest = size > *largest ? size : *largest;
        if (task->row_is_log && task->row_is_log[i])
            sigma *= size;
        double allowed = isnan(sigma) ? ERROR_OF_LARGEST * ob->rtol * *largest : by_sigma * sigma;
        if (isnan(size) || (error && error[task->row_observable[i]] > allowed))
            return true;
    }
    return false;
}

bool observation_asks_relative(struct observer *ob, size_t i_time, const double *y)
{
    const struct ode_task *task = ob->evaluation->task;
    size_t last = ob->i_row, first = last;
    bool asks = false;
    while (first > 0 && task->row_time[first - 1] >= i_time)
        first--;
    for (size_t end; first < last && !asks; first = end) {
        end = end_of_variant(task, first, last);
        if (!observer_begin_variant(ob, first))
            return false;
        asks = asks_relative(ob, first, end, i_time, y);
        observer_end_variant(ob, first);
    }
    return asks;
}

/* Adds the same rows' share of the gradient. */
static bool weigh(struct observer *ob, bool noise, size_t first, size_t last, double t, const double *y,
                  const double *weights, double *by_state, double *gradient)
{
    const struct evaluation *evaluation = ob->evaluation;
    size_t n = ob->n_state, n_observable = ob->abi->n_observable;
    double *weight = ob->h; /* by observable */
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
    choose_wanted(ob, noise, first, last);
    const struct derivatives *d = &ob->model;
    if (derivatives_by_parameter(&ob->model, noise ? MODEL_NOISE : MODEL_OBSERVE, t, y, ob->h_parameter) != STIFFIT_OK ||
        (by_state && derivatives_by_state(&ob->model, noise ? MODEL_NOISE : MODEL_OBSERVE, t, y, ob->h_state) != STIFFIT_OK))
        return false;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        size_t j = evaluation->sens[k];
        for (size_t w = 0; derivatives_use(ob->abi, j) & use && w < d->n_wanted; w++)
            gradient[k] += weight[d->wanted[w]] * ob->h_parameter[d->wanted[w] + j * n_observable];
    }
    for (size_t i = 0; by_state && i < n; i++)
        for (size_t w = 0; w < d->n_wanted; w++)
            by_state[i] += weight[d->wanted[w]] * ob->h_state[d->wanted[w] + i * n_observable];
    return true;
}

bool observation_weigh(struct observer *ob, size_t i_time, const double *y, double *by_state, double *gradient)
{
    const struct evaluation *evaluation = ob->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t last = ob->i_row, first = last;
    while (first > 0 && task->row_time[first - 1] >= i_time)
        first--;
    ob->i_row = first;
    if (first == last || evaluation->n_sens == 0)
        return true;
    double t = time_of(ob, i_time);
    return weigh(ob, false, first, last, t, y, evaluation->adjoint->by_prediction, by_state, gradient) &&
           (!evaluation->noise || !ob->abi->noise ||
            weigh(ob, true, first, last, t, y, evaluation->adjoint->by_noise, by_state, gradient));
}
