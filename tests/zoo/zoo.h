/* A sound little model, y' = -k y with y(0) = A, from which each plugin of this folder departs in one point: ZOO_MODEL
 * fills a descriptor, and what comes after it overrides.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ZOO_H
#define ZOO_H

#include <math.h>
#include <stddef.h>
#include <stiffit/model.h>

#define ZOO_UNUSED __attribute__((unused))

static const char *const zoo_state[] = {"y"};
static const char *const zoo_parameter[] = {"k", "A"};
static const double zoo_start[] = {0.3, 1};
static const char *const zoo_scale[] = {"log", "log"};
static const uint8_t zoo_use[] = {STIFFIT_USE_RHS, STIFFIT_USE_INITIAL};

ZOO_UNUSED static int zoo_rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->p[0] * at->y[0];
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[0];
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_rhs_parameter(const struct stiffit_point *at, double *F)
{
    F[0] = -at->y[0];
    F[1] = 0;
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[1];
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_initial_parameter(const struct stiffit_point *at, double *Y)
{
    (void)at;
    Y[0] = 0;
    Y[1] = 1;
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_observe_state(const struct stiffit_point *at, double *H)
{
    (void)at;
    H[0] = 1;
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_observe_parameter(const struct stiffit_point *at, double *H)
{
    (void)at;
    H[0] = 0;
    H[1] = 0;
    return STIFFIT_OK;
}

/* Its functions of lanes: g = -k v. */
enum { W = STIFFIT_LANES };
static const int32_t zoo_one_start[] = {0, 1, 1}, zoo_one_row[] = {0}, zoo_none_start[] = {0, 0},
                     zoo_no_parameter_start[] = {0, 0, 0};

ZOO_UNUSED static void zoo_lanes_rhs(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = -at->p[k] * at->y[k];
}

ZOO_UNUSED static void zoo_lanes_derive(const struct stiffit_lanes_point *at, double *out)
{
    zoo_lanes_rhs(at, out);
    for (int k = 0; k < W; k++) {
        out[W + k] = -at->p[k];
        out[2 * W + k] = -at->y[k];
    }
}

ZOO_UNUSED static void zoo_lanes_curve(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = -at->direction[k];
}

ZOO_UNUSED static void zoo_lanes_observe(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++) {
        out[k] = at->y[k];
        out[W + k] = 1;
    }
}

/* A noise of 0.1 + 0.2 y. */
ZOO_UNUSED static int zoo_noise(const struct stiffit_point *at, double *s)
{
    s[0] = 0.1 + 0.2 * at->y[0];
    return STIFFIT_OK;
}

ZOO_UNUSED static int zoo_noise_state(const struct stiffit_point *at, double *S)
{
    (void)at;
    S[0] = 0.2;
    return STIFFIT_OK;
}

ZOO_UNUSED static void zoo_lanes_noise(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++) {
        out[k] = 0.1 + 0.2 * at->y[k];
        out[W + k] = 0.2;
    }
}

/* Tables, which may be followed by fields that override them. */
#define ZOO_LANES_NOISE \
    .noise = zoo_lanes_noise, .noise_state = {zoo_one_start, zoo_one_row}, .noise_parameter = {zoo_no_parameter_start, 0}
#define ZOO_NOISE .noise = zoo_noise, .noise_state = zoo_noise_state, .noise_parameter = zoo_observe_parameter
#define ZOO_LANES \
    .struct_size = sizeof(struct stiffit_lanes), .n_lane = STIFFIT_LANES, .rhs = zoo_lanes_rhs, .derive = zoo_lanes_derive, \
    .curve = zoo_lanes_curve, .by_state = {zoo_one_start, zoo_one_row}, .by_parameter = {zoo_one_start, zoo_one_row}, \
    .curve_state = {zoo_none_start, 0}, .curve_parameter = {zoo_one_start, zoo_one_row}, .observe = zoo_lanes_observe, \
    .observe_state = {zoo_one_start, zoo_one_row}, .observe_parameter = {zoo_no_parameter_start, 0}

#define ZOO_MODEL(zoo_name) \
    STIFFIT_MODEL_HEADER, .name = zoo_name, .n_state = 1, .n_parameter = 2, .n_observable = 1, \
    .state_name = zoo_state, .parameter_name = zoo_parameter, .observable_name = zoo_state, \
    .parameter_start = zoo_start, .parameter_scale = zoo_scale, .parameter_use = zoo_use, \
    .rhs = zoo_rhs, .initial = zoo_initial, .observe = zoo_observe, .jacobian = zoo_jacobian, \
    .rhs_parameter = zoo_rhs_parameter, .initial_parameter = zoo_initial_parameter, \
    .observe_state = zoo_observe_state, .observe_parameter = zoo_observe_parameter

#endif
