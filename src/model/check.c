/* The model check: where the model is evaluated, and what is compared there. Points lie around
 * the start, with random parameters, at perturbed states along a crude trajectory, so that
 * nothing is zero only because of the initial state.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/check.h"

#include "base/random.h"
#include "model/check_call.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { DEFAULT_POINTS = 12, N_EULER = 24, N_TRY = 5, MAX_COLUMNS = 400 };
/* Random streams by purpose. */
enum {
    STREAM_PARAMETER = 1,
    STREAM_STATE,
    STREAM_TIME,
    STREAM_COLUMN,
    STREAM_DIRECTION,
    STREAM_SLOPE
};

struct check {
    const struct stiffit_model *abi;
    const struct check_options *options;
    struct check_report *report;
    struct caller caller;
    struct differences differences;
    double *center;         /* n_parameter: the point to check around */
    double *typical;        /* n_state: largest magnitude so far */
    double *rate;           /* n_state or n_observable */
    double *matrix;         /* the derivative being compared */
    /* its rows: sum of |d f_i / d x_j| |x_j|, the size of the terms of f_i */
    double *sum;
    double *scratch;        /* values of any base function */
    double *change;         /* n_state: size of the terms of LANES_CHANGE */
    double span;
    struct arena arena;
};

static enum status make_room(struct check *check)
{
    const struct stiffit_model *abi = check->abi;
    size_t n_row = abi->n_state > abi->n_observable ? abi->n_state : abi->n_observable;
    n_row = n_row > abi->n_work ? n_row : abi->n_work;
    n_row += (size_t)abi->n_switching + abi->n_event;
    if (caller_init(&check->caller, abi, check->report, &check->arena) != STATUS_OK ||
        differences_init(&check->differences, n_row, &check->arena) != STATUS_OK ||
        !ARENA_DOUBLES(&check->arena, {&check->center, abi->n_parameter, 1},
                       {&check->typical, abi->n_state, 1}, {&check->rate, n_row, 1},
                       {&check->sum, n_row, 1}, {&check->scratch, n_row, 1},
                       {&check->change, abi->n_state, 1}, {&check->matrix, check->caller.n_out, 1}))
        return STATUS_NO_MEMORY;
    for (size_t j = 0; j < abi->n_parameter; j++)
        check->center[j] = check->options->p ? check->options->p[j] :
                           abi->parameter_start ? abi->parameter_start[j] : 1;
    for (size_t j = 0; j < abi->n_covariate; j++)
        check->caller.covariate[j] = check->options->covariate ? check->options->covariate[j] : 1;
    for (size_t j = 0; j < abi->n_input; j++)
        check->caller.knot[j] = 1;
    return STATUS_OK;
}

/* Point 0 has the central parameters; at others they are perturbed by about a fifth, within the
 * bounds. */
static void choose_parameters(struct check *check, size_t i_point, double strength)
{
    const struct stiffit_model *abi = check->abi;
    for (size_t j = 0; j < abi->n_parameter; j++) {
        double p = check->center[j];
        double shake = i_point == 0 ? 0
                                    : 0.2 * strength *
                                          random_normal(check->options->seed, STREAM_PARAMETER,
                                                        i_point * abi->n_parameter + j);
        p = p != 0 ? p * exp(shake) : shake;
        if (abi->parameter_lower && p < abi->parameter_lower[j])
            p = abi->parameter_lower[j];
        if (abi->parameter_upper && p > abi->parameter_upper[j])
            p = abi->parameter_upper[j];
        check->caller.p[j] = p;
    }
}

static double largest_state(const struct check *check)
{
    double largest = 0;
    for (size_t i = 0; i < check->abi->n_state; i++)
        largest = fmax(largest, check->typical[i]);
    return largest > 0 ? largest : 1;
}

static void note_states(struct check *check)
{
    for (size_t i = 0; i < check->abi->n_state; i++)
        if (isfinite(check->caller.y[i]))
            check->typical[i] = fmax(check->typical[i], fabs(check->caller.y[i]));
}

/* Explicit Euler steps that change no state by more than a tenth (or a thousandth of the largest
 * state): not a solution, but a path through the region of the solution. Returns the time
 * covered. */
