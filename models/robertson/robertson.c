/* Robertson's chemical kinetics: three species, rate constants over nine decades. See README.md.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stiffit/model.h>

enum { N = 3, P = 3 };
/* y2 stays below 4e-5: its observable is blown up so that all three have a similar size. */
#define Y2_FACTOR 1e4

static const char *const state_name[N] = {"y1", "y2", "y3"};
static const char *const parameter_name[P] = {"p1", "p2", "p3"};
static const char *const observable_name[N] = {"y1", "y2e4", "y3"};
static const double start[P] = {0.04, 1e4, 3e7};
static const double lower[P] = {1e-4, 1e1, 1e4};
static const double upper[P] = {1e1, 1e7, 1e11};
static const char *const scale[P] = {"log10", "log10", "log10"};
static const char *const unit[P] = {"1/s", "1/s", "1/s"};
static const uint8_t use[P] = {STIFFIT_USE_RHS, STIFFIT_USE_RHS, STIFFIT_USE_RHS};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    const double *y = at->y, *p = at->p;
    double first = p[0] * y[0], second = p[1] * y[1] * y[2], third = p[2] * y[1] * y[1];
    ydot[0] = second - first;
    ydot[1] = first - second - third;
    ydot[2] = third;
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    const double *y = at->y, *p = at->p;
    J[0] = -p[0];
    J[1] = p[0];
    J[2] = 0;
    J[3] = p[1] * y[2];
    J[4] = -p[1] * y[2] - 2 * p[2] * y[1];
    J[5] = 2 * p[2] * y[1];
    J[6] = p[1] * y[1];
    J[7] = -p[1] * y[1];
    J[8] = 0;
    return STIFFIT_OK;
}

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    const double *y = at->y;
    F[0] = -y[0];
    F[1] = y[0];
    F[2] = 0;
    F[3] = y[1] * y[2];
    F[4] = -y[1] * y[2];
    F[5] = 0;
    F[6] = 0;
    F[7] = -y[1] * y[1];
    F[8] = y[1] * y[1];
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    y[1] = 0;
    y[2] = 0;
    return STIFFIT_OK;
}

static int zero_matrix(const struct stiffit_point *at, double *out)
{
    (void)at;
    for (int i = 0; i < N * P; i++)
        out[i] = 0;
    return STIFFIT_OK;
}

static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    h[1] = Y2_FACTOR * at->y[1];
    h[2] = at->y[2];
    return STIFFIT_OK;
}

static int observe_state(const struct stiffit_point *at, double *H)
{
    zero_matrix(at, H);
    H[0] = 1;
    H[4] = Y2_FACTOR;
    H[8] = 1;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER,
    .name = "robertson",
    .description = "Robertson's autocatalytic kinetics of three species",
    .n_state = N,
    .n_parameter = P,
    .n_observable = N,
    .state_name = state_name,
    .parameter_name = parameter_name,
    .observable_name = observable_name,
    .parameter_start = start,
    .parameter_lower = lower,
    .parameter_upper = upper,
    .parameter_scale = scale,
    .parameter_unit = unit,
    .parameter_use = use,
    .time_unit = "s",
    .rhs = rhs,
    .initial = initial,
    .observe = observe,
    .jacobian = jacobian,
    .rhs_parameter = rhs_parameter,
    .initial_parameter = zero_matrix,
    .observe_state = observe_state,
    .observe_parameter = zero_matrix,
};
