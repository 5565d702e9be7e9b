/* Lanes with other rates than rhs, a derivative by time that is not there, a wrong curve, and other observables and noise than
 * the model's.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const int32_t time_start[] = {0, 1, 2}, time_row[] = {0, 0};

static void wrong_rhs(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = -1.001 * at->p[k] * at->y[k];
}

static void wrong_derive(const struct stiffit_lanes_point *at, double *out)
{
    zoo_lanes_derive(at, out);
    for (int k = 0; k < W; k++) {
        out[3 * W + k] = out[2 * W + k];
        out[2 * W + k] = 0.1;
    }
}

static void wrong_curve(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = at->direction[k];
}

static void wrong_observe(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++) {
        out[k] = 1.001 * at->y[k];
        out[W + k] = 1;
        out[2 * W + k] = 0.1;
    }
}

static void wrong_noise(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++) {
        out[k] = 0.1001 + 0.2 * at->y[k];
        out[W + k] = 0.3;
    }
}

static const struct stiffit_lanes lanes = {ZOO_LANES, ZOO_LANES_NOISE,
    .rhs = wrong_rhs, .derive = wrong_derive, .curve = wrong_curve, .by_state = {time_start, time_row},
    .observe = wrong_observe, .observe_parameter = {zoo_one_start, zoo_one_row}, .noise = wrong_noise};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_wrong"), ZOO_NOISE, .lanes = &lanes};
