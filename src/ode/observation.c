/* Computes predictions, noise and their derivatives from the state and its sensitivities at a
 * measurement time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"

#include "ode/blocks.h"
#include "ode/outcome.h"
#include "ode/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest error of a prediction that may come from the absolute part of the states'
 * tolerances: relative to sigma; if that is unknown, to rtol times the largest prediction so
 * far, since all rows then have the same weight. Without measurements, each observable has its
 * own largest prediction. */
static const double ERROR_OF_SIGMA = 0.01, ERROR_OF_LARGEST = 100;

bool rows_init(struct rows *rows, const struct stiffit_model *abi,
               const struct ode_options *options)
{
    size_t n = abi->n_state, n_observable = abi->n_observable,
           n_parameter = abi->n_parameter + options->n_none;
    rows->seen = calloc(n * (2 + blocks_most(abi, options)) + 1, sizeof(double));
    rows->h = calloc(n_observable + 1, sizeof(double));
    rows->h_state = calloc(n_observable * n + 1, sizeof(double));
    rows->term = calloc(n_observable * n + 1, sizeof *rows->term);
    rows->h_parameter = calloc(n_observable * n_parameter + 1, sizeof(double));
    rows->h_row = calloc(n_observable * n_parameter + 1, sizeof(double));
    rows->is_wanted = calloc(n_observable + 1, sizeof *rows->is_wanted);
    rows->h_largest = calloc(n_observable + 1, sizeof(double));
    return rows->seen && rows->h && rows->h_state && rows->term && rows->h_parameter &&
           rows->h_row && rows->is_wanted && rows->h_largest;
}

void rows_fini(struct rows *rows)
{
    void *const arrays[] = {rows->seen,        rows->h,     rows->h_state,   rows->term,
                            rows->h_parameter, rows->h_row, rows->is_wanted, rows->h_largest};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* The derivatives of the wanted observables by state. */
static int differentiate_by_state(struct simulation *sim, bool noise, double t, const double *y)
{
    const struct derivatives *d = &sim->model;
    int code = derivatives_by_state(&sim->model, noise ? MODEL_NOISE : MODEL_OBSERVE, t, y,
                                    sim->rows.h_state);
    const double *column = sim->rows.h_state;
    sim->rows.n_term = 0;
    for (size_t i = 0; code == STIFFIT_OK && i < sim->n_state;
         i++, column += sim->abi->n_observable)
        for (size_t w = 0; w < d->n_wanted; w++)
            if (column[d->wanted[w]] != 0)
                sim->rows.term[sim->rows.n_term++] =
                    (struct row_term){d->wanted[w], (uint32_t)i, column[d->wanted[w]]};
    return code;
}

/* At +infinity the time at which the steady state was found. */
static double time_of(const struct simulation *sim, size_t i_time)
{
    double t = sim->evaluation->task->time[i_time];
    return t == INFINITY ? sim->t : t;
}

/* The derivatives of the wanted observables by parameter, if any of these is in use directly,
 * and by state. */
static int differentiate(struct simulation *sim, bool noise, double t, const double *y,
                         bool *is_direct)
{
    const struct evaluation *evaluation = sim->evaluation;
    bool by_state = sim->blocks.n && !sim->blocks.is_pace;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE, used = 0;
    for (size_t k = 0; k < evaluation->n_sens; k++)
        used |= derivatives_use(sim->abi, sim->blocks.sens[k]) & use;
    *is_direct = used;
    enum point_function which = noise ? MODEL_NOISE : MODEL_OBSERVE;
    int code = used ? derivatives_by_parameter(&sim->model, which, t, y, sim->rows.h_parameter)
                    : STIFFIT_OK;
    if (code == STIFFIT_OK && by_state)
        code = differentiate_by_state(sim, noise, t, y);
    sim->rows.has_terms = code == STIFFIT_OK && by_state && !noise && sim->abi->observe_state;
    return code;
}

/* Total derivatives of all observables: dh/dp_j + dh/dy s_j, into sim->rows.h_row (n_observable
 * x n_sens). */
static void add_up(struct simulation *sim, bool noise, const double *y)
{
    size_t n = sim->n_state, n_observable = sim->abi->n_observable;
    const struct evaluation *evaluation = sim->evaluation;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        uint32_t j = sim->blocks.sens[k];
        double *row = sim->rows.h_row + k * n_observable;
        bool direct = derivatives_use(sim->abi, j) & use;
        for (size_t o = 0; o < n_observable; o++)
            row[o] = direct ? sim->rows.h_parameter[o + j * n_observable] : 0;
        if (sim->blocks.of_sens[k] < 0)
            continue;
        const double *s = y + ((size_t)sim->blocks.of_sens[k] + 1) * n;
        for (const struct row_term *term = sim->rows.term; term < sim->rows.term + sim->rows.n_term;
             term++)
            row[term->observable] += term->value * s[term->state];
    }
}

