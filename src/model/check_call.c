/* Watched calls: each call checks what the function may touch.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/check_call.h"

#include "base/floating.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 32, N_INPUT = 4 };

/* Two quiet NaNs that no arithmetic produces. An entry that contains first one and then the other was written by neither
 * call. */
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
    const size_t sizes[N_INPUT] = {abi->n_state, abi->n_parameter, abi->n_covariate, abi->n_work};
    return sizes[input];
}

enum status caller_init(struct caller *caller, const struct stiffit_model *abi, struct check_report *report)
{
    *caller = (struct caller){.abi = abi, .report = report};
    size_t n_input = 0;
    for (int f = 0; f < N_CHECK_FUNCTION; f++)
        if (check_pointer(abi, f) && check_size(abi, f) > caller->n_out)
            caller->n_out = check_size(abi, f);
    for (int i = 0; i < N_INPUT; i++)
        n_input += input_size(abi, i);
    size_t total = 2 * n_input + (N_INPUT + 1) * 2 * GUARD + 2 * caller->n_out + 1;
    double *next = calloc(total, sizeof *next);
    if (!next)
        return STATUS_NO_MEMORY;
    caller->memory = next;
    fill(next, total, canary[0]);
    double **input[N_INPUT] = {&caller->y, &caller->p, &caller->covariate, &caller->work};
    for (int i = 0; i < N_INPUT; i++) {
        *input[i] = next + GUARD;
        next += input_size(abi, i) + 2 * GUARD;
    }
    caller->out = next + GUARD;
    caller->second = caller->out + caller->n_out + GUARD;
    caller->shadow = caller->second + caller->n_out;
    return STATUS_OK;
}

void caller_fini(struct caller *caller)
{
    free(caller->memory);
    *caller = (struct caller){0};
}

static int call(struct caller *caller, enum check_function function, double *out)
{
    const struct stiffit_model *abi = caller->abi;
    struct stiffit_point at = {
        .t = check_shape(function)->at_time ? caller->t : abi->t0,
        .y = check_shape(function)->at_time && function != CHECK_FORCING ? caller->y : NULL,
        .p = caller->p,
        .covariate = caller->covariate,
        .work = abi->n_work > 0 && function != CHECK_PREPARE ? caller->work : NULL,
    };
    caller->report->n_call[function]++;
    int code = check_pointer(abi, function)(&at, out);
    if (!floating_is_default()) {
        floating_reset();
        check_add(caller->report, abi, CHECK_ENVIRONMENT, function, CHECK_NO_INDEX, CHECK_NO_INDEX, at.t, NAN, NAN, 0);
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

bool caller_value(struct caller *caller, enum check_function function, double *result)
{
    size_t n = check_size(caller->abi, function);
    if (call(caller, function, caller->out) != STIFFIT_OK || !all_finite(caller->out, n))
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

/* Copies all inputs, or checks that they still equal the copies. */
static void inputs_copy(struct caller *caller)
{
    const double *input[N_INPUT] = {caller->y, caller->p, caller->covariate, caller->work};
    double *shadow = caller->shadow;
    for (int i = 0; i < N_INPUT; i++) {
        memcpy(shadow, input[i], input_size(caller->abi, i) * sizeof *shadow);
        shadow += input_size(caller->abi, i);
    }
}

static bool inputs_hold(const struct caller *caller)
{
    const double *input[N_INPUT] = {caller->y, caller->p, caller->covariate, caller->work};
    const double *shadow = caller->shadow;
    for (int i = 0; i < N_INPUT; i++) {
        size_t n = input_size(caller->abi, i);
        if (memcmp(shadow, input[i], n * sizeof *shadow) != 0 || !guards_hold(input[i], n, canary[0]))
            return false;
        shadow += n;
    }
    return true;
}

static void inputs_restore(struct caller *caller)
{
    double *input[N_INPUT] = {caller->y, caller->p, caller->covariate, caller->work};
    const double *shadow = caller->shadow;
    for (int i = 0; i < N_INPUT; i++) {
        size_t n = input_size(caller->abi, i);
        memcpy(input[i], shadow, n * sizeof *shadow);
        fill(input[i] - GUARD, GUARD, canary[0]);
        fill(input[i] + n, GUARD, canary[0]);
        shadow += n;
    }
}

/* Row and column of entry k of a function's output. */
static void entry_of(const struct stiffit_model *abi, enum check_function function, size_t k, int64_t *row,
                     int64_t *column)
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

static void compare_twins(struct caller *caller, enum check_function function, const double *first, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        enum check_kind kind;
        if (holds(first + k, canary[0]) && holds(caller->out + k, canary[1]))
            kind = CHECK_UNWRITTEN;
        else if (memcmp(first + k, caller->out + k, sizeof *first) != 0 && !(isnan(first[k]) && isnan(caller->out[k])))
            kind = CHECK_IMPURE;
        else
            continue;
        int64_t row, column;
        entry_of(caller->abi, function, k, &row, &column);
        check_add(caller->report, caller->abi, kind, function, row, column, caller->t, caller->out[k],
                  kind == CHECK_IMPURE ? first[k] : NAN, 0);
    }
}

/* A finding about a call as a whole. */
static void add_to_report(struct caller *caller, enum check_kind kind, enum check_function function, double got,
                          double expected)
{
    check_add(caller->report, caller->abi, kind, function, CHECK_NO_INDEX, CHECK_NO_INDEX, caller->t, got, expected, 0);
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
        add_to_report(caller, CHECK_OVERRUN, function, NAN, NAN);
    if (code[0] != STIFFIT_OK && code[0] != STIFFIT_RECOVERABLE && code[0] != STIFFIT_FATAL)
        add_to_report(caller, CHECK_INVALID, function, code[0], NAN);
    if (code[0] != code[1])
        add_to_report(caller, CHECK_IMPURE, function, code[1], code[0]);
    else if (code[0] == STIFFIT_OK)
        compare_twins(caller, function, caller->second, n);
    uint64_t *fingerprint = &caller->report->fingerprint[function];
    add_to_fingerprint(fingerprint, code, sizeof code[0]);
    if (code[0] != STIFFIT_OK)
        return code[0];
    add_to_fingerprint(fingerprint, caller->second, n * sizeof *caller->second);
    memcpy(result, caller->second, n * sizeof *result);
    return function == CHECK_PREPARE || all_finite(result, n) ? STIFFIT_OK : STIFFIT_RECOVERABLE;
}
