/* Checked calls of the plugin's functions, and difference quotients in place of missing derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/derivatives.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The results to check: all, or only the observables in d->wanted. */
enum rows { ROWS_ALL, ROWS_WANTED };

static int fail(struct derivatives *d, const char *where, double t, bool not_finite, bool fatal)
{
    d->failure = (struct model_failure){.where = where, .t = t, .not_finite = not_finite, .fatal = fatal};
    return fatal ? STIFFIT_FATAL : STIFFIT_RECOVERABLE;
}

/* Whether the wanted numbers of a column are finite. */
static bool column_finite(const struct derivatives *d, enum rows rows, const double *column, size_t n_row)
{
    if (rows == ROWS_ALL)
        return all_finite(column, n_row);
    for (size_t i = 0; i < d->n_wanted; i++)
        if (!isfinite(column[d->wanted[i]]))
            return false;
    return true;
}

/* Calls a function at the point d->at, which fills n_column columns. */
static int call(struct derivatives *d, stiffit_function *function, const char *where, enum rows rows, double *out,
                size_t n_row, size_t n_column)
{
    int code = function(&d->at, out);
    if (code != STIFFIT_OK)
        return fail(d, where, d->at.t, false, code < 0);
    if (rows == ROWS_ALL) /* its columns are one piece */
        n_row *= n_column, n_column = 1;
    for (size_t j = 0; j < n_column; j++)
        if (!column_finite(d, rows, out + j * n_row, n_row))
            return fail(d, where, d->at.t, true, false);
    return STIFFIT_OK;
}

/* Calls a function that fills a matrix by parameter. */
static int call_by_parameter(struct derivatives *d, stiffit_function *function, const char *where, enum rows rows,
                             double *out, size_t n_row)
{
    int code = function(&d->at, out);
    if (code != STIFFIT_OK)
        return fail(d, where, d->at.t, false, code < 0);
    for (size_t k = 0; k < d->n_sens; k++)
        if (!column_finite(d, rows, out + d->sens[k] * n_row, n_row))
            return fail(d, where, d->at.t, true, false);
    return STIFFIT_OK;
}

/* Sets the point. False, and a failure, if the state is not finite. */
static bool move_to(struct derivatives *d, const char *where, double t, const double *y)
{
    d->at.t = t;
    d->at.y = y;
    if (all_finite(y, d->abi->n_state))
        return true;
    fail(d, where, t, true, false);
    return false;
}

static bool lacks_parameter_derivative(const struct stiffit_model *abi)
{
    return (abi->n_state && (!abi->rhs_parameter || !abi->initial_parameter)) || !abi->observe_parameter ||
           (abi->noise && !abi->noise_parameter);
}

bool derivatives_init(struct derivatives *d, const struct stiffit_model *abi)
{
    *d = (struct derivatives){.abi = abi};
    size_t n = abi->n_state, n_out = (n > abi->n_observable ? n : abi->n_observable) + 1;
    size_t n_moved = lacks_parameter_derivative(abi) ? (size_t)abi->n_work * abi->n_parameter : 0;
    d->wanted = calloc(abi->n_observable + 1, sizeof(uint32_t));
    d->work = calloc(abi->n_work + 1, sizeof(double));
    d->work_up = calloc(n_moved + 1, sizeof(double));
    d->work_down = calloc(n_moved + 1, sizeof(double));
    d->has_up = calloc(abi->n_parameter + 1, sizeof(bool));
    d->has_down = calloc(abi->n_parameter + 1, sizeof(bool));
    d->p_moved = calloc(abi->n_parameter + 1, sizeof(double));
    d->y_moved = calloc(n + 1, sizeof(double));
    d->up = calloc(n_out, sizeof(double));
    d->down = calloc(n_out, sizeof(double));
    d->base = calloc(n_out, sizeof(double));
    d->jacobian_values = calloc((size_t)abi->n_nonzero + 1, sizeof(double));
    return d->wanted && d->work && d->work_up && d->work_down && d->has_up && d->has_down && d->p_moved && d->y_moved &&
           d->up && d->down && d->base && d->jacobian_values;
}

void derivatives_fini(struct derivatives *d)
{
    free(d->wanted);
    free(d->work);
    free(d->work_up);
    free(d->work_down);
    free(d->has_up);
    free(d->has_down);
    free(d->p_moved);
    free(d->y_moved);
    free(d->up);
    free(d->down);
    free(d->base);
    free(d->jacobian_values);
    *d = (struct derivatives){0};
}

