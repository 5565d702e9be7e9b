/* Functions of lanes written by hand, for tests and benches of the engine of lanes: Robertson's problem, alpha-pinene, and a
 * decay.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_LANES_BY_HAND_H
#define TESTS_UNIT_LANES_BY_HAND_H

#include <stiffit/model.h>

typedef double lane_vector __attribute__((vector_size(64)));
#define LANES(x) ((const lane_vector *)(x))

/* Robertson: y1' = b - a, y2' = a - b - c, y3' = c with a = p1 y1, b = p2 y2 y3, c = p3 y2^2 */
static void robertson_rhs(const struct stiffit_lanes_point *at, double *out)
{
    const lane_vector *y = LANES(at->y), *p = LANES(at->p);
    lane_vector *f = (lane_vector *)out, a = p[0] * y[0], b = p[1] * y[1] * y[2], c = p[2] * y[1] * y[1];
    f[0] = b - a;
    f[1] = a - b - c;
    f[2] = c;
}

static void robertson_derive(const struct stiffit_lanes_point *at, double *out)
{
    const lane_vector *y = LANES(at->y), *p = LANES(at->p);
    lane_vector *J = (lane_vector *)out + 3, *F = J + 7;
    robertson_rhs(at, out);
    J[0] = -p[0], J[1] = p[0];
    J[2] = p[1] * y[2], J[4] = 2 * p[2] * y[1], J[3] = -J[2] - J[4];
    J[5] = p[1] * y[1], J[6] = -J[5];
    F[0] = -y[0], F[1] = y[0];
    F[2] = y[1] * y[2], F[3] = -F[2];
    F[5] = y[1] * y[1], F[4] = -F[5];
}

static void robertson_curve(const struct stiffit_lanes_point *at, double *out)
{
    const lane_vector *y = LANES(at->y), *p = LANES(at->p), *v = LANES(at->direction);
    lane_vector *J = (lane_vector *)out, *F = J + 5;
    J[0] = p[1] * v[2], J[2] = 2 * p[2] * v[1], J[1] = -J[0] - J[2];
    J[3] = p[1] * v[1], J[4] = -J[3];
    F[0] = -v[0], F[1] = v[0];
    F[2] = v[1] * y[2] + y[1] * v[2], F[3] = -F[2];
    F[5] = 2 * y[1] * v[1], F[4] = -F[5];
}

static const struct stiffit_lanes robertson_lanes = {
    .struct_size = sizeof(struct stiffit_lanes), .n_lane = STIFFIT_LANES,
    .rhs = robertson_rhs, .derive = robertson_derive, .curve = robertson_curve,
    .by_state = {(const int32_t[]){0, 2, 5, 7, 7}, (const int32_t[]){0, 1, 0, 1, 2, 0, 1}},
    .by_parameter = {(const int32_t[]){0, 2, 4, 6}, (const int32_t[]){0, 1, 0, 1, 1, 2}},
    .curve_state = {(const int32_t[]){0, 0, 3, 5}, (const int32_t[]){0, 1, 2, 0, 1}},
    .curve_parameter = {(const int32_t[]){0, 2, 4, 6}, (const int32_t[]){0, 1, 0, 1, 1, 2}}};

/* alpha-pinene: see models/alpha-pinene */
static void pinene_rhs(const struct stiffit_lanes_point *at, double *out)
{
    const lane_vector *y = LANES(at->y), *p = LANES(at->p);
    lane_vector *f = (lane_vector *)out;
    f[0] = -(p[0] + p[1]) * y[0];
    f[1] = p[0] * y[0];
    f[2] = p[1] * y[0] - (p[2] + p[3]) * y[2] + p[4] * y[4];
    f[3] = p[2] * y[2];
    f[4] = p[3] * y[2] - p[4] * y[4];
}

/* df/dp for the states (or their changes) x */
static void pinene_by_parameter(const lane_vector *x, lane_vector *F)
{
    F[0] = -x[0], F[1] = x[0];
    F[2] = -x[0], F[3] = x[0];
    F[4] = -x[2], F[5] = x[2];
    F[6] = -x[2], F[7] = x[2];
    F[8] = x[4], F[9] = -x[4];
}

static void pinene_derive(const struct stiffit_lanes_point *at, double *out)
{
    const lane_vector *p = LANES(at->p);
    lane_vector *J = (lane_vector *)out + 5;
    pinene_rhs(at, out);
    J[0] = -(p[0] + p[1]), J[1] = p[0], J[2] = p[1];
    J[3] = -(p[2] + p[3]), J[4] = p[2], J[5] = p[3];
    J[6] = p[4], J[7] = -p[4];
    pinene_by_parameter(LANES(at->y), J + 8);
}

static void pinene_curve(const struct stiffit_lanes_point *at, double *out)
{
    pinene_by_parameter(LANES(at->direction), (lane_vector *)out);
}

static const struct stiffit_lanes pinene_lanes = {
    .struct_size = sizeof(struct stiffit_lanes), .n_lane = STIFFIT_LANES,
    .rhs = pinene_rhs, .derive = pinene_derive, .curve = pinene_curve,
    .by_state = {(const int32_t[]){0, 3, 3, 6, 6, 8, 8}, (const int32_t[]){0, 1, 2, 2, 3, 4, 2, 4}},
    .by_parameter = {(const int32_t[]){0, 2, 4, 6, 8, 10}, (const int32_t[]){0, 1, 0, 2, 2, 3, 2, 4, 2, 4}},
    .curve_state = {(const int32_t[]){0, 0, 0, 0, 0, 0}, (const int32_t[]){0}},
    .curve_parameter = {(const int32_t[]){0, 2, 4, 6, 8, 10}, (const int32_t[]){0, 1, 0, 2, 2, 3, 2, 4, 2, 4}}};

#endif
