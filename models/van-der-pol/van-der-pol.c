/* Van der Pol's oscillator, as stiff as its parameter says. See README.md.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stiffit/model.h>

enum { N = 2, P = 1 };

static const char *const state_name[N] = {"y1", "y2"};
static const char *const parameter_name[P] = {"mu"};
static const char *const observable_name[] = {"y1"};
static const double start[P] = {10};
static const double lower[P] = {1e-3};
static const double upper[P] = {1e6};
static const char *const scale[P] = {"log10"};
static const uint8_t use[P] = {STIFFIT_USE_RHS};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    const double *y = at->y;
    ydot[0] = y[1];
    ydot[1] = at->p[0] * (1 - y[0] * y[0]) * y[1] - y[0];
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    const double *y = at->y;
    J[0] = 0;
    J[1] = -2 * at->p[0] * y[0] * y[1] - 1;
    J[2] = 1;
    J[3] = at->p[0] * (1 - y[0] * y[0]);
    return STIFFIT_OK;
}

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    const double *y = at->y;
    F[0] = 0;
    F[1] = (1 - y[0] * y[0]) * y[1];
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 2;
    y[1] = 0;
    return STIFFIT_OK;
}

static int initial_parameter(const struct stiffit_point *at, double *Y)
{
    (void)at;
    Y[0] = 0;
    Y[1] = 0;
    return STIFFIT_OK;
}

static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    return STIFFIT_OK;
}

static int observe_state(const struct stiffit_point *at, double *H)
{
    (void)at;
    H[0] = 1;
    H[1] = 0;
    return STIFFIT_OK;
}

static int observe_parameter(const struct stiffit_point *at, double *H)
{
    (void)at;
    H[0] = 0;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER,
    .name = "van-der-pol",
    .description = "relaxation oscillator with its stiffness as the parameter",
    .n_state = N,
    .n_parameter = P,
    .n_observable = 1,
    .state_name = state_name,
    .parameter_name = parameter_name,
    .observable_name = observable_name,
    .parameter_start = start,
    .parameter_lower = lower,
    .parameter_upper = upper,
    .parameter_scale = scale,
    .parameter_use = use,
    .rhs = rhs,
    .initial = initial,
    .observe = observe,
    .jacobian = jacobian,
    .rhs_parameter = rhs_parameter,
    .initial_parameter = initial_parameter,
    .observe_state = observe_state,
    .observe_parameter = observe_parameter,
};