/* add_up for the most frequent case, and faster: each of n_row rows has an observable of its own,
 * which depends on one state and on no parameter directly. False: it is another case. */
static bool add_up_single(struct simulation *sim, size_t n_row, const double *y, double *derivative,
                          size_t stride, bool *finite)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct row_term *term = sim->rows.term;
    bool single = sim->rows.has_terms && !evaluation->column && sim->rows.n_term == n_row &&
                  sim->model.n_wanted == n_row;
    for (size_t i = 0; single && i < n_row; i++)
        single = term[i].observable == sim->model.wanted[i];
    for (size_t k = 0; single && k < evaluation->n_sens; k++)
        single = sim->blocks.of_sens[k] >= 0;
    double odd = 0;
    for (size_t k = 0; single && k < evaluation->n_sens; k++, derivative += stride) {
        const double *s = y + ((size_t)sim->blocks.of_sens[k] + 1) * sim->n_state;
        for (size_t i = 0; i < n_row; i++) {
            double derived = 0 + term[i].value * s[term[i].state];
            derivative[i] = derived;
            odd += 0 * derived; /* NaN if it is not finite */
        }
    }
    *finite = odd == 0;
    return single;
}

static bool has_sigma(const struct ode_task *task, size_t i)
{
    return task->row_sigma && !isnan(task->row_sigma[i]);
}

/* Sets the observables that rows first..last-1 need. For noise, rows with a sigma of their own
 * need none. */
static void choose_wanted(struct simulation *sim, bool noise, size_t first, size_t last)
{
    const struct ode_task *task = sim->evaluation->task;
    struct derivatives *d = &sim->model;
    memset(sim->rows.is_wanted, 0, sim->abi->n_observable * sizeof(bool));
    d->n_wanted = 0;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        if (sim->rows.is_wanted[o] || (noise && has_sigma(task, i)))
            continue;
        sim->rows.is_wanted[o] = true;
        d->wanted[d->n_wanted++] = o;
    }
}

/* Fills (prediction, d_prediction) or (noise, d_noise) for rows first..last-1. */
static bool fill_values(struct simulation *sim, bool noise, size_t first, size_t last, double t,
                        const double *y, double *value)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    struct derivatives *d = &sim->model;
    enum point_function which = noise ? MODEL_NOISE : MODEL_OBSERVE;
    bool good = d->n_wanted == 0 || derivatives_value(d, which, t, y, sim->rows.h) == STIFFIT_OK;
    if (!good && !evaluation->lenient)
        return false;
    for (size_t i = first; i < last; i++) {
        uint32_t o = task->row_observable[i];
        bool own = noise && has_sigma(task, i), computed = good || own;
        if (!computed) { /* this row alone may be computable */
            d->n_wanted = 1;
            d->wanted[0] = o;
            sim->rows.h[o] = NAN;
            computed = derivatives_value(d, which, t, y, sim->rows.h) == STIFFIT_OK ||
                       (!noise && isinf(sim->rows.h[o]));
        }
        value[i] = own ? task->row_sigma[i] : computed ? sim->rows.h[o] : (double)NAN;
    }
    return true;
}

static bool fill_derivatives(struct simulation *sim, bool noise, size_t first, size_t last,
                             double t, const double *y, double *derivative)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    const uint32_t *column = evaluation->column;
    size_t stride = evaluation->stride ? evaluation->stride : task->n_row;
    bool is_direct = false, finite = true;
    if (sim->model.n_wanted > 0 && differentiate(sim, noise, t, y, &is_direct) != STIFFIT_OK)
        return false;
    bool done =
        !is_direct && add_up_single(sim, last - first, y, derivative + first, stride, &finite);
    if (!done && sim->model.n_wanted > 0)
        add_up(sim, noise, y);
    for (size_t k = 0; column && k < evaluation->n_sens; k++)
        for (size_t i = first; i < last; i++)
            derivative[i + column[k] * stride] = 0;
    for (size_t k = 0; !done && k < evaluation->n_sens; k++)
        for (size_t i = first; i < last; i++) {
            bool own = noise && has_sigma(task, i);
            double derived =
                own ? 0 : sim->rows.h_row[task->row_observable[i] + k * sim->abi->n_observable];
            if (column)
                derivative[i + column[k] * stride] += derived;
            else
                derivative[i + k * stride] = derived;
            finite = finite && isfinite(derived);
        }
    if (!finite)
        sim->model.failure = (struct model_failure){.where = "derivatives of the observables",
                                                    .t = t,
                                                    .not_finite = true};
    return finite;
}

