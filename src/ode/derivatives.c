/* The model's functions: the plugin's own, with checks, or difference quotients in place of
 * missing derivatives. Quotients are one-sided if the model cannot be evaluated on the other
 * side; for the right-hand side also if a switch lies there, whose jump is no derivative.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/derivatives.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The results to check: all, only the observables in d->wanted, or none. */
enum rows { ROWS_ALL, ROWS_WANTED, ROWS_NONE };

/* One difference quotient, from the values on both sides or on one. `base` is computed at most
 * once per matrix, if have_base is false. */
struct quotient {
    stiffit_function *function;
    const char *where;
    size_t n_out;
    enum rows rows;
    bool have_base;
    bool is_free; /* points beyond a switch count, too */
};

/* Records a failure; STIFFIT_RECOVERABLE, or STIFFIT_FATAL. */
static int model_fail(struct derivatives *d, const char *where, double t, bool not_finite,
                      bool fatal)
{
    d->failure =
        (struct model_failure){.where = where, .t = t, .not_finite = not_finite, .fatal = fatal};
    return fatal ? STIFFIT_FATAL : STIFFIT_RECOVERABLE;
}

/* Whether the wanted numbers of a column are finite. */
static bool column_finite(const struct derivatives *d, enum rows rows, const double *column,
                          size_t n_row)
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
static int model_call(struct derivatives *d, stiffit_function *function, const char *where,
                      enum rows rows, double *out, size_t n_row, size_t n_column)
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
static int model_call_by_parameter(struct derivatives *d, stiffit_function *function,
                                   const char *where, enum rows rows, double *out, size_t n_row)
{
    int code = function(&d->at, out);
    if (code != STIFFIT_OK)
        return model_fail(d, where, d->at.t, false, code < 0);
    for (size_t k = 0; k < d->set.n_sens; k++)
        if (!column_finite(d, rows, out + d->set.sens[k] * n_row, n_row))
            return model_fail(d, where, d->at.t, true, false);
    return STIFFIT_OK;
}

/* Sets the time and the inputs at that time. */
static void model_set_time(struct derivatives *d, double t)
{
    d->at.t = t;
    for (size_t i = 0; i < d->abi->n_input; i++)
        d->input[i] = d->piece[i].value + d->piece[i].slope * (t - d->piece[i].since);
}

/* Sets the point. False, and a failure, if the state is not finite. */
static bool model_move_to(struct derivatives *d, const char *where, double t, const double *y)
{
    model_set_time(d, t);
    d->at.y = y;
    if (all_finite(y, d->abi->n_state))
        return true;
    model_fail(d, where, t, true, false);
    return false;
}

/* The step in a parameter. */
static double quotient_step(const struct derivatives *d, uint32_t j)
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

/* Calls the function of a difference quotient at a moved point. A point beyond a switch has
 * another right-hand side and fails. */
static int call_moved(struct derivatives *d, const struct quotient *q, double *out)
{
    size_t n = minds_switches(d, q) ? d->abi->n_switching : 0;
    if (n > 0 && d->abi->switching(&d->at, d->signs + n) == STIFFIT_OK)
        for (size_t i = 0; i < n; i++)
            if ((d->signs[i] < 0) != (d->signs[n + i] < 0) && !isnan(d->signs[i]) &&
                !isnan(d->signs[n + i]))
                return STIFFIT_RECOVERABLE;
    return model_call(d, q->function, q->where, q->rows, out, q->n_out, 1);
}

static int combine(struct derivatives *d, struct quotient *q, int up, int down, double h_up,
                   double h_down, double *column)
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
    return column_finite(d, q->rows, column, q->n_out)
               ? STIFFIT_OK
               : model_fail(d, q->where, d->at.t, true, false);
}

/* The step that is actually made, y + h - y in floating point; the compiler must not simplify
 * it. */
static double exact_step(double x, double h)
{
    volatile double moved = x + h;
    return fabs(moved - x);
}