static double parameter_step(const struct derivatives *d, uint32_t j)
{
    double size = fabs(d->at.p[j]);
    if (size == 0 && d->abi->parameter_start && isfinite(d->abi->parameter_start[j]))
        size = fabs(d->abi->parameter_start[j]);
    return cbrt(DBL_EPSILON) * (size > 0 ? size : 1);
}

/* Calls `prepare` for p with parameter j moved by `step`. False: it failed. */
static bool prepare_moved(struct derivatives *d, uint32_t j, double step, double *work)
{
    struct stiffit_point at = d->at;
    memcpy(d->p_moved, d->at.p, d->abi->n_parameter * sizeof(double));
    d->p_moved[j] += step;
    at.p = d->p_moved;
    at.work = NULL;
    return isfinite(d->p_moved[j]) && d->abi->prepare(&at, work) == STIFFIT_OK;
}

int derivatives_begin(struct derivatives *d, const double *p, const double *covariate, double t0, size_t n_sens,
                      const uint32_t *sens)
{
    const struct stiffit_model *abi = d->abi;
    d->at = (struct stiffit_point){.t = t0, .p = p, .covariate = covariate};
    d->n_sens = n_sens;
    d->sens = sens;
    d->t0 = t0;
    d->n_rhs = d->n_jacobian = 0;
    d->failure = (struct model_failure){0};
    if (!all_finite(p, abi->n_parameter) || !isfinite(t0))
        return fail(d, "parameters", t0, true, false);
    if (!abi->prepare || abi->n_work == 0)
        return STIFFIT_OK;
    /* Results of `prepare` may be infinite or NaN: a model may not use them. If it does, its own results fail the check. */
    int code = abi->prepare(&d->at, d->work);
    if (code != STIFFIT_OK)
        return fail(d, "prepare", t0, false, code < 0);
    for (size_t k = 0; k < n_sens && lacks_parameter_derivative(abi); k++) {
        double step = parameter_step(d, sens[k]);
        size_t offset = (size_t)sens[k] * abi->n_work;
        d->has_up[sens[k]] = prepare_moved(d, sens[k], step, d->work_up + offset);
        d->has_down[sens[k]] = prepare_moved(d, sens[k], -step, d->work_down + offset);
    }
    d->at.work = d->work;
    return STIFFIT_OK;
}

/* The step in a state is computed for at least this fraction of the state's largest value. */
#define SIZE_PART 1e-3

/* One difference quotient, from the values on both sides or on one. `base` is computed at most once per matrix, if have_base is
 * false. */
struct quotient {
    stiffit_function *function;
    const char *where;
    size_t n_out;
    enum rows rows;
    bool have_base;
};

static int base_value(struct derivatives *d, struct quotient *q)
{
    if (q->have_base)
        return STIFFIT_OK;
    int code = call(d, q->function, q->where, q->rows, d->base, q->n_out, 1);
    q->have_base = code == STIFFIT_OK;
    return code;
}

static int combine(struct derivatives *d, struct quotient *q, int up, int down, double h_up, double h_down,
                   double *column)
{
    if (up == STIFFIT_FATAL || down == STIFFIT_FATAL)
        return STIFFIT_FATAL;
    if (up != STIFFIT_OK && down != STIFFIT_OK)
        return STIFFIT_RECOVERABLE;
    const double *high = d->up, *low = d->down;
    if (up != STIFFIT_OK || down != STIFFIT_OK) {
        int code = base_value(d, q);
        if (code != STIFFIT_OK)
            return code;
        if (up != STIFFIT_OK)
            high = d->base, h_up = 0;
        else
            low = d->base, h_down = 0;
    }
    double width = h_up + h_down;
    for (size_t i = 0; i < q->n_out; i++)
        column[i] = (high[i] - low[i]) / width;
    return column_finite(d, q->rows, column, q->n_out) ? STIFFIT_OK : fail(d, q->where, d->at.t, true, false);
}

/* The step that is actually made, y + h - y in floating point; the compiler must not simplify it. */
static double exact_step(double x, double h)
{
    volatile double moved = x + h;
    return fabs(moved - x);
}