static bool fill(struct simulation *sim, bool noise, size_t first, size_t last, double t,
                 const double *y, double *value, double *derivative)
{
    const struct evaluation *evaluation = sim->evaluation;
    choose_wanted(sim, noise, first, last);
    if (!fill_values(sim, noise, first, last, t, y, value))
        return false;
    return !derivative || evaluation->n_sens == 0 || evaluation->adjoint ||
           fill_derivatives(sim, noise, first, last, t, y, derivative);
}

/* Rows of one variant follow each other. */
static size_t end_of_variant(const struct ode_task *task, size_t first, size_t last)
{
    size_t end = first + 1;
    while (end < last && (!task->row_variant || task->row_variant[end] == task->row_variant[first]))
        end++;
    return end;
}

/* The end of the rows of the next time. */
static size_t end_of_time(const struct simulation *sim)
{
    const struct ode_task *task = sim->evaluation->task;
    size_t last = sim->rows.i_row;
    while (last < task->n_row && task->row_time[last] <= sim->rows.i_time)
        last++;
    return last;
}

size_t observation_mark(const struct simulation *sim, bool *is_wanted)
{
    const struct ode_task *task = sim->evaluation->task;
    size_t end = end_of_time(sim);
    bool has_noise = sim->evaluation->noise && sim->abi->noise;
    for (size_t i = sim->rows.i_row; i < end; i++) {
        uint32_t o = task->row_observable[i];
        is_wanted[o] = true;
        if (has_noise && !has_sigma(task, i))
            is_wanted[sim->abi->n_observable + o] = true;
    }
    return end;
}

size_t observation_end_of_own(const struct ode_task *task, size_t first, size_t last, bool *is_own)
{
    size_t end = first + 1;
    *is_own = has_sigma(task, first);
    while (end < last && has_sigma(task, end) == *is_own)
        end++;
    return end;
}

void observation_take_own(const struct evaluation *evaluation, size_t first, size_t last)
{
    const struct ode_task *task = evaluation->task;
    const uint32_t *to = evaluation->column;
    size_t stride = evaluation->stride ? evaluation->stride : task->n_row, n = last - first;
    memcpy(evaluation->noise + first, task->row_sigma + first, n * sizeof(double));
    for (size_t k = 0; evaluation->d_noise && k < evaluation->n_sens; k++)
        memset(evaluation->d_noise + first + (to ? to[k] : k) * stride, 0, n * sizeof(double));
}

/* Predictions, noise and their derivatives for all rows of task time `i_time`, from the state
 * and its sensitivities at that time (contiguous blocks). NULL if there are no states. False:
 * the model failed. */
static bool fill_rows(struct simulation *sim, size_t i_time, const double *y)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t first = sim->rows.i_row, last = end_of_time(sim);
    sim->rows.has_terms = false;
    sim->rows.i_row = last;
    if (first == last)
        return true;
    double t = time_of(sim, i_time);
    bool good = true;
    for (size_t end; first < last && good; first = end) {
        end = end_of_variant(task, first, last);
        if (task->row_variant && !blocks_begin_variant(sim, first))
            return false;
        good = (!evaluation->noise || !sim->abi->noise ||
                fill(sim, true, first, end, t, y, evaluation->noise, evaluation->d_noise)) &&
               fill(sim, false, first, end, t, y, evaluation->prediction, evaluation->d_prediction);
        if (task->row_variant)
            blocks_end_variant(sim, first);
    }
    sim->rows.has_terms = sim->rows.has_terms && !task->row_variant;
    return good;
}

/* The errors of all observables that are due to the integrator's absolute tolerances. States
 * still close to 0 at an early time, which will grow, do not count. */
static void excesses(const struct simulation *sim, double *excess)
{
    memset(excess, 0, sim->abi->n_observable * sizeof *excess);
    for (const struct row_term *term = sim->rows.term; term < sim->rows.term + sim->rows.n_term;
         term++)
        if (sim->tolerance.sizes[term->state + sim->n_state] == 0)
            excess[term->observable] += fabs(term->value) * sim->tolerance.beyond[term->state];
}

