/* Robertson with the three required functions alone: everything else falls back on differences.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stiffit/model.h>

static const char *const states[] = {"y1", "y2", "y3"}, *const parameters[] = {"p1", "p2", "p3"};
static const char *const observables[] = {"y1", "y2e4", "y3"}, *const scale[] = {"log10", "log10", "log10"};
static const double start[] = {0.04, 1e4, 3e7};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    const double *y = at->y, *p = at->p;
    ydot[0] = -p[0] * y[0] + p[1] * y[1] * y[2];
    ydot[2] = p[2] * y[1] * y[1];
    ydot[1] = -ydot[0] - ydot[2];
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    y[1] = y[2] = 0;
    return STIFFIT_OK;
}

static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    h[1] = 1e4 * at->y[1];
    h[2] = at->y[2];
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER, .name = "robertson_bare",
    .n_state = 3, .n_parameter = 3, .n_observable = 3,
    .state_name = states, .parameter_name = parameters, .observable_name = observables,
    .parameter_start = start, .parameter_scale = scale,
    .rhs = rhs, .initial = initial, .observe = observe,
};
