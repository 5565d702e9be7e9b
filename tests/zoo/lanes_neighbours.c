/* Lanes that look at their neighbours, write beyond the end, and leave something out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static void curious_rhs(const struct stiffit_lanes_point *at, double *out)
{
    for (int k = 0; k < W; k++)
        out[k] = -at->p[k] * at->y[k] + 0 * at->y[(k + 1) % W];
}

static void long_derive(const struct stiffit_lanes_point *at, double *out)
{
    zoo_lanes_derive(at, out);
    out[3 * W] = 1;
}

static void short_curve(const struct stiffit_lanes_point *at, double *out) { (void)at, (void)out; }

static const struct stiffit_lanes lanes = {ZOO_LANES, .rhs = curious_rhs, .derive = long_derive, .curve = short_curve};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_neighbours"), .lanes = &lanes};
