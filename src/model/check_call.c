/* Watched calls: what a function may and may not touch is checked on every one of them; and
 * derivatives by Richardson-extrapolated central differences: C. J. F. Ridders (1982), Accurate
 * computation of F'(x) and F'(x)F''(x), Advances in Engineering Software 4, 75-76.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/check_call.h"

#include "base/floating.h"
#include "base/process.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GUARD = 32, N_INPUT = N_CHECK_INPUT };

/* Two quiet NaNs that no arithmetic produces. An entry that contains first one and then the
 * other was written by neither call. */
static const uint64_t canary[2] = {0x7ff8dead0000beefu, 0x7ff8c0de0000f00du};

static void fill(double *out, size_t n, uint64_t pattern)
{
    for (size_t i = 0; i < n; i++)
        memcpy(out + i, &pattern, sizeof pattern);
}

static bool holds(const double *value, uint64_t pattern)
{
    return memcmp(value, &pattern, sizeof pattern) == 0;
}

static bool guards_hold(const double *out, size_t n, uint64_t pattern)
{
    for (size_t i = 1; i <= GUARD; i++)
        if (!holds(out - i, pattern) || !holds(out + n - 1 + i, pattern))
            return false;
    return true;
}

static void add_to_fingerprint(uint64_t *fingerprint, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    uint64_t hash = *fingerprint ? *fingerprint : 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    *fingerprint = hash;
}

static size_t input_size(const struct stiffit_model *abi, int input)
{
    const size_t sizes[N_INPUT] = {abi->n_state, abi->n_parameter, abi->n_covariate, abi->n_work,
                                   abi->n_input};
    return sizes[input];
}

enum status caller_init(struct caller *caller, const struct stiffit_model *abi,
                        struct check_report *report, struct arena *arena)
{
    *caller = (struct caller){.abi = abi, .report = report};
    size_t n_input = 0;
    for (int f = 0; f < N_CHECK_FUNCTION; f++)
        if (check_is_there(abi, f) && check_size(abi, f) > caller->n_out)
            caller->n_out = check_size(abi, f);
    for (int i = 0; i < N_INPUT; i++)
        n_input += input_size(abi, i);
    size_t total = 2 * n_input + (N_INPUT + 1) * 2 * GUARD + 2 * caller->n_out + 1;
    double *next = arena_calloc(arena, total, sizeof *next);
    if (!next)
        return STATUS_NO_MEMORY;
    fill(next, total, canary[0]);
    for (int i = 0; i < N_INPUT; i++) {
        caller->input[i] = next + GUARD;
        next += input_size(abi, i) + 2 * GUARD;
    }
    caller->out = next + GUARD;
    caller->second = caller->out + caller->n_out + GUARD;
    caller->shadow = caller->second + caller->n_out;
    return abi->lanes ? check_lanes_init(caller, arena) : STATUS_OK;
}

/* The values of the model's inputs. */
static const double *inputs(struct caller *caller)
{
    if (!caller->is_moving)
        return caller->knot;
    for (size_t i = 0; i < caller->abi->n_input; i++)
        caller->moved[i] = caller->knot[i] + caller->slope[i] * (caller->t - caller->t_moved);
    return caller->moved;
}

static int call(struct caller *caller, enum check_function function, double *out)
{
    if (caller->alarm_s)
        process_alarm(caller->alarm_s);
    const struct stiffit_model *abi = caller->abi;
    struct stiffit_point at = {
        .t = check_shape(function)->at_time ? caller->t : abi->t0,
        .y = check_shape(function)->at_time && function != CHECK_FORCING ? caller->y : NULL,
        .p = caller->p,
        .covariate = caller->covariate,
        .input = abi->n_input > 0 && function != CHECK_PREPARE && function != CHECK_FORCING
                     ? inputs(caller)
                     : NULL,
        .work = abi->n_work > 0 && function != CHECK_PREPARE ? caller->work : NULL,
        .event = caller->event,
    };
    caller->report->n_call[function]++;
    int code = STIFFIT_OK;
    if (!check_is_of_lanes(function))
        code = check_pointer(abi, function)(&at, out);
    else if (!check_lanes_call(caller, function, &at, out[-1], out))
        caller_add(caller, CHECK_OVERRUN, function, NAN, NAN);
    if (!floating_is_default()) {
        floating_reset();
        check_add(caller->report, abi,
                  &(struct check_finding){.kind = CHECK_ENVIRONMENT, .function = function,
                                          .t = at.t, .got = NAN, .expected = NAN},
                  CHECK_NO_INDEX, CHECK_NO_INDEX);
    }
    return code;
}