static int state_column(struct derivatives *d, struct quotient *q, const double *y, size_t j, bool rough,
                        double *column)
{
    double floor = d->floor > 0 ? d->floor : SIZE_PART * fmax(d->sizes[j], d->sizes[j + d->abi->n_state]);
    if (q->rows == ROWS_WANTED && d->is_relative && y[j] != 0)
        floor = 0;
    double size = fmax(fabs(y[j]), floor), original = d->y_moved[j];
    double h = (rough ? sqrt(DBL_EPSILON) : cbrt(DBL_EPSILON)) * (size > 0 ? size : 1);
    int down = STIFFIT_RECOVERABLE;
    d->y_moved[j] = original + h;
    int up = call(d, q->function, q->where, q->rows, d->up, q->n_out, 1);
    if (!rough || up != STIFFIT_OK) {
        d->y_moved[j] = original - h;
        down = call(d, q->function, q->where, q->rows, d->down, q->n_out, 1);
    }
    d->y_moved[j] = original;
    return combine(d, q, up, down, exact_step(original, h), exact_step(original, -h), column);
}

/* d function / d y by differences; `known` is the function's value at (t, y), or NULL. */
static int by_state(struct derivatives *d, struct quotient q, double t, const double *y, const double *known,
                    bool rough,
                    double *out)
{
    size_t n = d->abi->n_state;
    if (!move_to(d, q.where, t, y))
        return STIFFIT_RECOVERABLE;
    if (known) {
        memcpy(d->base, known, q.n_out * sizeof(double));
        q.have_base = true;
    }
    memcpy(d->y_moved, y, n * sizeof(double));
    d->at.y = d->y_moved;
    int code = STIFFIT_OK;
    for (size_t j = 0; j < n && code == STIFFIT_OK; j++)
        code = state_column(d, &q, y, j, rough, out + j * q.n_out);
    d->at.y = y;
    return code;
}

static int parameter_side(struct derivatives *d, struct quotient *q, uint32_t j, double h, bool up, double *out)
{
    const double *p = d->at.p, *own_work = d->at.work;
    memcpy(d->p_moved, p, d->abi->n_parameter * sizeof(double));
    d->p_moved[j] += h;
    if (d->abi->n_work)
        d->at.work = (up ? d->work_up : d->work_down) + (size_t)j * d->abi->n_work;
    int code = STIFFIT_RECOVERABLE;
    d->at.p = d->p_moved;
    if (isfinite(d->p_moved[j]) && (d->abi->n_work == 0 || (up ? d->has_up : d->has_down)[j]))
        code = call(d, q->function, q->where, q->rows, out, q->n_out, 1);
    d->at.p = p;
    d->at.work = own_work;
    return code;
}

/* d function / d p by differences, for the wanted parameters that enter it; the other wanted columns are 0. */
static int by_parameter(struct derivatives *d, struct quotient q, unsigned use, double *out)
{
    for (size_t k = 0; k < d->n_sens; k++) {
        uint32_t j = d->sens[k];
        double *column = out + (size_t)j * q.n_out;
        if (!(derivatives_use(d->abi, j) & use)) {
            memset(column, 0, q.n_out * sizeof(double));
            continue;
        }
        double h = parameter_step(d, j);
        int up = parameter_side(d, &q, j, h, true, d->up);
        int down = parameter_side(d, &q, j, -h, false, d->down);
        int code = combine(d, &q, up, down, exact_step(d->at.p[j], h), exact_step(d->at.p[j], -h), column);
        if (code != STIFFIT_OK)
            return code;
    }
    return STIFFIT_OK;
}

int derivatives_rhs(struct derivatives *d, double t, const double *y, double *ydot)
{
    d->n_rhs++;
    if (!move_to(d, "rhs", t, y))
        return STIFFIT_RECOVERABLE;
    return call(d, d->abi->rhs, "rhs", ROWS_ALL, ydot, d->abi->n_state, 1);
}

int derivatives_jacobian_sparse(struct derivatives *d, double t, const double *y, double *values)
{
    d->n_jacobian++;
    if (!move_to(d, "jacobian_sparse", t, y))
        return STIFFIT_RECOVERABLE;
    return call(d, d->abi->jacobian_sparse, "jacobian_sparse", ROWS_ALL, values, d->abi->n_nonzero, 1);
}

int derivatives_jacobian(struct derivatives *d, double t, const double *y, const double *f, bool rough,
                         double *jacobian)
{
    const struct stiffit_model *abi = d->abi;
    size_t n = abi->n_state;
    if (abi->jacobian) {
        d->n_jacobian++;
        if (!move_to(d, "jacobian", t, y))
            return STIFFIT_RECOVERABLE;
        return call(d, abi->jacobian, "jacobian", ROWS_ALL, jacobian, n * n, 1);
    }
    if (abi->jacobian_sparse) {
        int code = derivatives_jacobian_sparse(d, t, y, d->jacobian_values);
        if (code != STIFFIT_OK)
            return code;
        memset(jacobian, 0, n * n * sizeof(double));
        for (size_t j = 0; j < n; j++)
            for (int32_t k = abi->column_start[j]; k < abi->column_start[j + 1]; k++)
                jacobian[(size_t)abi->row_index[k] + j * n] = d->jacobian_values[k];
        return STIFFIT_OK;
    }
    d->n_jacobian++;
    d->n_rhs += (int64_t)(rough ? n : 2 * n);
    return by_state(d, (struct quotient){abi->rhs, "rhs", n, ROWS_ALL, false}, t, y, f, rough, jacobian);
}

