/* Difference quotients take the place of missing derivatives. They are one-sided if the model cannot be evaluated on the other
 * side; for the right-hand side also if a switch lies there, whose jump is no derivative.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/quotient.h"

#include <float.h>
#include <math.h>
#include <string.h>

int model_fail(struct derivatives *d, const char *where, double t, bool not_finite, bool fatal)
{
    d->failure = (struct model_failure){.where = where, .t = t, .not_finite = not_finite, .fatal = fatal};
    return fatal ? STIFFIT_FATAL : STIFFIT_RECOVERABLE;
}

/* Whether the wanted numbers of a column are finite. */
static bool column_finite(const struct derivatives *d, enum rows rows, const double *column, size_t n_row)
{
    if (rows == ROWS_ALL)
        return all_finite(column, n_row);
    if (rows == ROWS_NONE)
        return true;
    for (size_t i = 0; i < d->n_wanted; i++)
        if (!isfinite(column[d->wanted[i]]))
            return false;
    return true;
}

/* Calls a function at the point d->at, which fills n_column columns. */
int model_call(struct derivatives *d, stiffit_function *function, const char *where, enum rows rows, double *out,
                size_t n_row, size_t n_column)
{
    int code = function(&d->at, out);
    if (code != STIFFIT_OK)
        return model_fail(d, where, d->at.t, false, code < 0);
    if (rows == ROWS_ALL) /* its columns are one piece */
        n_row *= n_column, n_column = 1;
    for (size_t j = 0; j < n_column; j++)
        if (!column_finite(d, rows, out + j * n_row, n_row))
            return model_fail(d, where, d->at.t, true, false);
    return STIFFIT_OK;
}

/* Calls a function that fills a matrix by parameter. */
int model_call_by_parameter(struct derivatives *d, stiffit_function *function, const char *where, enum rows rows,
                             double *out, size_t n_row)
{
    int code = function(&d->at, out);
    if (code != STIFFIT_OK)
        return model_fail(d, where, d->at.t, false, code < 0);
    for (size_t k = 0; k < d->feed.n_sens; k++)
        if (!column_finite(d, rows, out + d->feed.sens[k] * n_row, n_row))
            return model_fail(d, where, d->at.t, true, false);
    return STIFFIT_OK;
}

void model_set_time(struct derivatives *d, double t)
{
    d->at.t = t;
    for (size_t i = 0; i < d->abi->n_input; i++)
        d->input[i] = d->piece[i].value + d->piece[i].slope * (t - d->piece[i].since);
}

/* Sets the point. False, and a failure, if the state is not finite. */
bool model_move_to(struct derivatives *d, const char *where, double t, const double *y)
{
    model_set_time(d, t);
    d->at.y = y;
    if (all_finite(y, d->abi->n_state))
        return true;
    model_fail(d, where, t, true, false);
    return false;
}

double quotient_step(const struct derivatives *d, uint32_t j)
{
    double size = fabs(d->at.p[j]);
    if (size == 0 && d->abi->parameter_start && isfinite(d->abi->parameter_start[j]))
        size = fabs(d->abi->parameter_start[j]);
    return cbrt(DBL_EPSILON) * (size > 0 ? size : 1);
}

/* The step in a state is computed for at least this fraction of the state's largest value. */
#define SIZE_PART 1e-3

static int base_value(struct derivatives *d, struct quotient *q)
{
    if (q->have_base)
        return STIFFIT_OK;
    int code = model_call(d, q->function, q->where, q->rows, d->base, q->n_out, 1);
    q->have_base = code == STIFFIT_OK;
    return code;
}

static bool minds_switches(const struct derivatives *d, const struct quotient *q)
{
    return q->function == d->abi->rhs && d->abi->n_switching > 0 && !q->is_free;
}

/* If switches lie on both sides of a point, the quotient does not mind them. True: try again. */
static bool frees(const struct derivatives *d, struct quotient *q, int up, int down)
{
    bool again = minds_switches(d, q) && up == STIFFIT_RECOVERABLE && down == STIFFIT_RECOVERABLE;
    q->is_free = again;
    return again;
}