static bool all_finite(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void clear_infinite(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = isfinite(values[i]) ? values[i] : 0;
}

bool caller_value(struct caller *caller, enum check_function function, double *result)
{
    size_t n = check_size(caller->abi, function);
    if (call(caller, function, caller->out) != STIFFIT_OK)
        return false;
    if (check_may_be_infinite(function))
        clear_infinite(caller->out, n);
    else if (!all_finite(caller->out, n))
        return false;
    memcpy(result, caller->out, n * sizeof *result);
    return true;
}

bool caller_prepare(struct caller *caller)
{
    size_t n = caller->abi->n_work;
    if (n > 0 && call(caller, CHECK_PREPARE, caller->out) != STIFFIT_OK)
        return false;
    memcpy(caller->work, caller->out, n * sizeof *caller->work);
    return true;
}

/* These copy all inputs, compare them with the copy, and restore them from it. */
static void inputs_copy(struct caller *caller)
{
    double *shadow = caller->shadow;
    for (int i = 0; i < N_INPUT; i++) {
        memcpy(shadow, caller->input[i], input_size(caller->abi, i) * sizeof *shadow);
        shadow += input_size(caller->abi, i);
    }
}

static bool inputs_hold(const struct caller *caller)
{
    const double *shadow = caller->shadow;
    for (int i = 0; i < N_INPUT; i++) {
        size_t n = input_size(caller->abi, i);
        if (memcmp(shadow, caller->input[i], n * sizeof *shadow) != 0 ||
            !guards_hold(caller->input[i], n, canary[0]))
            return false;
        shadow += n;
    }
    return true;
}

static void inputs_restore(struct caller *caller)
{
    const double *shadow = caller->shadow;
    for (int i = 0; i < N_INPUT; i++) {
        size_t n = input_size(caller->abi, i);
        fill(caller->input[i] - GUARD, n + 2 * GUARD, canary[0]);
        memcpy(caller->input[i], shadow, n * sizeof *shadow);
        shadow += n;
    }
}

/* Row and column of entry k of a function's output. */
static void entry_of(const struct stiffit_model *abi, enum check_function function, size_t k,
                     int64_t *row, int64_t *column)
{
    const struct check_shape *shape = check_shape(function);
    size_t n_row = check_axis_size(abi, shape->row);
    *row = (int64_t)k;
    *column = CHECK_NO_INDEX;
    if (function == CHECK_JACOBIAN_SPARSE) {
        *row = abi->row_index[k];
        for (*column = 0; abi->column_start[*column + 1] <= (int32_t)k;)
            ++*column;
    } else if (shape->column != AXIS_NONE) {
        *row = (int64_t)(k % n_row);
        *column = (int64_t)(k / n_row);
    }
}

static void compare_twins(struct caller *caller, enum check_function function, const double *first,
                          size_t n)
{
    for (size_t k = 0; k < n; k++) {
        enum check_kind kind;
        if (holds(first + k, canary[0]) && holds(caller->out + k, canary[1]))
            kind = CHECK_UNWRITTEN;
        else if (memcmp(first + k, caller->out + k, sizeof *first) != 0 &&
                 !(isnan(first[k]) && isnan(caller->out[k])))
            kind = CHECK_IMPURE;
        else
            continue;
        int64_t row, column;
        entry_of(caller->abi, function, k, &row, &column);
        check_add(caller->report, caller->abi,
                  &(struct check_finding){.kind = kind, .function = function, .t = caller->t,
                                          .got = caller->out[k],
                                          .expected = kind == CHECK_IMPURE ? first[k] : NAN},
                  row, column);
    }
}

void caller_add(struct caller *caller, enum check_kind kind, enum check_function function,
                double got, double expected)
{
    check_add(caller->report, caller->abi,
              &(struct check_finding){.kind = kind, .function = function, .t = caller->t,
                                      .got = got, .expected = expected},
              CHECK_NO_INDEX, CHECK_NO_INDEX);
}

int caller_watch(struct caller *caller, enum check_function function, double *result)
{
    size_t n = check_size(caller->abi, function);
    int code[2];
    bool overrun = false;
    inputs_copy(caller);
    for (int twin = 0; twin < 2; twin++) {
        fill(caller->out - GUARD, n + 2 * GUARD, canary[twin]);
        code[twin] = call(caller, function, caller->out);
        if (!guards_hold(caller->out, n, canary[twin]) || !inputs_hold(caller)) {
            overrun = true;
            inputs_restore(caller);
        }
        if (twin == 0)
            memcpy(caller->second, caller->out, n * sizeof *caller->out);
    }
    if (overrun)
        caller_add(caller, CHECK_OVERRUN, function, NAN, NAN);
    if (code[0] != STIFFIT_OK && code[0] != STIFFIT_RECOVERABLE && code[0] != STIFFIT_FATAL)
        caller_add(caller, CHECK_INVALID, function, code[0], NAN);
    if (code[0] != code[1])
        caller_add(caller, CHECK_IMPURE, function, code[1], code[0]);
    else if (code[0] == STIFFIT_OK)
        compare_twins(caller, function, caller->second, n);
    uint64_t *fingerprint = &caller->report->fingerprint[function];
    add_to_fingerprint(fingerprint, code, sizeof code[0]);
    if (code[0] != STIFFIT_OK)
        return code[0];
    add_to_fingerprint(fingerprint, caller->second, n * sizeof *caller->second);
    memcpy(result, caller->second, n * sizeof *result);
    if (check_may_be_infinite(function))
        clear_infinite(result, n);
    return all_finite(result, n) ? STIFFIT_OK : STIFFIT_RECOVERABLE;
}

/* Steps shrink by 2, so the error of the k-th column of the table falls by 4^(k+1). */
enum { N_LEVEL = 9, N_RETRY = 4 };

enum status differences_init(struct differences *differences, size_t n_row, struct arena *arena)
{
    *differences = (struct differences){.n_row = n_row};
    bool done =
        ARENA_DOUBLES(arena, {&differences->derivative, n_row, 1}, {&differences->error, n_row, 1},
                      {&differences->size, n_row, 1}, {&differences->value, n_row, 2},
                      {&differences->table, n_row, 2 * N_LEVEL});
    return done ? STATUS_OK : STATUS_NO_MEMORY;
}

static bool value_at(struct caller *caller, enum check_function base, enum check_axis axis,
                     double *variable, double x, double *value)
{
    *variable = x;
    return (axis != AXIS_PARAMETER || caller_prepare(caller)) && caller_value(caller, base, value);
}

static double *variable_of(struct caller *caller, enum check_axis axis, size_t column)
{
    if (axis == AXIS_TIME || (axis == AXIS_POINT && column == caller->abi->n_state))
        return &caller->t;
    return axis == AXIS_STATE || axis == AXIS_POINT ? &caller->y[column] : &caller->p[column];
}

/* Row by row: the next line of the table from the one before; keeps the entry whose neighbours
 * agree best. Rounding in the function's values limits every entry: 4 eps of their size over the
 * step. */
static void extend_table(struct differences *differences, size_t i_level, double step)
{
    size_t n = differences->n_row;
    double *old = differences->table + (i_level % 2 ? 0 : 1) * N_LEVEL * n;
    double *new = differences->table + (i_level % 2 ? 1 : 0) * N_LEVEL * n;
    for (size_t r = 0; r < n; r++) {
        double plus = differences->value[r], minus = differences->value[n + r];
        differences->size[r] = fmax(differences->size[r], fmax(fabs(plus), fabs(minus)));
        double rounding = 4 * DBL_EPSILON * differences->size[r] / step;
        new[r] = (plus - minus) / (2 * step);
        if (i_level == 0) {
            differences->derivative[r] = new[r];
            differences->error[r] = INFINITY;
        }
        double factor = 1;
        for (size_t k = 1; k <= i_level; k++) {
            factor *= 4;
            new[k * n + r] = (new[(k - 1) * n + r] * factor - old[(k - 1) * n + r]) / (factor - 1);
            double here = new[k * n + r];
            double error =
                fmax(fabs(here - new[(k - 1) * n + r]), fabs(here - old[(k - 1) * n + r]));
            if (error + rounding < differences->error[r]) {
                differences->error[r] = error + rounding;
                differences->derivative[r] = here;
            }
        }
    }
}

static bool fill_table(struct differences *differences, struct caller *caller,
                       enum check_function base, enum check_axis axis, double *variable, double x,
                       double step)
{
    for (size_t i = 0; i < N_LEVEL; i++, step /= 2) {
        /* The step that is really taken, as x + step is rounded. */
        volatile double above = x + step, below = x - step;
        double taken = 0.5 * (above - below);
        if (taken <= 0 || !value_at(caller, base, axis, variable, above, differences->value) ||
            !value_at(caller, base, axis, variable, below, differences->value + differences->n_row))
            return false;
        extend_table(differences, i, taken);
    }
    return true;
}

bool differences_column(struct differences *differences, struct caller *caller,
                        enum check_function base, enum check_axis axis, size_t column, double scale)
{
    double *variable = variable_of(caller, axis, column);
    double x = *variable, step = scale / 16;
    bool done = false;
    differences->n_row = check_axis_size(caller->abi, check_shape(base)->row);
    for (int i = 0; i < N_RETRY && !done; i++, step /= 32) {
        memset(differences->size, 0, differences->n_row * sizeof *differences->size);
        done = fill_table(differences, caller, base, axis, variable, x, step);
    }
    *variable = x;
    if (axis == AXIS_PARAMETER && !caller_prepare(caller))
        return false;
    return done;
}

bool differences_contradict(struct differences *differences, struct caller *caller,
                            enum check_function base, enum check_axis axis, size_t column,
                            size_t row, double got, double terms)
{
    double *variable = variable_of(caller, axis, column);
    double x = *variable,
           at[5] = {x, x + ldexp(x, -10), x - ldexp(x, -10), x + ldexp(x, -20), x - ldexp(x, -20)},
           f[5];
    bool known = x != 0;
    for (int i = 0; i < 5 && known; i++) {
        known = value_at(caller, base, axis, variable, at[i], differences->value);
        f[i] = differences->value[row];
    }
    *variable = x;
    known = (axis != AXIS_PARAMETER || caller_prepare(caller)) && known;
    if (!known)
        return false;
    const double quotient[4] = {(f[1] - f[2]) / (at[1] - at[2]), (f[3] - f[4]) / (at[3] - at[4]),
                                (f[1] - f[0]) / (at[1] - x), (f[2] - f[0]) / (at[2] - x)};
    double off = fabs(got - quotient[0]);
    /* 1e-7 of the terms: rounding over the smaller step, and entries that move nothing. */
    bool wrong = isfinite(off) && off > 1e-3 * fmax(fabs(got), fabs(quotient[0])) &&
                 off * fabs(x) > 1e-7 * terms;
    for (int i = 1; i < 4; i++)
        wrong = wrong && fabs(quotient[i] - quotient[0]) < 0.25 * off;
    return wrong;
}
