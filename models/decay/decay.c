/* One state that decays: the smallest model with everything in it, for tests of scale. See README.md.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stiffit/model.h>

enum { K, A, N_PARAMETER };

static const char *const state_name[] = {"y"};
static const char *const parameter_name[N_PARAMETER] = {"k", "A"};
static const char *const observable_name[] = {"y"};
static const double start[N_PARAMETER] = {0.5, 1};
static const double lower[N_PARAMETER] = {1e-4, 1e-4};
static const double upper[N_PARAMETER] = {1e4, 1e4};
static const char *const scale[N_PARAMETER] = {"log", "log"};
static const uint8_t use[N_PARAMETER] = {STIFFIT_USE_RHS, STIFFIT_USE_INITIAL};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->p[K] * at->y[0];
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[K];
    return STIFFIT_OK;
}

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    F[K] = -at->y[0];
    F[A] = 0;
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[A];
    return STIFFIT_OK;
}

static int initial_parameter(const struct stiffit_point *at, double *Y)
{
    (void)at;
    Y[K] = 0;
    Y[A] = 1;
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
    return STIFFIT_OK;
}

static int observe_parameter(const struct stiffit_point *at, double *H)
{
    (void)at;
    H[K] = 0;
    H[A] = 0;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER,
    .name = "decay",
    .description = "exponential decay of one state from a fitted amplitude",
    .n_state = 1,
    .n_parameter = N_PARAMETER,
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