static double walk(struct check *check, size_t n_step)
{
    struct caller *caller = &check->caller;
    double begin = caller->t, largest = largest_state(check);
    for (size_t k = 0; k < n_step && caller_value(caller, CHECK_RHS, check->rate); k++) {
        double step = INFINITY;
        for (size_t i = 0; i < check->abi->n_state; i++)
            if (check->rate[i] != 0)
                step =
                    fmin(step, (0.1 * fabs(caller->y[i]) + 1e-3 * largest) / fabs(check->rate[i]));
        if (!isfinite(step))
            break;
        for (size_t i = 0; i < check->abi->n_state; i++)
            caller->y[i] += step * check->rate[i];
        caller->t += step;
        note_states(check);
    }
    return caller->t - begin;
}

/* Goes to point i_point. False: the model cannot be evaluated there, however small the
 * perturbation. */
static bool go_to_point(struct check *check, size_t i_point)
{
    struct caller *caller = &check->caller;
    const struct stiffit_model *abi = check->abi;
    double strength = 1;
    for (int attempt = 0; attempt < N_TRY; attempt++, strength *= attempt < N_TRY - 1 ? 0.3 : 0) {
        caller->t = abi->t0;
        choose_parameters(check, i_point, strength);
        if (!caller_prepare(caller) ||
            (abi->n_state > 0 && !caller_value(caller, CHECK_INITIAL, caller->y)))
            continue;
        note_states(check);
        double covered = abi->n_state > 0 && i_point > 0
                             ? walk(check, 1 + i_point * N_EULER / (i_point + 4))
                             : 0;
        if (!(check->span > 0) && covered > 0)
            check->span = 4 * covered;
        double largest = largest_state(check);
        for (size_t i = 0; i_point > 0 && i < abi->n_state; i++) {
            uint64_t counter = i_point * abi->n_state + i;
            caller->y[i] *=
                exp(0.3 * strength * random_normal(check->options->seed, STREAM_STATE, counter));
            if (caller->y[i] == 0)
                caller->y[i] = largest * 1e-3 *
                               exp(3 * random_normal(check->options->seed, STREAM_STATE, counter));
        }
        double span = check->span > 0 ? check->span : 1;
        if (i_point > 0)
            caller->t = abi->t0 + span * strength *
                                      random_uniform(check->options->seed, STREAM_TIME, i_point);
        if ((abi->n_state == 0 || caller_value(caller, CHECK_RHS, check->rate)) &&
            caller_value(caller, CHECK_OBSERVE, check->scratch) &&
            (!abi->noise || caller_value(caller, CHECK_NOISE, check->scratch))) {
            note_states(check);
            return true;
        }
    }
    return false;
}

/* A watched call of every function that should give a result. A failure is a finding. */
static bool watch(struct check *check, enum check_function function, double *result)
{
    int code = caller_watch(&check->caller, function, result);
    if (code == STIFFIT_OK)
        return true;
    caller_add(&check->caller, CHECK_FAILED, function, code, NAN);
    return false;
}

/* event_assign and its derivatives are checked for each event. */
static uint32_t calls_of(const struct stiffit_model *abi, enum check_function function)
{
    return check_shape(function)->base == CHECK_EVENT_ASSIGN ? abi->n_event : 1;
}

/* Calls functions in the order of their dependencies; functions that depend on a failed one are
 * not called. */
static void watch_values(struct check *check)
{
    const struct stiffit_model *abi = check->abi;
    if (abi->n_work > 0 && !watch(check, CHECK_PREPARE, check->matrix))
        return;
    if (abi->n_state > 0) {
        if (!watch(check, CHECK_INITIAL, check->matrix))
            return;
        watch(check, CHECK_RHS, check->matrix);
    }
    watch(check, CHECK_OBSERVE, check->matrix);
    for (int f = CHECK_SWITCHING; f < CHECK_LANES_RHS; f++)
        for (uint32_t event = 0;
             abi->n_state > 0 && check_pointer(abi, f) && event < calls_of(abi, f); event++) {
            check->caller.event = event;
            watch(check, f, check->matrix);
        }
    if (!abi->noise || !watch(check, CHECK_NOISE, check->matrix))
        return;
    for (size_t i = 0; i < abi->n_observable; i++)
        if (check->matrix[i] <= 0)
            check_add(check->report, abi,
                      &(struct check_finding){.kind = CHECK_INVALID, .function = CHECK_NOISE,
                                              .t = check->caller.t, .got = check->matrix[i],
                                              .expected = NAN},
                      (int64_t)i, CHECK_NO_INDEX);
}

static double variable_value(const struct check *check, enum check_axis axis, size_t j)
{
    return axis == AXIS_TIME    ? check->caller.t
           : axis == AXIS_STATE ? check->caller.y[j]
                                : check->caller.p[j];
}

