/* Functions of lanes made from a model's scalar right-hand side by differences of five points, which are exact up to rounding
 * where it is a polynomial of the second degree: so the tests of one engine serve the other, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_ODE_LANES_BY_DIFFERENCES_H
#define TESTS_UNIT_ODE_LANES_BY_DIFFERENCES_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stiffit/model.h>

enum { BY_DIFFERENCES_MOST = 8 };

static struct {
    const struct stiffit_model *model;
    int32_t start[BY_DIFFERENCES_MOST + 2], row[BY_DIFFERENCES_MOST * (BY_DIFFERENCES_MOST + 1)];
} by_differences;

/* One lane's point. */
struct scalar_point {
    double t, y[BY_DIFFERENCES_MOST], p[BY_DIFFERENCES_MOST], covariate[BY_DIFFERENCES_MOST], work[BY_DIFFERENCES_MOST],
        direction[BY_DIFFERENCES_MOST + 1], input[BY_DIFFERENCES_MOST], slope[BY_DIFFERENCES_MOST];
};

static inline void take_lane(const struct stiffit_lanes_point *at, int k, struct scalar_point *x)
{
    const struct stiffit_model *m = by_differences.model;
    const struct { const double *from; double *to; size_t n; } arrays[] = {
        {at->t, &x->t, 1}, {at->y, x->y, m->n_state}, {at->p, x->p, m->n_parameter},
        {at->covariate, x->covariate, m->n_covariate},
        {at->work, x->work, m->n_work}, {at->direction, x->direction, at->direction ? m->n_state + 1u : 0},
        {at->input, x->input, m->n_input}, {at->input_slope, x->slope, m->n_input}};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        for (size_t i = 0; i < arrays[a].n; i++)
            arrays[a].to[i] = arrays[a].from[i * STIFFIT_LANES + (size_t)k];
}

/* The point whose derivatives are taken; NULL: none. A right-hand side that switches takes the branch of that point. */
static const struct stiffit_point *unmoved;
static inline const struct stiffit_point *branch_at(const struct stiffit_point *at) { return unmoved ? unmoved : at; }

static inline void scalar_rhs(const struct scalar_point *x, double *out)
{
    const struct stiffit_point at = {.t = x->t, .y = x->y, .p = x->p, .covariate = x->covariate, .input = x->input,
                                     .work = x->work};
    by_differences.model->rhs(&at, out);
}

static const double difference_weight[] = {1, -8, 8, -1}, difference_place[] = {-2, -1, 1, 2};
static inline double step_of(double x) { return 1e-3 * fmax(fabs(x), 1); }

/* By time, with the inputs. */
static inline void move_time(struct scalar_point *x, double by)
{
    const struct stiffit_model *m = by_differences.model;
    x->t += by;
    for (size_t i = 0; i < m->n_input; i++)
        x->input[i] += by * x->slope[i];
}

/* The derivative in the point's direction. */
static inline void directional(const struct scalar_point *x, double *out)
{
    size_t n = by_differences.model->n_state;
    double value[BY_DIFFERENCES_MOST], size = 0, h;
    for (size_t j = 0; j <= n; j++)
        size = fmax(size, fabs(x->direction[j]) / step_of(j < n ? x->y[j] : x->t));
    memset(out, 0, n * sizeof *out);
    h = size > 0 ? 1 / size : 0;
    for (int d = 0; d < 4 && h > 0; d++) {
        struct scalar_point moved = *x;
        for (size_t j = 0; j < n; j++)
            moved.y[j] += difference_place[d] * h * x->direction[j];
        move_time(&moved, difference_place[d] * h * x->direction[n]);
        scalar_rhs(&moved, value);
        for (size_t i = 0; i < n; i++)
            out[i] += difference_weight[d] * value[i] / (12 * h);
    }
}

/* The derivative of a function by one variable: a state, time (n_state), or a parameter (n_state + 1 and on). */
static inline void differentiate_lane(void (*function)(const struct scalar_point *, double *), const struct scalar_point *x,
                                      size_t j, double *out)
{
    size_t n = by_differences.model->n_state;
    double value[BY_DIFFERENCES_MOST], h = step_of(j < n ? x->y[j] : j == n ? x->t : x->p[j - n - 1]);
    memset(out, 0, n * sizeof *out);
    for (int d = 0; d < 4; d++) {
        struct scalar_point moved = *x;
        if (j == n)
            move_time(&moved, difference_place[d] * h);
        else if (j < n)
            moved.y[j] += difference_place[d] * h;
        else
            moved.p[j - n - 1] += difference_place[d] * h;
        function(&moved, value);
        for (size_t i = 0; i < n; i++)
            out[i] += difference_weight[d] * value[i] / (12 * h);
    }
}

static inline void put_lane(const double *value, size_t first, int k, double *out)
{
    for (size_t i = 0; i < by_differences.model->n_state; i++)
        out[(first + i) * STIFFIT_LANES + (size_t)k] = value[i];
}

static inline void by_differences_rhs(const struct stiffit_lanes_point *at, double *out)
{
    double value[BY_DIFFERENCES_MOST];
    struct scalar_point x;
    for (int k = 0; k < STIFFIT_LANES; k++) {
        take_lane(at, k, &x);
        scalar_rhs(&x, value);
        put_lane(value, 0, k, out);
    }
}

/* The derivatives of a function by all variables but number `left_out`. */
static inline void differentiate_all(void (*function)(const struct scalar_point *, double *), size_t left_out,
                                     const struct stiffit_lanes_point *at, double *out)
{
    size_t n = by_differences.model->n_state;
    double value[BY_DIFFERENCES_MOST];
    struct scalar_point x;
    for (int k = 0; k < STIFFIT_LANES; k++) {
        take_lane(at, k, &x);
        const struct stiffit_point here = {.t = x.t, .y = x.y, .p = x.p};
        unmoved = &here;
        for (size_t j = 0, column = 0; j <= n + by_differences.model->n_parameter; j++)
            if (j != left_out) {
                differentiate_lane(function, &x, j, value);
                put_lane(value, column++ * n, k, out);
            }
        unmoved = NULL;
    }
}

static inline void by_differences_derive(const struct stiffit_lanes_point *at, double *out)
{
    by_differences_rhs(at, out);
    differentiate_all(scalar_rhs, SIZE_MAX, at, out + by_differences.model->n_state * STIFFIT_LANES);
}

static inline void by_differences_curve(const struct stiffit_lanes_point *at, double *out)
{
    differentiate_all(directional, by_differences.model->n_state, at, out);
}

static const struct stiffit_lanes lanes_by_differences = {
    .struct_size = sizeof(struct stiffit_lanes), .n_lane = STIFFIT_LANES,
    .rhs = by_differences_rhs, .derive = by_differences_derive, .curve = by_differences_curve,
    .by_state = {by_differences.start, by_differences.row}, .by_parameter = {by_differences.start, by_differences.row},
    .curve_state = {by_differences.start, by_differences.row}, .curve_parameter = {by_differences.start, by_differences.row}};

/* The functions for a model, of full patterns, until the next call. */
static inline const struct stiffit_lanes *lanes_of(const struct stiffit_model *model)
{
    by_differences.model = model;
    for (uint32_t j = 0; j <= BY_DIFFERENCES_MOST; j++) {
        by_differences.start[j + 1] = (int32_t)((j + 1) * model->n_state);
        for (uint32_t i = 0; i < model->n_state; i++)
            by_differences.row[j * model->n_state + i] = (int32_t)i;
    }
    return &lanes_by_differences;
}
#endif