/* Whether rows first..last-1, of one variant, do. */
static bool asks_relative(struct simulation *sim, size_t first, size_t last, size_t i_time,
                          const double *y)
{
    bool known = sim->rows.has_terms;
    if (!known) {
        choose_wanted(sim, false, first, last);
        sim->model.is_relative = true;
        known = differentiate_by_state(sim, false, time_of(sim, i_time), y) == STIFFIT_OK;
        sim->model.is_relative = false;
    }
    if (known)
        excesses(sim, sim->rows.h);
    return observation_rows_ask_relative(sim, first, last, known ? sim->rows.h : NULL, 1);
}

/* What errors of predictions may be. */
struct allowance {
    double by_largest, by_sigma;
};

static struct allowance allowance_of(double rtol)
{
    double by_largest = ERROR_OF_LARGEST * rtol;
    return (struct allowance){by_largest, fmax(ERROR_OF_SIGMA, 10 * by_largest)};
}

/* Whether a row does; excess: its error. *largest: as in struct rows. */
static inline bool row_asks(const struct allowance *allowance, double prediction, double sigma,
                            bool is_log, double excess, double *largest)
{
    double size = fabs(prediction);
    *largest = size > *largest ? size : *largest;
    if (is_log)
        sigma *= size;
    double allowed = isnan(sigma) ? allowance->by_largest * *largest : allowance->by_sigma * sigma;
    return isnan(size) | (excess > allowed);
}

bool observation_rows_ask_relative(struct simulation *sim, size_t first, size_t last,
                                   const double *error, size_t stride)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    const uint32_t *observable = task->row_observable;
    const double *prediction = evaluation->prediction, *sigmas = task->row_sigma;
    const bool *is_log = task->row_is_log;
    const struct allowance allowance = allowance_of(sim->tolerance.rtol);
    double *largest = sim->rows.h_largest, *kept = evaluation->excess;
    bool has_sigma = sigmas, asks = false;
    if (evaluation->noise && sim->abi->noise)
        sigmas = evaluation->noise;
    for (size_t i = first; i < last; i++) {
        uint32_t o = observable[i];
        double excess = error ? error[(size_t)o * stride] : 0;
        asks |= row_asks(&allowance, prediction[i], sigmas ? sigmas[i] : (double)NAN,
                         is_log && is_log[i], excess, &largest[has_sigma ? 0 : o]);
        if (kept)
            kept[i] = excess;
    }
    return asks;
}

bool observation_would_ask(const struct evaluation *evaluation, double rtol, double *largest)
{
    const struct ode_task *task = evaluation->task;
    const struct allowance allowance = allowance_of(rtol);
    bool asks = false;
    for (size_t i = 0; i < task->n_row; i++)
        if (evaluation->excess[i] != OBSERVATION_NOT_ASKED)
            asks |= row_asks(&allowance, evaluation->prediction[i],
                             task->row_sigma ? task->row_sigma[i] : (double)NAN,
                             task->row_is_log && task->row_is_log[i], evaluation->excess[i],
                             &largest[task->row_sigma ? 0 : task->row_observable[i]]);
    return asks;
}

/* Call this after fill_rows, but not at the initial time. Whether these rows need more accurate
 * states than the states' sizes give: for example, the logarithm of a state that has decayed
 * far. */
static bool time_asks_relative(struct simulation *sim, size_t i_time, const double *y)
{
    const struct ode_task *task = sim->evaluation->task;
    size_t last = sim->rows.i_row, first = last;
    bool asks = false;
    while (first > 0 && task->row_time[first - 1] >= i_time)
        first--;
    for (size_t end; first < last && !asks; first = end) {
        end = end_of_variant(task, first, last);
        if (task->row_variant && !blocks_begin_variant(sim, first))
            return false;
        asks = asks_relative(sim, first, end, i_time, y);
        if (task->row_variant)
            blocks_end_variant(sim, first);
    }
    return asks;
}

/* Gives back the state at the last time and its derivatives. */
static void give_end(const struct simulation *sim, const double *y)
{
    const struct evaluation *evaluation = sim->evaluation;
    size_t n = sim->n_state;
    memcpy(evaluation->end, y, n * sizeof *y);
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        double *column = evaluation->end + (1 + k) * n;
        if (sim->blocks.of_sens[k] < 0)
            memset(column, 0, n * sizeof *y);
        else
            memcpy(column, y + (size_t)(1 + sim->blocks.of_sens[k]) * n, n * sizeof *y);
    }
}