static enum check_axis single(const struct check *check, enum check_axis axis, size_t j)
{
    return axis != AXIS_POINT ? axis : j < check->abi->n_state ? AXIS_STATE : AXIS_TIME;
}

static double variable_scale(const struct check *check, enum check_axis axis, size_t j)
{
    double x = axis == AXIS_TIME ? check->span : fabs(variable_value(check, axis, j));
    if (x > 0)
        return x;
    return axis != AXIS_STATE      ? 1
           : check->typical[j] > 0 ? check->typical[j]
                                   : largest_state(check);
}

/* Entry (i, j) of the matrix, and whether the sparse pattern has it. */
static double entry(const struct check *check, enum check_function function, size_t i, size_t j,
                    bool *is_there)
{
    const struct stiffit_model *abi = check->abi;
    *is_there = true;
    if (function != CHECK_JACOBIAN_SPARSE)
        return check->matrix[i + j * check_axis_size(abi, check_shape(function)->row)];
    for (int32_t k = abi->column_start[j]; k < abi->column_start[j + 1]; k++)
        if (abi->row_index[k] == (int32_t)i)
            return check->matrix[k];
    *is_there = false;
    return 0;
}

static void sum_terms(struct check *check, enum check_function function)
{
    const struct check_shape *shape = check_shape(function);
    size_t n_row = check_axis_size(check->abi, shape->row),
           n_column = check_axis_size(check->abi, shape->column);
    memset(check->sum, 0, n_row * sizeof *check->sum);
    if (shape->base == CHECK_LANES_CHANGE)
        memcpy(check->sum, check->change, n_row * sizeof *check->sum);
    for (size_t j = 0; j < n_column; j++) {
        double x = fabs(variable_value(check, single(check, shape->column, j), j));
        if (function == CHECK_JACOBIAN_SPARSE) {
            for (int32_t k = check->abi->column_start[j]; k < check->abi->column_start[j + 1]; k++)
                check->sum[check->abi->row_index[k]] += fabs(check->matrix[k]) * x;
        } else {
            for (size_t i = 0; i < n_row; i++)
                check->sum[i] += fabs(check->matrix[i + j * n_row]) * x;
        }
    }
}

/* The allowed difference between a correct derivative and its difference quotients: ten times
 * the error estimate of the extrapolation, which is a good guess but no bound; rounding inside
 * the function, where terms much larger than its value may cancel (their size is `sum`), over
 * the smallest step, 2^-12 of the scale; and 1e-7 of the number itself, which hides the model's
 * own rounding but reveals constants of six digits. */
static void compare_column(struct check *check, enum check_function function, size_t j)
{
    const struct check_shape *shape = check_shape(function);
    const struct differences *differences = &check->differences;
    enum check_axis axis = single(check, shape->column, j);
    double scale = variable_scale(check, axis, j);
    struct check_report *report = check->report;
    size_t n_row = check_axis_size(check->abi, shape->row);
    if (!differences_column(&check->differences, &check->caller, shape->base, shape->column, j,
                            scale)) {
        report->n_inconclusive[function] += n_row;
        return;
    }
    for (size_t i = 0; i < n_row; i++) {
        bool is_there;
        double got = entry(check, function, i, j, &is_there), expected = differences->derivative[i];
        double terms = fmax(check->sum[i], differences->size[i]);
        double error = 10 * differences->error[i] + 4096 * DBL_EPSILON * terms / scale;
        double largest = fmax(fabs(got), fabs(expected)), allowed = error + 1e-7 * largest;
        double off = fabs(got - expected);
        /* Time has no natural scale: differences of sin(2e4 pi t) at steps of 1/16 agree, and
         * are wrong. So may be those of second derivatives where a parameter moves a narrow
         * pulse. */
        bool is_narrow = axis == AXIS_TIME || shape->base == CHECK_LANES_CHANGE;
        if (off > allowed && (check->options->only_certain || is_narrow) &&
            !differences_contradict(&check->differences, &check->caller, shape->base, shape->column,
                                    j, i, got, terms)) {
            report->n_inconclusive[function]++;
            continue;
        }
        if (off > allowed) {
            check_add(report, check->abi,
                      &(struct check_finding){.kind = is_there ? CHECK_DERIVATIVE : CHECK_PATTERN,
                                              .function = function, .t = check->caller.t,
                                              .got = got, .expected = expected, .error = allowed},
                      (int64_t)i, (int64_t)j);
        } else if (allowed > 1e-2 * largest && allowed > 1e-6 * terms / scale) {
            report->n_inconclusive[function]++;
            continue;
        } else if (allowed > 0) {
            report->worst[function] = fmax(report->worst[function], off / allowed);
        }
        report->n_compared[function]++;
    }
}

