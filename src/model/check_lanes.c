/* Functions of lanes as if they were scalar: the check's point in one lane, and in the others
 * what must not matter. So the watched calls and the differences of the model check serve them,
 * too.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/check_call.h"

#include <math.h>
#include <string.h>

enum { W = STIFFIT_LANES, GUARD = 4 * W, N_ARRAY = 8 };

/* Lengths of t, y, p, covariate, work, direction, input and input_slope. */
static void input_sizes(const struct stiffit_model *abi, size_t n[N_ARRAY])
{
    const size_t sizes[N_ARRAY] =
        {1,           abi->n_state,     abi->n_parameter, abi->n_covariate,
         abi->n_work, abi->n_state + 1, abi->n_input,     abi->n_input};
    memcpy(n, sizes, sizeof sizes);
}

static size_t n_entry(const struct stiffit_pattern *pattern, size_t n_column)
{
    return (size_t)pattern->start[n_column];
}

/* Numbers that `derive` and `curve` write. */
static size_t n_derived(const struct stiffit_model *abi)
{
    return abi->n_state + n_entry(&abi->lanes->by_state, abi->n_state + 1) +
           n_entry(&abi->lanes->by_parameter, abi->n_parameter);
}

static size_t n_curved(const struct stiffit_model *abi)
{
    return n_entry(&abi->lanes->curve_state, abi->n_state) +
           n_entry(&abi->lanes->curve_parameter, abi->n_parameter);
}

static size_t n_observed(const struct stiffit_model *abi)
{
    const struct stiffit_lanes *lanes = abi->lanes;
    return !lanes->observe ? 0 : abi->n_observable + n_entry(&lanes->observe_state, abi->n_state) +
                                     n_entry(&lanes->observe_parameter, abi->n_parameter);
}

static size_t n_noisy(const struct stiffit_model *abi)
{
    const struct stiffit_lanes *lanes = abi->lanes;
    return !lanes->noise ? 0 : abi->n_observable + n_entry(&lanes->noise_state, abi->n_state) +
                                   n_entry(&lanes->noise_parameter, abi->n_parameter);
}

/* The function that writes it, and how many numbers. */
static stiffit_lanes_function *called(const struct stiffit_model *abi, enum check_function function,
                                      size_t *n)
{
    const struct stiffit_lanes *lanes = abi->lanes;
    switch (function) {
    case CHECK_LANES_RHS: *n = abi->n_state; return lanes->rhs;
    case CHECK_LANES_CURVE_STATE:
    case CHECK_LANES_CURVE_PARAMETER: *n = n_curved(abi); return lanes->curve;
    case CHECK_LANES_OBSERVE: case CHECK_LANES_OBSERVE_STATE: case CHECK_LANES_OBSERVE_PARAMETER:
        *n = n_observed(abi);
        return lanes->observe;
    case CHECK_LANES_NOISE: case CHECK_LANES_NOISE_STATE: case CHECK_LANES_NOISE_PARAMETER:
        *n = n_noisy(abi);
        return lanes->noise;
    default: *n = n_derived(abi); return lanes->derive;
    }
}

enum status check_lanes_init(struct caller *caller, struct arena *arena)
{
    const struct stiffit_model *abi = caller->abi;
    /* of the largest, and more */
    size_t n[N_ARRAY], total = 0,
           n_out = n_derived(abi) + n_curved(abi) + n_observed(abi) + n_noisy(abi);
    input_sizes(abi, n);
    for (int i = 0; i < N_ARRAY; i++)
        total += n[i] * W;
    caller->direction = arena_calloc(arena, n[5], sizeof(double));
    caller->slope = arena_calloc(arena, n[7] + 1, sizeof(double));
    caller->moved = arena_calloc(arena, n[6] + 1, sizeof(double));
    double *all = arena_calloc(arena, total + n_out * W + 2 * GUARD + W, sizeof *all);
    if (!all || !caller->direction || !caller->slope || !caller->moved)
        return STATUS_NO_MEMORY;
    caller->lane_input = all + (64 - (uintptr_t)all % 64) / sizeof *all;
    caller->lane_out = caller->lane_input + total + GUARD;
    return STATUS_OK;
}

/* Point `at` in lane k; in the others the same, or NaN, infinity and 0 in turn. */
static struct stiffit_lanes_point fill_lanes(const struct caller *caller,
                                             const struct stiffit_point *at, size_t k, bool alike)
{
    static const double strange[] = {NAN, INFINITY, 0};
    const double *const from[N_ARRAY] = {&at->t,        at->y,        at->p,
                                         at->covariate, at->work,     caller->direction,
                                         at->input,     caller->slope};
    double *to[N_ARRAY], *next = caller->lane_input;
    size_t n[N_ARRAY];
    input_sizes(caller->abi, n);
    for (int a = 0; a < N_ARRAY; a++) {
        to[a] = next;
        for (size_t i = 0; i < n[a]; i++, next += W)
            for (size_t lane = 0; lane < W; lane++)
                next[lane] = alike || lane == k ? from[a][i] : strange[(i + lane) % 3];
    }
    return (struct stiffit_lanes_point){to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]};
}