int derivatives_rhs_parameter(struct derivatives *d, double t, const double *y, double *out)
{
    const struct stiffit_model *abi = d->abi;
    if (!move_to(d, "rhs_parameter", t, y))
        return STIFFIT_RECOVERABLE;
    if (abi->rhs_parameter)
        return call_by_parameter(d, abi->rhs_parameter, "rhs_parameter", ROWS_ALL, out, abi->n_state);
    d->n_rhs += 2 * (int64_t)d->n_sens;
    return by_parameter(d, (struct quotient){abi->rhs, "rhs", abi->n_state, ROWS_ALL, false}, STIFFIT_USE_RHS, out);
}

int derivatives_initial(struct derivatives *d, double *y)
{
    d->at.t = d->t0;
    d->at.y = NULL;
    return call(d, d->abi->initial, "initial", ROWS_ALL, y, d->abi->n_state, 1);
}

int derivatives_initial_parameter(struct derivatives *d, double *out)
{
    const struct stiffit_model *abi = d->abi;
    d->at.t = d->t0;
    d->at.y = NULL;
    if (abi->initial_parameter)
        return call_by_parameter(d, abi->initial_parameter, "initial_parameter", ROWS_ALL, out, abi->n_state);
    return by_parameter(d, (struct quotient){abi->initial, "initial", abi->n_state, ROWS_ALL, false}, STIFFIT_USE_INITIAL, out);
}

int derivatives_switching(struct derivatives *d, double t, const double *y, double *out)
{
    return move_to(d, "switching", t, y) ? d->abi->switching(&d->at, out) : STIFFIT_RECOVERABLE;
}

int derivatives_forcing(struct derivatives *d, double t, double *out)
{
    d->at.t = t;
    d->at.y = NULL;
    return d->abi->forcing(&d->at, out);
}

int derivatives_observe(struct derivatives *d, bool noise, double t, const double *y, double *out)
{
    const struct stiffit_model *abi = d->abi;
    const char *where = noise ? "noise" : "observe";
    if (!move_to(d, where, t, y))
        return STIFFIT_RECOVERABLE;
    int code = call(d, noise ? abi->noise : abi->observe, where, ROWS_WANTED, out, abi->n_observable, 1);
    for (size_t i = 0; noise && code == STIFFIT_OK && i < d->n_wanted; i++)
        if (!(out[d->wanted[i]] > 0))
            return fail(d, "noise (it must be above 0)", t, false, false);
    return code;
}

int derivatives_observe_state(struct derivatives *d, bool noise, double t, const double *y, double *out)
{
    const struct stiffit_model *abi = d->abi;
    stiffit_function *analytic = noise ? abi->noise_state : abi->observe_state;
    const char *where = noise ? "noise_state" : "observe_state";
    if (!analytic)
        return by_state(d, (struct quotient){noise ? abi->noise : abi->observe, noise ? "noise" : "observe",
                                             abi->n_observable, ROWS_WANTED, false}, t, y, NULL, false, out);
    if (!move_to(d, where, t, y))
        return STIFFIT_RECOVERABLE;
    return call(d, analytic, where, ROWS_WANTED, out, abi->n_observable, abi->n_state);
}

int derivatives_observe_parameter(struct derivatives *d, bool noise, double t, const double *y, double *out)
{
    const struct stiffit_model *abi = d->abi;
    stiffit_function *analytic = noise ? abi->noise_parameter : abi->observe_parameter;
    const char *where = noise ? "noise_parameter" : "observe_parameter";
    if (!move_to(d, where, t, y))
        return STIFFIT_RECOVERABLE;
    if (analytic)
        return call_by_parameter(d, analytic, where, ROWS_WANTED, out, abi->n_observable);
    return by_parameter(d, (struct quotient){noise ? abi->noise : abi->observe, noise ? "noise" : "observe",
                                             abi->n_observable, ROWS_WANTED, false},
                        noise ? STIFFIT_USE_NOISE : STIFFIT_USE_OBSERVE, out);
}