static void compare_derivative(struct check *check, enum check_function function, size_t i_point)
{
    const struct check_shape *shape = check_shape(function);
    if (!check_is_there(check->abi, function) || check_axis_size(check->abi, shape->row) == 0 ||
        check_axis_size(check->abi, shape->column) == 0 || !watch(check, function, check->matrix))
        return;
    /* At the start itself states are often 0, where a model may have a kink. */
    if (i_point == 0)
        return;
    sum_terms(check, function);
    size_t n = check_axis_size(check->abi, shape->column), most = check->options->max_column;
    most = most ? most : MAX_COLUMNS;
    size_t n_used = n < most ? n : most;
    for (size_t k = 0; k < n_used; k++) {
        /* A certain fault must be found twice, so the same columns are compared at all points. */
        uint64_t stream = random_stream(STREAM_COLUMN, check->options->only_certain ? 0 : i_point);
        compare_column(check, function,
                       n == n_used ? k : random_permute(check->options->seed, stream, n, k));
    }
}

/* Lanes have the values of the function that they stand for, up to rounding in terms that may be
 * larger. */
static void compare_values(struct check *check, enum check_function function)
{
    const struct check_shape *shape = check_shape(function);
    size_t n = check_axis_size(check->abi, shape->row);
    if (!caller_value(&check->caller, shape->base, check->rate) ||
        !watch(check, function, check->scratch))
        return;
    for (size_t i = 0; i < n; i++) {
        double got = check->scratch[i], expected = check->rate[i],
               allowed = 1e-11 * (check->sum[i] + fabs(expected));
        if (!(fabs(got - expected) <= allowed))
            check_add(check->report, check->abi,
                      &(struct check_finding){.kind = CHECK_LANES, .function = function,
                                              .t = check->caller.t, .got = got,
                                              .expected = expected, .error = allowed},
                      (int64_t)i, CHECK_NO_INDEX);
    }
    check->report->n_compared[function] += n;
}

/* Adds the terms of a change along directions first, first + 1, ... to their size; their
 * derivatives are in the matrix. */
static void add_change(struct check *check, size_t first, size_t n_direction)
{
    size_t n = check->abi->n_state;
    for (size_t i = 0; first == 0 && i < n; i++)
        check->change[i] = 0;
    for (size_t j = 0; j < n_direction; j++)
        for (size_t i = 0; i < n; i++)
            check->change[i] += fabs(check->matrix[i + j * n] * check->caller.direction[first + j]);
}

/* Functions of lanes: derivatives by state come first, because they tell the size of the terms. */
static void check_lanes(struct check *check, size_t i_point)
{
    const struct stiffit_model *abi = check->abi;
    if (!abi->lanes)
        return;
    for (size_t j = 0; j <= abi->n_state; j++) {
        double factor = random_normal(check->options->seed, STREAM_DIRECTION,
                                      i_point * (abi->n_state + 1u) + j);
        enum check_axis axis = j < abi->n_state ? AXIS_STATE : AXIS_TIME;
        check->caller.direction[j] = factor * variable_scale(check, axis, j);
    }
    check->caller.is_moving = abi->n_input > 0;
    check->caller.t_moved = check->caller.t;
    for (size_t j = 0; j < abi->n_input; j++) {
        double factor =
            random_normal(check->options->seed, STREAM_SLOPE, i_point * abi->n_input + j);
        bool is_linear = abi->input_linear && abi->input_linear[j];
        factor *= (1 + fabs(check->caller.knot[j])) / variable_scale(check, AXIS_TIME, 0);
        check->caller.slope[j] = is_linear ? factor : 0;
    }
    for (int f = CHECK_LANES_BY_STATE; f < N_CHECK_FUNCTION; f++) {
        compare_derivative(check, f, i_point);
        if (f == CHECK_LANES_BY_STATE && i_point > 0) {
            add_change(check, 0, abi->n_state);
            compare_values(check, CHECK_LANES_RHS);
            compare_values(check, CHECK_LANES_DERIVE);
        } else if (f == CHECK_LANES_BY_TIME && i_point > 0) {
            add_change(check, abi->n_state, 1);
        } else if (f == CHECK_LANES_OBSERVE_STATE && i_point > 0 && abi->lanes->observe) {
            compare_values(check, CHECK_LANES_OBSERVE);
        } else if (f == CHECK_LANES_NOISE_STATE && i_point > 0 && abi->lanes->noise) {
            compare_values(check, CHECK_LANES_NOISE);
        }
    }
    check->caller.is_moving = false;
}