/* The entries of columns first ... end - 1 of a pattern of n rows, which begin with number
 * `place`, as a full matrix. */
static void spread(const struct caller *caller, const struct stiffit_pattern *pattern, size_t place,
                   size_t n, size_t first, size_t end, size_t k, double *out)
{
    memset(out, 0, (end - first) * n * sizeof *out);
    for (size_t j = first; j < end; j++)
        for (int32_t e = pattern->start[j]; e < pattern->start[j + 1]; e++)
            out[(j - first) * n + (size_t)pattern->row[e]] =
                caller->lane_out[(place + (size_t)e) * W + k];
}

/* g = (d rhs / d y) v + (d rhs / d t) w from the entries of `derive`. */
static void add_up(const struct caller *caller, size_t k, double *out)
{
    const struct stiffit_pattern *pattern = &caller->abi->lanes->by_state;
    size_t n = caller->abi->n_state;
    memset(out, 0, n * sizeof *out);
    for (size_t j = 0; j <= n; j++)
        for (int32_t e = pattern->start[j]; e < pattern->start[j + 1]; e++)
            out[pattern->row[e]] +=
                caller->lane_out[(n + (size_t)e) * W + k] * caller->direction[j];
}

static void read_lane(const struct caller *caller, enum check_function function, size_t k,
                      double *out)
{
    const struct stiffit_lanes *lanes = caller->abi->lanes;
    size_t n = caller->abi->n_state, n_p = caller->abi->n_parameter,
           n_h = caller->abi->n_observable;
    size_t after_state = n + n_entry(&lanes->by_state, n + 1),
           after_curve = n_entry(&lanes->curve_state, n);
    switch (function) {
    case CHECK_LANES_BY_STATE: spread(caller, &lanes->by_state, n, n, 0, n, k, out); return;
    case CHECK_LANES_BY_TIME: spread(caller, &lanes->by_state, n, n, n, n + 1, k, out); return;
    case CHECK_LANES_BY_PARAMETER:
        spread(caller, &lanes->by_parameter, after_state, n, 0, n_p, k, out);
        return;
    case CHECK_LANES_CURVE_STATE: spread(caller, &lanes->curve_state, 0, n, 0, n, k, out); return;
    case CHECK_LANES_CURVE_PARAMETER:
        spread(caller, &lanes->curve_parameter, after_curve, n, 0, n_p, k, out);
        return;
    case CHECK_LANES_OBSERVE_STATE:
        spread(caller, &lanes->observe_state, n_h, n_h, 0, n, k, out);
        return;
    case CHECK_LANES_OBSERVE_PARAMETER:
        spread(caller, &lanes->observe_parameter, n_h + n_entry(&lanes->observe_state, n), n_h, 0,
               n_p, k, out);
        return;
    case CHECK_LANES_NOISE_STATE:
        spread(caller, &lanes->noise_state, n_h, n_h, 0, n, k, out);
        return;
    case CHECK_LANES_NOISE_PARAMETER:
        spread(caller, &lanes->noise_parameter, n_h + n_entry(&lanes->noise_state, n), n_h, 0, n_p,
               k, out);
        return;
    case CHECK_LANES_CHANGE: add_up(caller, k, out); return;
    default:
        for (size_t i = 0; i < check_size(caller->abi, function); i++)
            out[i] = caller->lane_out[i * W + k];
    }
}

bool check_lanes_call(struct caller *caller, enum check_function function,
                      const struct stiffit_point *at, double unwritten, double *out)
{
    bool kept = true;
    size_t n;
    stiffit_lanes_function *call = called(caller->abi, function, &n);
    size_t k = caller->n_lane_call % W;
    struct stiffit_lanes_point point = fill_lanes(caller, at, k, caller->n_lane_call++ % 2 == 0);
    double *first = caller->lane_out - GUARD, *end = caller->lane_out + n * W + GUARD;
    for (double *number = first; number < end; number++)
        memcpy(number, &unwritten, sizeof unwritten);
    call(&point, caller->lane_out);
    for (size_t i = 0; i < GUARD; i++)
        kept = kept && !memcmp(first + i, &unwritten, sizeof unwritten) &&
               !memcmp(end - 1 - i, &unwritten, sizeof unwritten);
    read_lane(caller, function, k, out);
    return kept;
}
