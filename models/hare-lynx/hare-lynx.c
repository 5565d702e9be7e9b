/* Hare and lynx as Lotka-Volterra, initial numbers fitted too. See README.md.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stiffit/model.h>

enum { HARE, LYNX, N };
enum { ALPHA, BETA, GAMMA, DELTA, H0, L0, P };

static const char *const state_name[N] = {"hare", "lynx"};
static const char *const parameter_name[P] = {"alpha", "beta", "gamma", "delta", "H0", "L0"};
static const double start[P] = {0.5, 0.02, 0.8, 0.02, 30, 4};
static const double lower[P] = {0.01, 1e-4, 0.01, 1e-4, 1, 0.1};
static const double upper[P] = {5, 1, 5, 1, 200, 100};
static const char *const scale[P] = {"log", "log", "log", "log", "log", "log"};
static const char *const unit[P] = {"1/a", "1/(1000 a)", "1/a", "1/(1000 a)", "1000", "1000"};
static const uint8_t use[P] = {STIFFIT_USE_RHS, STIFFIT_USE_RHS, STIFFIT_USE_RHS, STIFFIT_USE_RHS,
                               STIFFIT_USE_INITIAL, STIFFIT_USE_INITIAL};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    const double *y = at->y, *p = at->p;
    ydot[HARE] = (p[ALPHA] - p[BETA] * y[LYNX]) * y[HARE];
    ydot[LYNX] = (p[DELTA] * y[HARE] - p[GAMMA]) * y[LYNX];
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    const double *y = at->y, *p = at->p;
    J[HARE + N * HARE] = p[ALPHA] - p[BETA] * y[LYNX];
    J[LYNX + N * HARE] = p[DELTA] * y[LYNX];
    J[HARE + N * LYNX] = -p[BETA] * y[HARE];
    J[LYNX + N * LYNX] = p[DELTA] * y[HARE] - p[GAMMA];
    return STIFFIT_OK;
}

static int zero_matrix(const struct stiffit_point *at, double *out)
{
    (void)at;
    for (int i = 0; i < N * P; i++)
        out[i] = 0;
    return STIFFIT_OK;
}

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    const double *y = at->y;
    zero_matrix(at, F);
    F[HARE + N * ALPHA] = y[HARE];
    F[HARE + N * BETA] = -y[LYNX] * y[HARE];
    F[LYNX + N * GAMMA] = -y[LYNX];
    F[LYNX + N * DELTA] = y[HARE] * y[LYNX];
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    y[HARE] = at->p[H0];
    y[LYNX] = at->p[L0];
    return STIFFIT_OK;
}

static int initial_parameter(const struct stiffit_point *at, double *Y)
{
    zero_matrix(at, Y);
    Y[HARE + N * H0] = 1;
    Y[LYNX + N * L0] = 1;
    return STIFFIT_OK;
}

static int observe(const struct stiffit_point *at, double *h)
{
    h[HARE] = at->y[HARE];
    h[LYNX] = at->y[LYNX];
    return STIFFIT_OK;
}

static int observe_state(const struct stiffit_point *at, double *H)
{
    (void)at;
    H[HARE + N * HARE] = 1;
    H[LYNX + N * HARE] = 0;
    H[HARE + N * LYNX] = 0;
    H[LYNX + N * LYNX] = 1;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER,
    .name = "hare-lynx",
    .description = "predator and prey after Lotka and Volterra",
    .n_state = N,
    .n_parameter = P,
    .n_observable = N,
    .state_name = state_name,
    .parameter_name = parameter_name,
    .observable_name = state_name,
    .parameter_start = start,
    .parameter_lower = lower,
    .parameter_upper = upper,
    .parameter_scale = scale,
    .parameter_unit = unit,
    .parameter_use = use,
    .t0 = 1900,
    .time_unit = "a",
    .rhs = rhs,
    .initial = initial,
    .observe = observe,
    .jacobian = jacobian,
    .rhs_parameter = rhs_parameter,
    .initial_parameter = initial_parameter,
    .observe_state = observe_state,
    .observe_parameter = zero_matrix,
};
