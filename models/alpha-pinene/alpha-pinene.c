/* Thermal isomerization of alpha-pinene (Box, Hunter, MacGregor & Erjavec 1973): five species, first-order steps.
 * See README.md.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stiffit/model.h>

enum { N = 5, P = 5 };
#define ENTRY(i, j) ((i)-1 + ((j)-1) * N) /* of an N x N or N x P matrix, species and constants counted from 1 */

static const char *const state_name[N] = {"y1", "y2", "y3", "y4", "y5"};
static const char *const parameter_name[P] = {"p1", "p2", "p3", "p4", "p5"};
static const double start[P] = {1e-4, 1e-4, 1e-4, 1e-4, 1e-4};
static const double lower[P] = {1e-7, 1e-7, 1e-7, 1e-7, 1e-7};
static const double upper[P] = {1e-1, 1e-1, 1e-1, 1e-1, 1e-1};
static const char *const scale[P] = {"log", "log", "log", "log", "log"};
static const char *const unit[P] = {"1/min", "1/min", "1/min", "1/min", "1/min"};
static const uint8_t use[P] = {STIFFIT_USE_RHS, STIFFIT_USE_RHS, STIFFIT_USE_RHS, STIFFIT_USE_RHS, STIFFIT_USE_RHS};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    const double *y = at->y, *p = at->p;
    ydot[0] = -(p[0] + p[1]) * y[0];
    ydot[1] = p[0] * y[0];
    ydot[2] = p[1] * y[0] - (p[2] + p[3]) * y[2] + p[4] * y[4];
    ydot[3] = p[2] * y[2];
    ydot[4] = p[3] * y[2] - p[4] * y[4];
    return STIFFIT_OK;
}

static int zero_matrix(const struct stiffit_point *at, double *out)
{
    (void)at;
    for (int i = 0; i < N * N; i++)
        out[i] = 0;
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    const double *p = at->p;
    zero_matrix(at, J);
    J[ENTRY(1, 1)] = -(p[0] + p[1]);
    J[ENTRY(2, 1)] = p[0];
    J[ENTRY(3, 1)] = p[1];
    J[ENTRY(3, 3)] = -(p[2] + p[3]);
    J[ENTRY(4, 3)] = p[2];
    J[ENTRY(5, 3)] = p[3];
    J[ENTRY(3, 5)] = p[4];
    J[ENTRY(5, 5)] = -p[4];
    return STIFFIT_OK;
}

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    const double *y = at->y;
    zero_matrix(at, F);
    F[ENTRY(1, 1)] = -y[0];
    F[ENTRY(2, 1)] = y[0];
    F[ENTRY(1, 2)] = -y[0];
    F[ENTRY(3, 2)] = y[0];
    F[ENTRY(3, 3)] = -y[2];
    F[ENTRY(4, 3)] = y[2];
    F[ENTRY(3, 4)] = -y[2];
    F[ENTRY(5, 4)] = y[2];
    F[ENTRY(3, 5)] = y[4];
    F[ENTRY(5, 5)] = -y[4];
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 100;
    for (int i = 1; i < N; i++)
        y[i] = 0;
    return STIFFIT_OK;
}

static int observe(const struct stiffit_point *at, double *h)
{
    for (int i = 0; i < N; i++)
        h[i] = at->y[i];
    return STIFFIT_OK;
}

static int observe_state(const struct stiffit_point *at, double *H)
{
    zero_matrix(at, H);
    for (int i = 1; i <= N; i++)
        H[ENTRY(i, i)] = 1;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER,
    .name = "alpha-pinene",
    .description = "thermal isomerization of alpha-pinene at 189.5 degrees Celsius",
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
    .time_unit = "min",
    .rhs = rhs,
    .initial = initial,
    .observe = observe,
    .jacobian = jacobian,
    .rhs_parameter = rhs_parameter,
    .initial_parameter = zero_matrix,
    .observe_state = observe_state,
    .observe_parameter = zero_matrix,
};