/* The signs of the switching functions at d->at, for differences of the right-hand side. */
static void take_signs(struct derivatives *d)
{
    if (d->abi->n_switching && d->abi->switching(&d->at, d->signs) != STIFFIT_OK)
        memset(d->signs, 0, d->abi->n_switching * sizeof(double));
}

/* Calls the function of a difference quotient at a moved point. A point beyond a switch has another right-hand side and fails.
 * */
static int call_moved(struct derivatives *d, const struct quotient *q, double *out)
{
    size_t n = minds_switches(d, q) ? d->abi->n_switching : 0;
    if (n > 0 && d->abi->switching(&d->at, d->signs + n) == STIFFIT_OK)
        for (size_t i = 0; i < n; i++)
            if ((d->signs[i] < 0) != (d->signs[n + i] < 0) && !isnan(d->signs[i]) && !isnan(d->signs[n + i]))
                return STIFFIT_RECOVERABLE;
    return model_call(d, q->function, q->where, q->rows, out, q->n_out, 1);
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
    return column_finite(d, q->rows, column, q->n_out) ? STIFFIT_OK : model_fail(d, q->where, d->at.t, true, false);
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
    int up, down = STIFFIT_RECOVERABLE;
    do {
        d->y_moved[j] = original + h;
        up = call_moved(d, q, d->up);
        if (!rough || up != STIFFIT_OK) {
            d->y_moved[j] = original - h;
            down = call_moved(d, q, d->down);
        }
    } while (frees(d, q, up, down));
    d->y_moved[j] = original;
    return combine(d, q, up, down, exact_step(original, h), exact_step(original, -h), column);
}

/* d function / d y by differences; `known` is the function's value at (t, y), or NULL. */
int quotient_by_state(struct derivatives *d, struct quotient q, double t, const double *y, const double *known,
                    bool rough,
                    double *out)
{
    size_t n = d->abi->n_state;
    if (!model_move_to(d, q.where, t, y))
        return STIFFIT_RECOVERABLE;
    if (known) {
        memcpy(d->base, known, q.n_out * sizeof(double));
        q.have_base = true;
    }
    memcpy(d->y_moved, y, n * sizeof(double));
    if (q.function == d->abi->rhs)
        take_signs(d);
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
        d->at.work = (up ? d->feed.work_up : d->feed.work_down) + (size_t)j * d->abi->n_work;
    int code = STIFFIT_RECOVERABLE;
    d->at.p = d->p_moved;
    if (isfinite(d->p_moved[j]) && (d->abi->n_work == 0 || (up ? d->feed.has_up : d->feed.has_down)[j]))
        code = call_moved(d, q, out);
    d->at.p = p;
    d->at.work = own_work;
    return code;
}

/* d function / d p by differences, for the wanted parameters that enter it; the other wanted columns are 0. */
int quotient_by_parameter(struct derivatives *d, struct quotient q, unsigned use, double *out)
{
    if (q.function == d->abi->rhs)
        take_signs(d);
    for (size_t k = 0; k < d->feed.n_sens; k++) {
        uint32_t j = d->feed.sens[k];
        double *column = out + (size_t)j * q.n_out;
        if (!(derivatives_use(d->abi, j) & use)) {
            memset(column, 0, q.n_out * sizeof(double));
            continue;
        }
        double h = quotient_step(d, j);
        int up, down;
        do {
            up = parameter_side(d, &q, j, h, true, d->up);
            down = parameter_side(d, &q, j, -h, false, d->down);
        } while (frees(d, &q, up, down));
        int code = combine(d, &q, up, down, exact_step(d->at.p[j], h), exact_step(d->at.p[j], -h), column);
        if (code != STIFFIT_OK)
            return code;
    }
    return STIFFIT_OK;
}

int quotient_by_time(struct derivatives *d, struct quotient q, double *column)
{
    double t = d->at.t, size = fmax(fabs(t), d->span), h = cbrt(DBL_EPSILON) * (size > 0 ? size : 1);
    model_set_time(d, t + h);
    int up = model_call(d, q.function, q.where, q.rows, d->up, q.n_out, 1);
    model_set_time(d, t - h);
    int down = model_call(d, q.function, q.where, q.rows, d->down, q.n_out, 1);
    model_set_time(d, t);
    return combine(d, &q, up, down, exact_step(t, h), exact_step(t, -h), column);
}