/* Whether parameter j changes `function` although its mask denies it. Rounding may do so: a term
 * that cancels. */
static void check_mask(struct check *check, enum check_function function, unsigned bit, size_t j)
{
    const struct stiffit_model *abi = check->abi;
    struct caller *caller = &check->caller;
    size_t n = check_size(abi, function);
    double p = caller->p[j];
    if ((abi->parameter_use[j] & bit) || !check_pointer(abi, function) ||
        !caller_value(caller, function, check->scratch))
        return;
    static const double factors[] = {1.05, 0.7};
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        caller->p[j] = p != 0 ? p * factors[k] : factors[k] - 1;
        if (!caller_prepare(caller) || !caller_value(caller, function, check->matrix))
            continue;
        for (size_t i = 0; i < n; i++) {
            double before = check->scratch[i], after = check->matrix[i];
            if (fabs(after - before) >
                (check->options->only_certain ? 1e-3 : 1e-12) * fmax(fabs(after), fabs(before)))
                check_add(check->report, abi,
                          &(struct check_finding){.kind = CHECK_MASK, .function = function,
                                                  .t = caller->t, .got = after, .expected = before},
                          CHECK_NO_INDEX, (int64_t)j);
        }
    }
    caller->p[j] = p;
    (void)caller_prepare(caller);
}

static void check_masks(struct check *check)
{
    const struct stiffit_model *abi = check->abi;
    for (size_t j = 0; abi->parameter_use && j < abi->n_parameter; j++) {
        if (abi->n_state > 0) {
            check_mask(check, CHECK_RHS, STIFFIT_USE_RHS, j);
            check_mask(check, CHECK_INITIAL, STIFFIT_USE_INITIAL, j);
            for (int f = CHECK_SWITCHING_TIME; f <= CHECK_EVENT_DELAY; f++)
                for (uint32_t event = 0; event < calls_of(abi, f); event++) {
                    check->caller.event = event;
                    check_mask(check, f, STIFFIT_USE_EVENT, j);
                }
        }
        check_mask(check, CHECK_OBSERVE, STIFFIT_USE_OBSERVE, j);
        check_mask(check, CHECK_NOISE, STIFFIT_USE_NOISE, j);
    }
}

/* Whether the rates change when only time does. */
static bool moves_in_time(struct check *check)
{
    struct caller *caller = &check->caller;
    double t = caller->t, *later = check->matrix;
    bool moves = false, good = caller_value(caller, CHECK_RHS, check->rate);
    caller->t = t + 0.37 * (check->span > 0 ? check->span : 1);
    good = good && caller_value(caller, CHECK_RHS, later);
    for (size_t i = 0; good && i < check->abi->n_state; i++)
        moves = moves || later[i] != check->rate[i];
    caller->t = t;
    return moves;
}

enum status model_check(const struct model *model, const struct check_options *options,
                        struct check_report *report, struct error *error)
{
    *report = (struct check_report){0};
    struct check check = {.abi = &model->abi,
                          .options = options, .report = report, .span = options->t_span};
    size_t n_point = options->n_point ? options->n_point : DEFAULT_POINTS;
    enum status status = make_room(&check);
    if (status != STATUS_OK) {
        error_set(error, status, "%s: out of memory while checking the model",
                  model->path ? model->path : "model");
        goto done;
    }
    check.caller.alarm_s = options->alarm_s;
    for (size_t i = 0; i < n_point; i++) {
        /* The model must work at the start. Elsewhere it may fail, and the point is skipped; but
         * not everywhere. */
        bool here = go_to_point(&check, i);
        if (here || i == 0 || (i == n_point - 1 && report->n_point <= 1))
            watch_values(&check);
        if (!here)
            continue;
        report->n_point++;
        if (model->abi.n_state > 0 && model->abi.n_forcing == 0 && !(model->abi.max_step > 0) &&
            !model->source)
            report->has_hidden_input = report->has_hidden_input || moves_in_time(&check);
        for (int f = CHECK_JACOBIAN; f < CHECK_LANES_BY_STATE; f++)
            for (uint32_t event = 0; event < calls_of(check.abi, f); event++) {
                check.caller.event = event;
                compare_derivative(&check, f, i);
            }
        check_lanes(&check, i);
        check_masks(&check);
    }
done:
    arena_fini(&check.arena);
    return status;
}
