/* What the tests of lane functions share: the same functions from the scalar interface of a model at many points, one for each
 * lane.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_LANES_CASE_H
#define TESTS_UNIT_LANES_CASE_H

#include "model_case.h"

#include "base/random.h"

#include <math.h>
#include <stiffit/model.h>

enum { W = STIFFIT_LANES };

/* The arguments of a call in lanes and its results; arrays are on the heap, at multiples of 64 bytes. */
struct lanes_case {
    const struct stiffit_model *abi;
    size_t n, n_p, n_c, n_w, n_derive, n_curve;
    double *t, *y, *p, *c, *w, *d;
    double *rhs, *derive, *curve;
    struct stiffit_lanes_point at;
};

static inline double *lanes_numbers(size_t n)
{
    double *made = aligned_alloc(64, (n + 1) * W * sizeof *made);
    assert_non_null(made);
    for (size_t i = 0; i < (n + 1) * W; i++)
        made[i] = 12345;
    return made;
}

static inline void lanes_case_init(struct lanes_case *c, const struct stiffit_model *abi)
{
    const struct stiffit_lanes *lanes = abi->lanes;
    *c = (struct lanes_case){.abi = abi, .n = abi->n_state, .n_p = abi->n_parameter, .n_c = abi->n_covariate,
                             .n_w = abi->n_work};
    c->n_derive = c->n + (size_t)lanes->by_state.start[c->n + 1] + (size_t)lanes->by_parameter.start[c->n_p];
    c->n_curve = (size_t)lanes->curve_state.start[c->n] + (size_t)lanes->curve_parameter.start[c->n_p];
    c->t = lanes_numbers(1);
    c->y = lanes_numbers(c->n);
    c->p = lanes_numbers(c->n_p);
    c->c = lanes_numbers(c->n_c);
    c->w = lanes_numbers(c->n_w);
    c->d = lanes_numbers(c->n + 1);
    c->rhs = lanes_numbers(c->n);
    c->derive = lanes_numbers(c->n_derive);
    c->curve = lanes_numbers(c->n_curve);
    c->at = (struct stiffit_lanes_point){c->t, c->y, c->p, c->c, c->w, c->d, NULL, NULL};
}

static inline void lanes_case_fini(struct lanes_case *c)
{
    double *const made[] = {c->t, c->y, c->p, c->c, c->w, c->d, c->rhs, c->derive, c->curve};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        free(made[i]);
}

/* One lane's arguments as those of the scalar functions. */
struct lane_point {
    struct stiffit_point at;
    double *y, *p, *c, *w, *d; /* d: the direction */
};

static inline void lane_point_init(struct lane_point *lane, const struct lanes_case *c)
{
    lane->y = calloc(c->n + 1, sizeof(double));
    lane->p = calloc(c->n_p + 1, sizeof(double));
    lane->c = calloc(c->n_c + 1, sizeof(double));
    lane->w = calloc(c->n_w + 1, sizeof(double));
    lane->d = calloc(c->n + 2, sizeof(double));
    assert_true(lane->y && lane->p && lane->c && lane->w && lane->d);
    lane->at = (struct stiffit_point){.y = lane->y, .p = lane->p, .covariate = lane->c, .work = lane->w};
}

static inline void lane_point_fini(struct lane_point *lane)
{
    double *const made[] = {lane->y, lane->p, lane->c, lane->w, lane->d};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        free(made[i]);
}

/* Fills lane->w, and everything into lane k. */
static inline void lanes_put(struct lanes_case *c, size_t k, struct lane_point *lane)
{
    struct stiffit_point first = lane->at;
    first.t = c->abi->t0;
    first.y = first.work = NULL;
    if (c->n_w)
        assert_int_equal(c->abi->prepare(&first, lane->w), STIFFIT_OK);
    c->t[k] = lane->at.t;
    const struct { double *to; const double *from; size_t n; } copies[] = {
        {c->y, lane->y, c->n}, {c->p, lane->p, c->n_p}, {c->c, lane->c, c->n_c}, {c->w, lane->w, c->n_w},
        {c->d, lane->d, c->n + 1}};
    for (size_t a = 0; a < sizeof copies / sizeof *copies; a++)
        for (size_t i = 0; i < copies[a].n; i++)
            copies[a].to[i * W + k] = copies[a].from[i];
}

/* Nothing is written behind the results. */
static inline void lanes_call(struct lanes_case *c)
{
    const struct stiffit_lanes *lanes = c->abi->lanes;
    lanes->rhs(&c->at, c->rhs);
    lanes->derive(&c->at, c->derive);
    lanes->curve(&c->at, c->curve);
    for (size_t k = 0; k < W; k++)
        assert_true(c->rhs[c->n * W + k] == 12345 && c->derive[c->n_derive * W + k] == 12345 &&
                    c->curve[c->n_curve * W + k] == 12345);
}

/* Entry (i, j) of a matrix whose entries begin with number `first` of out, in lane k; 0 outside of the pattern. */
static inline double lanes_entry(const struct stiffit_pattern *pattern, const double *out, size_t first, size_t i, size_t j,
                                 size_t k)
{
    for (int32_t e = pattern->start[j]; e < pattern->start[j + 1]; e++)
        if (pattern->row[e] == (int32_t)i)
            return out[(first + (size_t)e) * W + k];
    return 0;
}

/* d rhs / d y and d rhs / d p by the scalar functions: n x n and n x n_p. */
static inline void lane_derivatives(const struct lanes_case *c, const struct stiffit_point *at, double *by_state,
                                    double *by_parameter)
{
    const struct stiffit_model *abi = c->abi;
    if (abi->jacobian) {
        assert_int_equal(abi->jacobian(at, by_state), STIFFIT_OK);
    } else {
        double *entry = calloc(abi->n_nonzero + 1, sizeof *entry);
        assert_int_equal(abi->jacobian_sparse(at, entry), STIFFIT_OK);
        memset(by_state, 0, c->n * c->n * sizeof *by_state);
        for (size_t j = 0; j < c->n; j++)
            for (int32_t e = abi->column_start[j]; e < abi->column_start[j + 1]; e++)
                by_state[(size_t)abi->row_index[e] + j * c->n] = entry[e];
        free(entry);
    }
    assert_int_equal(abi->rhs_parameter(at, by_parameter), STIFFIT_OK);
}

#endif