static int state_column(struct derivatives *d, struct quotient *q, const double *y, size_t j,
                        bool rough, double *column)
{
    double floor =
        d->floor > 0 ? d->floor : SIZE_PART * fmax(d->sizes[j], d->sizes[j + d->abi->n_state]);
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
static int quotient_by_state(struct derivatives *d, struct quotient q, double t, const double *y,
                             const double *known, bool rough, double *out)
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

static int parameter_side(struct derivatives *d, struct quotient *q, uint32_t j, double h, bool up,
                          double *out)
{
    const double *p = d->at.p, *own_work = d->at.work;
    memcpy(d->p_moved, p, d->abi->n_parameter * sizeof(double));
    d->p_moved[j] += h;
    if (d->abi->n_work)
        d->at.work = (up ? d->set.work_up : d->set.work_down) + (size_t)j * d->abi->n_work;
    int code = STIFFIT_RECOVERABLE;
    d->at.p = d->p_moved;
    if (isfinite(d->p_moved[j]) &&
        (d->abi->n_work == 0 || (up ? d->set.has_up : d->set.has_down)[j]))
        code = call_moved(d, q, out);
    d->at.p = p;
    d->at.work = own_work;
    return code;
}

/* d function / d p by differences, for the wanted parameters that enter it; the other wanted
 * columns are 0. */
static int quotient_by_parameter(struct derivatives *d, struct quotient q, unsigned use,
                                 double *out)
{
    if (q.function == d->abi->rhs)
        take_signs(d);
    for (size_t k = 0; k < d->set.n_sens; k++) {
        uint32_t j = d->set.sens[k];
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
        int code =
            combine(d, &q, up, down, exact_step(d->at.p[j], h), exact_step(d->at.p[j], -h), column);
        if (code != STIFFIT_OK)
            return code;
    }
    return STIFFIT_OK;
}

/* d function / d t at d->at, with inputs that move along. */
static int quotient_by_time(struct derivatives *d, struct quotient q, double *column)
{
    double t = d->at.t, size = fmax(fabs(t), d->span),
           h = cbrt(DBL_EPSILON) * (size > 0 ? size : 1);
    model_set_time(d, t + h);
    int up = model_call(d, q.function, q.where, q.rows, d->up, q.n_out, 1);
    model_set_time(d, t - h);
    int down = model_call(d, q.function, q.where, q.rows, d->down, q.n_out, 1);
    model_set_time(d, t);
    return combine(d, &q, up, down, exact_step(t, h), exact_step(t, -h), column);
}

/* The time at which the right-hand side is evaluated for t. */
static double inside(const struct derivatives *d, double t)
{
    return t < d->since ? d->since : t > d->until ? d->until : t;
}

/* The functions with derivatives by state and parameter, other than the right-hand side and the
 * initial state. */
static const struct row {
    const char *name, *name_state, *name_parameter;
    /* offsets in struct stiffit_model; 0: there is none */
    size_t value, by_state, by_parameter, n_row;
    enum rows rows;
    unsigned use;
} row_of[N_POINT_FUNCTION] = {
#define AT(field) offsetof(struct stiffit_model, field)
#define ROW(field, n_row, rows, use) {#field, #field "_state", #field "_parameter", \
                                      AT(field), AT(field##_state), AT(field##_parameter), \
                                      AT(n_row), rows, use}
#define ROW_OF_TIME(field, n_row) {#field, NULL, #field "_parameter", AT(field), 0, \
    AT(field##_parameter), AT(n_row), \
                                   ROWS_NONE, ~0u}
    [MODEL_OBSERVE] = ROW(observe, n_observable, ROWS_WANTED, STIFFIT_USE_OBSERVE),
    [MODEL_NOISE] = ROW(noise, n_observable, ROWS_WANTED, STIFFIT_USE_NOISE),
    [MODEL_WHEN] = ROW(event_when, n_event, ROWS_NONE, ~0u),
    [MODEL_ASSIGN] = ROW(event_assign, n_state, ROWS_ALL, ~0u),
    [MODEL_DELAY] = ROW(event_delay, n_event, ROWS_NONE, ~0u),
    [MODEL_LAG] = ROW_OF_TIME(lag, n_state),
    [MODEL_BIOAVAILABILITY] = ROW_OF_TIME(bioavailability, n_state),
    [MODEL_INFUSION] = ROW_OF_TIME(infusion, n_state),
    [MODEL_SWITCHING_TIME] = ROW_OF_TIME(switching_time, n_switching),
    [MODEL_SWITCHING] = {"switching", "switching_state", "switching_slope", AT(switching),
                         AT(switching_state), AT(switching_slope), AT(n_switching), ROWS_NONE, ~0u},
    [MODEL_PRIORITY] = {"event_priority", NULL, NULL, AT(event_priority), 0, 0, AT(n_event),
                        ROWS_NONE, 0},
};

static stiffit_function *function_at(const struct stiffit_model *abi, size_t offset)
{
    return offset ? *(stiffit_function *const *)((const char *)abi + offset) : NULL;
}

static size_t row_count(const struct stiffit_model *abi, enum point_function which)
{
    return *(const uint32_t *)((const char *)abi + row_of[which].n_row);
}

bool derivatives_is_there(const struct derivatives *d, enum point_function which)
{
    return row_count(d->abi, which) > 0 && function_at(d->abi, row_of[which].value) != NULL;
}

static bool lacks_parameter_derivative(const struct stiffit_model *abi)
{
    for (int i = 0; i < N_POINT_FUNCTION; i++)
        if (row_of[i].use && function_at(abi, row_of[i].value) &&
            !function_at(abi, row_of[i].by_parameter))
            return true;
    return abi->n_state && (!abi->rhs_parameter || !abi->initial_parameter);
}

static bool parameter_set_init(struct parameter_set *set, const struct stiffit_model *abi)
{
    size_t n_moved = lacks_parameter_derivative(abi) ? (size_t)abi->n_work * abi->n_parameter : 0;
    set->sens = calloc(abi->n_parameter + 1, sizeof *set->sens);
    set->work = calloc(abi->n_work + 1, sizeof(double));
    set->work_up = calloc(n_moved + 1, sizeof(double));
    set->work_down = calloc(n_moved + 1, sizeof(double));
    set->has_up = calloc(abi->n_parameter + 1, sizeof(bool));
    set->has_down = calloc(abi->n_parameter + 1, sizeof(bool));
    return set->sens && set->work && set->work_up && set->work_down && set->has_up && set->has_down;
}

bool derivatives_init(struct derivatives *d, const struct stiffit_model *abi)
{
    *d = (struct derivatives){.abi = abi};
    size_t n = abi->n_state, n_out = (n > abi->n_observable ? n : abi->n_observable) + 1;
    n_out += (size_t)abi->n_switching + abi->n_event;
    d->wanted = calloc(abi->n_observable + 1, sizeof(uint32_t));
    d->p_moved = calloc(abi->n_parameter + 1, sizeof(double));
    d->y_moved = calloc(n + 1, sizeof(double));
    d->y_lifted = calloc(n + 1, sizeof(double));
    d->up = calloc(n_out, sizeof(double));
    d->down = calloc(n_out, sizeof(double));
    d->base = calloc(n_out, sizeof(double));
    d->jacobian_values = calloc((size_t)abi->n_nonzero + 1, sizeof(double));
    d->input = calloc((size_t)abi->n_input + 1, sizeof(double));
    d->signs = calloc(2 * (size_t)abi->n_switching + 1, sizeof(double));
    return parameter_set_init(&d->set, abi) && parameter_set_init(&d->other, abi) && d->input &&
           d->signs && d->wanted && d->p_moved && d->y_moved && d->y_lifted &&
           d->up && d->down && d->base && d->jacobian_values;
}

static void parameter_set_fini(struct parameter_set *set)
{
    free(set->sens);
    free(set->work);
    free(set->work_up);
    free(set->work_down);
    free(set->has_up);
    free(set->has_down);
}

void derivatives_fini(struct derivatives *d)
{
    free(d->wanted);
    parameter_set_fini(&d->set);
    parameter_set_fini(&d->other);
    free(d->p_moved);
    free(d->y_moved);
    free(d->y_lifted);
    free(d->up);
    free(d->down);
    free(d->base);
    free(d->jacobian_values);
    free(d->input);
    free(d->signs);
    *d = (struct derivatives){0};
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

int derivatives_begin(struct derivatives *d, const double *p, const double *covariate, double t0,
                      size_t n_sens, const uint32_t *sens)
{
    d->at = (struct stiffit_point){.covariate = covariate};
    d->t0 = t0;
    d->since = -INFINITY;
    d->until = INFINITY;
    d->is_infused = false;
    d->n_rhs = d->n_jacobian = 0;
    d->failure = (struct model_failure){0};
    return derivatives_set(d, p, n_sens, sens);
}

int derivatives_set(struct derivatives *d, const double *p, size_t n_sens, const uint32_t *sens)
{
    const struct stiffit_model *abi = d->abi;
    struct parameter_set *set = &d->set;
    d->at = (struct stiffit_point){.t = d->t0, .p = p, .covariate = d->at.covariate};
    set->p = p;
    set->n_sens = 0;
    for (size_t k = 0; k < n_sens; k++)
        if (sens[k] < abi->n_parameter)
            set->sens[set->n_sens++] = sens[k];
    if (!all_finite(p, abi->n_parameter) || !isfinite(d->t0))
        return model_fail(d, "parameters", d->t0, true, false);
    if (!abi->prepare || abi->n_work == 0) {
        d->at.input = abi->n_input ? d->input : NULL;
        return STIFFIT_OK;
    }
    /* Results of `prepare` may be infinite or NaN: a model may not use them. If it does, its own
     * results fail the check. */
    int code = abi->prepare(&d->at, set->work);
    if (code != STIFFIT_OK)
        return model_fail(d, "prepare", d->t0, false, code < 0);
    for (size_t k = 0; k < set->n_sens && lacks_parameter_derivative(abi); k++) {
        uint32_t j = set->sens[k];
        double step = quotient_step(d, j);
        size_t offset = (size_t)j * abi->n_work;
        set->has_up[j] = prepare_moved(d, j, step, set->work_up + offset);
        set->has_down[j] = prepare_moved(d, j, -step, set->work_down + offset);
    }
    d->at.work = set->work;
    d->at.input = abi->n_input ? d->input : NULL;
    return STIFFIT_OK;
}

void derivatives_swap(struct derivatives *d)
{
    struct parameter_set set = d->set;
    d->set = d->other;
    d->other = set;
    d->at.p = d->set.p;
    d->at.work = d->abi->prepare && d->abi->n_work ? d->set.work : NULL;
    d->at.input = d->abi->n_input ? d->input : NULL;
}

static struct quotient rhs_quotient(const struct derivatives *d)
{
    return (struct quotient){.function = d->abi->rhs,
                             .where = "rhs", .n_out = d->abi->n_state, .rows = ROWS_ALL};
}

static bool is_lifted(const struct derivatives *d, const double *y, size_t i)
{
    return d->is_kept[i] && y[i] <= 0;
}

/* Moves d->at to the least normal number in place of the states that errors have taken to zero or
 * below, from where the equations keep them. False: there are none. */
static bool lift(struct derivatives *d)
{
    const double *y = d->at.y;
    bool any = false;
    for (size_t i = 0; d->is_kept && i < d->abi->n_state; i++) {
        d->y_lifted[i] = is_lifted(d, y, i) ? DBL_MIN : y[i];
        any = any || is_lifted(d, y, i);
    }
    d->at.y = any ? d->y_lifted : y;
    return any;
}

/* Calls the right-hand side or its derivatives by state at d->at; if that fails, as a power with a
 * broken exponent does at zero or below, with such states lifted. */
static int call_lifting(struct derivatives *d, stiffit_function *function, const char *where,
                        double *out, size_t n_out, bool *has_lifted)
{
    int code = model_call(d, function, where, ROWS_ALL, out, n_out, 1);
    *has_lifted = code == STIFFIT_RECOVERABLE && lift(d);
    return *has_lifted ? model_call(d, function, where, ROWS_ALL, out, n_out, 1) : code;
}

/* Nothing depends on a lifted state, which is at zero as long as nothing else makes it grow. One
 * that could grow by itself from zero, as in x' = x^0.5, has no single solution there. `own`: the
 * entry of its column for itself. */
static int flatten(struct derivatives *d, const char *where, double *column, size_t n, double own)
{
    memset(column, 0, n * sizeof *column);
    return own > 0 ? model_fail(d, where, d->at.t, true, false) : STIFFIT_OK;
}

/* The diagonal's entry of column j; 0: there is none. */
static double diagonal(const struct stiffit_model *abi, const double *values, size_t j)
{
    for (int32_t k = abi->column_start[j]; k < abi->column_start[j + 1]; k++)
        if ((size_t)abi->row_index[k] == j)
            return values[k];
    return 0;
}

int derivatives_rhs(struct derivatives *d, double t, const double *y, double *ydot)
{
    d->n_rhs++;
    if (!model_move_to(d, "rhs", inside(d, t), y))
        return STIFFIT_RECOVERABLE;
    bool has_lifted;
    int code = call_lifting(d, d->abi->rhs, "rhs", ydot, d->abi->n_state, &has_lifted);
    for (size_t i = 0; has_lifted && i < d->abi->n_state; i++)
        ydot[i] = is_lifted(d, y, i) ? fmax(ydot[i], 0) : ydot[i];
    for (size_t i = 0; d->is_infused && i < d->abi->n_state; i++)
        ydot[i] += d->rate[i];
    return code;
}

int derivatives_jacobian_sparse(struct derivatives *d, double t, const double *y, double *values)
{
    d->n_jacobian++;
    if (!model_move_to(d, "jacobian_sparse", inside(d, t), y))
        return STIFFIT_RECOVERABLE;
    const struct stiffit_model *abi = d->abi;
    const char *where = "jacobian_sparse";
    bool has_lifted;
    int code =
        call_lifting(d, abi->jacobian_sparse, where, values, abi->n_nonzero, &has_lifted);
    for (size_t j = 0; has_lifted && j < abi->n_state && code == STIFFIT_OK; j++) {
        int32_t first = abi->column_start[j], end = abi->column_start[j + 1];
        if (is_lifted(d, y, j))
            code = flatten(d, where, values + first, (size_t)(end - first),
                           diagonal(abi, values, j));
    }
    return code;
}

int derivatives_jacobian(struct derivatives *d, double t, const double *y, const double *f,
                         bool rough, double *jacobian)
{
    const struct stiffit_model *abi = d->abi;
    size_t n = abi->n_state;
    if (abi->jacobian) {
        d->n_jacobian++;
        if (!model_move_to(d, "jacobian", inside(d, t), y))
            return STIFFIT_RECOVERABLE;
        bool has_lifted;
        int code = call_lifting(d, abi->jacobian, "jacobian", jacobian, n * n, &has_lifted);
        for (size_t j = 0; has_lifted && j < n && code == STIFFIT_OK; j++)
            if (is_lifted(d, y, j))
                code = flatten(d, "jacobian", jacobian + j * n, n, jacobian[j + j * n]);
        return code;
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
    return quotient_by_state(d, rhs_quotient(d), inside(d, t), y, d->is_infused ? NULL : f, rough,
                             jacobian);
}

int derivatives_inflow(struct derivatives *d, double t, const double *y, const double *amount,
                       double *jacobian, double *inflow, double *decay)
{
    const struct stiffit_model *abi = d->abi;
    size_t n = abi->n_state;
    bool sparse = !abi->jacobian && abi->jacobian_sparse;
    int code = sparse ? derivatives_jacobian_sparse(d, t, y, jacobian)
                      : derivatives_jacobian(d, t, y, NULL, true, jacobian);
    if (code != STIFFIT_OK)
        return code;
    memset(inflow, 0, n * sizeof *inflow);
    memset(decay, 0, n * sizeof *decay);
    for (size_t j = 0; j < n && !sparse; j++) {
        const double *column = jacobian + j * n;
        double part = inflow[j], own = column[j];
        for (size_t i = 0; i < n; i++)
            inflow[i] += fabs(column[i] * amount[j]);
        inflow[j] = part;
        decay[j] = own > 0 ? 0 : -own; /* fmax is a library call */
    }
    for (size_t j = 0; j < n && sparse; j++)
        for (int32_t k = abi->column_start[j]; k < abi->column_start[j + 1]; k++) {
            size_t i = (size_t)abi->row_index[k];
            if (i == j)
                decay[i] = jacobian[k] > 0 ? 0 : -jacobian[k];
            else
                inflow[i] += fabs(jacobian[k] * amount[j]);
        }
    return STIFFIT_OK;
}

int derivatives_rhs_parameter(struct derivatives *d, double t, const double *y, double *out)
{
    const struct stiffit_model *abi = d->abi;
    if (!model_move_to(d, "rhs_parameter", inside(d, t), y))
        return STIFFIT_RECOVERABLE;
    int code;
    if (abi->rhs_parameter) {
        const char *where = "rhs_parameter";
        code = model_call_by_parameter(d, abi->rhs_parameter, where, ROWS_ALL, out, abi->n_state);
        if (code == STIFFIT_RECOVERABLE && lift(d))
            code = model_call_by_parameter(d, abi->rhs_parameter, where, ROWS_ALL, out,
                                           abi->n_state);
    } else {
        d->n_rhs += 2 * (int64_t)d->set.n_sens;
        code = quotient_by_parameter(d, rhs_quotient(d), STIFFIT_USE_RHS, out);
    }
    for (size_t k = 0; d->is_infused && k < d->set.n_sens; k++)
        for (size_t i = 0, j = d->set.sens[k]; i < abi->n_state; i++)
            out[i + j * abi->n_state] += d->rate_parameter[i + j * abi->n_state];
    return code;
}

int derivatives_initial(struct derivatives *d, double *y)
{
    model_set_time(d, d->t0);
    d->at.y = NULL;
    return model_call(d, d->abi->initial, "initial", ROWS_ALL, y, d->abi->n_state, 1);
}

int derivatives_initial_parameter(struct derivatives *d, double *out)
{
    const struct stiffit_model *abi = d->abi;
    model_set_time(d, d->t0);
    d->at.y = NULL;
    if (abi->initial_parameter)
        return model_call_by_parameter(d, abi->initial_parameter, "initial_parameter", ROWS_ALL,
                                       out, abi->n_state);
    const struct quotient q = {.function = abi->initial,
                               .where = "initial", .n_out = abi->n_state, .rows = ROWS_ALL};
    return quotient_by_parameter(d, q, STIFFIT_USE_INITIAL, out);
}

int derivatives_fail(struct derivatives *d, const char *where, double t, bool not_finite)
{
    return model_fail(d, where, t, not_finite, false);
}

/* For difference quotients of a function. */
static struct quotient quotient_of(const struct derivatives *d, enum point_function which)
{
    const struct row *row = &row_of[which];
    return (struct quotient){.function = function_at(d->abi, row->value), .where = row->name,
                             .n_out = row_count(d->abi, which), .rows = row->rows};
}

/* model_move_to; but y may be NULL for a function that takes none. */
static bool move_anywhere(struct derivatives *d, const char *where, double t, const double *y)
{
    if (y || d->abi->n_state == 0)
        return model_move_to(d, where, t, y);
    model_set_time(d, t);
    d->at.y = NULL;
    return true;
}

int derivatives_value(struct derivatives *d, enum point_function which, double t, const double *y,
                      double *out)
{
    struct quotient q = quotient_of(d, which);
    if (!move_anywhere(d, q.where, t, y))
        return STIFFIT_RECOVERABLE;
    int code = model_call(d, q.function, q.where, q.rows, out, q.n_out, 1);
    for (size_t i = 0; which == MODEL_NOISE && code == STIFFIT_OK && i < d->n_wanted; i++)
        if (!(out[d->wanted[i]] > 0))
            return model_fail(d, "noise (it must be above 0)", t, false, false);
    return code;
}

int derivatives_by_state(struct derivatives *d, enum point_function which, double t,
                         const double *y, double *out)
{
    struct quotient q = quotient_of(d, which);
    stiffit_function *analytic = function_at(d->abi, row_of[which].by_state);
    if (!analytic)
        return quotient_by_state(d, q, t, y, NULL, false, out);
    size_t n_column = d->abi->n_state + (q.rows == ROWS_WANTED ? 0 : 1);
    if (!model_move_to(d, row_of[which].name_state, t, y))
        return STIFFIT_RECOVERABLE;
    return model_call(d, analytic, row_of[which].name_state, q.rows, out, q.n_out, n_column);
}

int derivatives_by_state_and_time(struct derivatives *d, enum point_function which, double t,
                                  const double *y, double *out)
{
    int code = derivatives_by_state(d, which, t, y, out);
    if (code != STIFFIT_OK || (function_at(d->abi, row_of[which].by_state) && d->abi->n_input == 0))
        return code;
    return quotient_by_time(d, quotient_of(d, which),
                            out + d->abi->n_state * row_count(d->abi, which));
}

int derivatives_by_parameter(struct derivatives *d, enum point_function which, double t,
                             const double *y, double *out)
{
    struct quotient q = quotient_of(d, which);
    stiffit_function *analytic = function_at(d->abi, row_of[which].by_parameter);
    if (!move_anywhere(d, row_of[which].name_parameter, t, y))
        return STIFFIT_RECOVERABLE;
    return analytic ? model_call_by_parameter(d, analytic, row_of[which].name_parameter, q.rows,
                                              out, q.n_out)
                    : quotient_by_parameter(d, q, row_of[which].use, out);
}

int derivatives_forcing(struct derivatives *d, double t, double *out)
{
    struct stiffit_point at = d->at;
    at.t = t;
    at.y = at.input = NULL;
    return d->abi->forcing(&at, out);
}

int derivatives_forcing_range(const struct derivatives *d, double from, double to, double *out)
{
    struct stiffit_point at = d->at;
    at.t = from;
    at.y = at.input = NULL;
    return d->abi->forcing_range(&at, to, out);
}
