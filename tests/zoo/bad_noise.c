/* A standard deviation that is not above 0, with derivatives that are right.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int noise(const struct stiffit_point *at, double *s)
{
    s[0] = -at->p[0];
    return STIFFIT_OK;
}

static int noise_state(const struct stiffit_point *at, double *S)
{
    (void)at;
    S[0] = 0;
    return STIFFIT_OK;
}

static int noise_parameter(const struct stiffit_point *at, double *S)
{
    (void)at;
    S[0] = -1;
    S[1] = 0;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("bad_noise"),
    .noise = noise, .noise_state = noise_state, .noise_parameter = noise_parameter, .parameter_use = NULL};
