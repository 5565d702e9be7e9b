/* What all lanes of a model share: the order of elimination of I/(h gamma) - J, its factors'
 * pattern, and the lists of entries by row that the integrator's kernel walks through. Made once
 * per pool, and constant from then on; and by the model compiler, which writes these operations
 * as code.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>

/* A factor of a sum over entries of a row: number `value` of a table times row `row` of the
 * operand. */
struct lanes_term {
    int32_t value, row;
};
/* Terms of row r: start[r] <= k < start[r+1]. */
struct lanes_rows {
    int32_t *start;
    struct lanes_term *term;
};
/* An entry of a matrix by parameter; `value` and `curve` are numbers in the outputs of derive
 * and curve; curve -1: none. */
struct lanes_entry {
    int32_t row, parameter, value, curve;
};
/* factor[target] -= factor[left] * factor[right] */
struct lanes_update {
    int32_t target, left, right;
};

struct lanes_plan {
    const struct stiffit_model *abi;
    const struct stiffit_lanes *lanes;
    size_t n;                     /* states */
    size_t n_derive, n_curve;     /* lengths of the outputs of derive and curve */
    struct lanes_rows jacobian;   /* values: numbers of derive's output */
    /* d(J u)/dy S + J Y for the arguments Y of a stage; values: numbers of derive's output,
     * followed by those of curve's; rows: those of S, followed by those of Y */
    struct lanes_rows forward;
    size_t n_time;                /* entries of df/dt: values of derive's output */
    struct lanes_term *by_time;
    size_t n_entry;               /* of df/dp, in any order */
    struct lanes_entry *entry;

    /* The factors, as n_factor numbers: L without its diagonal of ones, U, whose diagonal is
     * inverted. */
    size_t n_factor;
    int32_t *order;               /* n: row (and column) order[k] is the k-th pivot */
    int32_t *diagonal;            /* n, by row: its number among the factors */
    int32_t *place;               /* by entry of jacobian.term: its number among the factors */
    struct lanes_rows lower, upper;
    int32_t *scale_start, *scale; /* n + 1: for pivot k, entries of column order[k] of L */
    int32_t *update_start;        /* n + 1 */
    struct lanes_update *update;
    /* Kinds of numbers that functions of lanes compute of each observable: 0: none, 1: its value,
     * 2: and its noise. That of kind k and observable o is number k*n_observable + o of what is
     * seen. */
    size_t n_kind;
    size_t n_observe, n_values;   /* lengths of observe's output; with noise's, which follows it */
    /* by what is seen; values: numbers of these outputs; rows: states */
    struct lanes_rows observe;
    /* by kind and parameter, k*n_parameter + j; values: likewise; rows: observables */
    struct lanes_rows direct;
    uint64_t key;                 /* of all lists but the last two: equal for equal plans */
    struct stiffit_lanes_algebra algebra; /* the plugin's functions, if they are for this plan */
};

/* The number of an output of observe and noise that is kind k of observable o. */
static inline size_t lanes_plan_value(const struct lanes_plan *plan, size_t k, size_t o)
{
    return k * plan->n_observe + o;
}

/* NULL: out of memory, or the patterns are wrong (*is_wrong). */
struct lanes_plan *lanes_plan_new(const struct stiffit_model *abi, bool *is_wrong);
void lanes_plan_free(struct lanes_plan *plan); /* NULL is legal */