bool observation_answer(struct simulation *sim, const double *y, bool initial)
{
    const double *seen = y;
    if (sim->blocks.n && !sim->blocks.is_pace)
        seen = tolerance_drop_vanished(sim, y, sim->rows.seen);
    bool good = fill_rows(sim, sim->rows.i_time, seen);
    if (sim->evaluation->end && sim->n_state &&
        sim->rows.i_time + 1 == sim->evaluation->task->n_time)
        give_end(sim, y);
    bool relative = initial || sim->tolerance.atol > 0 || sim->tolerance.is_relative;
    sim->begins_anew = !relative && (!good || time_asks_relative(sim, sim->rows.i_time, y));
    return good || sim->begins_anew;
}

bool observation_answer_until(struct simulation *sim, double t, int side, const double *y,
                              bool initial)
{
    const struct ode_task *task = sim->evaluation->task;
    for (; sim->rows.i_time < task->n_time && !sim->begins_anew;
         sim->rows.i_time += !sim->begins_anew) {
        int own_side = task->time_side ? task->time_side[sim->rows.i_time] : 0;
        if (task->time[sim->rows.i_time] > t ||
            (task->time[sim->rows.i_time] == t && own_side > side))
            return true;
        if (!observation_answer(sim, y, initial))
            return outcome_model_failed(sim);
    }
    return sim->begins_anew || outcome_set(sim, EVALUATION_OK);
}

/* The rows [first, last) of time t, and their weights in the gradient. */
struct weighing {
    bool noise; /* of the noise, otherwise of the predictions */
    size_t first, last;
    double t;
    const double *weights;
};

/* Adds the share of these rows to the gradient. */
static bool weigh(struct simulation *sim, const struct weighing *rows, const double *y,
                  double *by_state, double *gradient)
{
    const bool noise = rows->noise;
    const struct evaluation *evaluation = sim->evaluation;
    size_t n = sim->n_state, n_observable = sim->abi->n_observable;
    double *weight = sim->rows.h; /* by observable */
    bool any = false;
    memset(weight, 0, n_observable * sizeof(double));
    for (size_t i = rows->first; i < rows->last; i++) {
        if (noise && has_sigma(evaluation->task, i))
            continue;
        weight[evaluation->task->row_observable[i]] += rows->weights[i];
        any = any || rows->weights[i] != 0;
    }
    if (!any)
        return true;
    choose_wanted(sim, noise, rows->first, rows->last);
    const struct derivatives *d = &sim->model;
    if (derivatives_by_parameter(&sim->model, noise ? MODEL_NOISE : MODEL_OBSERVE, rows->t,
                                 y, sim->rows.h_parameter) != STIFFIT_OK ||
        (by_state && derivatives_by_state(&sim->model, noise ? MODEL_NOISE : MODEL_OBSERVE, rows->t,
                                          y, sim->rows.h_state) != STIFFIT_OK))
        return false;
    unsigned use = noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        size_t j = evaluation->sens[k];
        for (size_t w = 0; derivatives_use(sim->abi, j) & use && w < d->n_wanted; w++)
            gradient[k] +=
                weight[d->wanted[w]] * sim->rows.h_parameter[d->wanted[w] + j * n_observable];
    }
    for (size_t i = 0; by_state && i < n; i++)
        for (size_t w = 0; w < d->n_wanted; w++)
            by_state[i] +=
                weight[d->wanted[w]] * sim->rows.h_state[d->wanted[w] + i * n_observable];
    return true;
}

bool observation_weigh(struct simulation *sim, size_t i_time, const double *y, double *by_state,
                       double *gradient)
{
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    size_t last = sim->rows.i_row, first = last;
    while (first > 0 && task->row_time[first - 1] >= i_time)
        first--;
    sim->rows.i_row = first;
    if (first == last || evaluation->n_sens == 0)
        return true;
    const struct weighing predictions = {.first = first, .last = last, .t = time_of(sim, i_time),
                                         .weights = evaluation->adjoint->by_prediction};
    struct weighing noise = predictions;
    noise.noise = true;
    noise.weights = evaluation->adjoint->by_noise;
    return weigh(sim, &predictions, y, by_state, gradient) &&
           (!evaluation->noise || !sim->abi->noise ||
            weigh(sim, &noise, y, by_state, gradient));
}
