/* One-compartment pharmacokinetics after an oral dose, parameterised by logarithms as R's SSfol. See README.md.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stiffit/model.h>

enum { GUT, CENTRAL, N };
enum { LKE, LKA, LCL, P };
enum { KE, KA, PER_VOLUME, N_WORK }; /* work: the rates and 1/V = Ke/Cl, once per evaluation */

static const char *const state_name[N] = {"gut", "central"};
static const char *const parameter_name[P] = {"lKe", "lKa", "lCl"};
static const char *const observable_name[] = {"conc"};
static const char *const covariate_name[] = {"dose"};
static const double start[P] = {-2.5, 0.5, -3};
static const double lower[P] = {-8, -5, -9};
static const double upper[P] = {2, 6, 3};
static const char *const scale[P] = {"lin", "lin", "lin"};
static const char *const unit[P] = {"ln(1/h)", "ln(1/h)", "ln(L/h/kg)"};
static const uint8_t use[P] = {STIFFIT_USE_RHS | STIFFIT_USE_OBSERVE, STIFFIT_USE_RHS, STIFFIT_USE_OBSERVE};

static int prepare(const struct stiffit_point *at, double *work)
{
    work[KE] = exp(at->p[LKE]);
    work[KA] = exp(at->p[LKA]);
    work[PER_VOLUME] = exp(at->p[LKE] - at->p[LCL]);
    return STIFFIT_OK;
}

static int rhs(const struct stiffit_point *at, double *ydot)
{
    const double *y = at->y, *work = at->work;
    ydot[GUT] = -work[KA] * y[GUT];
    ydot[CENTRAL] = work[KA] * y[GUT] - work[KE] * y[CENTRAL];
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    J[GUT + N * GUT] = -at->work[KA];
    J[CENTRAL + N * GUT] = at->work[KA];
    J[GUT + N * CENTRAL] = 0;
    J[CENTRAL + N * CENTRAL] = -at->work[KE];
    return STIFFIT_OK;
}

/* d Ke / d lKe = Ke, and so for Ka. */
static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    const double *y = at->y, *work = at->work;
    F[GUT + N * LKE] = 0;
    F[CENTRAL + N * LKE] = -work[KE] * y[CENTRAL];
    F[GUT + N * LKA] = -work[KA] * y[GUT];
    F[CENTRAL + N * LKA] = work[KA] * y[GUT];
    F[GUT + N * LCL] = 0;
    F[CENTRAL + N * LCL] = 0;
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    y[GUT] = at->covariate[0];
    y[CENTRAL] = 0;
    return STIFFIT_OK;
}

static int initial_parameter(const struct stiffit_point *at, double *Y)
{
    (void)at;
    for (int i = 0; i < N * P; i++)
        Y[i] = 0;
    return STIFFIT_OK;
}

static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->work[PER_VOLUME] * at->y[CENTRAL];
    return STIFFIT_OK;
}

static int observe_state(const struct stiffit_point *at, double *H)
{
    H[GUT] = 0;
    H[CENTRAL] = at->work[PER_VOLUME];
    return STIFFIT_OK;
}

static int observe_parameter(const struct stiffit_point *at, double *H)
{
    double conc = at->work[PER_VOLUME] * at->y[CENTRAL];
    H[LKE] = conc;
    H[LKA] = 0;
    H[LCL] = -conc;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    STIFFIT_MODEL_HEADER,
    .name = "theophylline",
    .description = "one compartment, first-order absorption of one oral dose and first-order elimination",
    .n_state = N,
    .n_parameter = P,
    .n_observable = 1,
    .n_covariate = 1,
    .n_work = N_WORK,
    .state_name = state_name,
    .parameter_name = parameter_name,
    .observable_name = observable_name,
    .covariate_name = covariate_name,
    .parameter_start = start,
    .parameter_lower = lower,
    .parameter_upper = upper,
    .parameter_scale = scale,
    .parameter_unit = unit,
    .parameter_use = use,
    .time_unit = "h",
    .rhs = rhs,
    .initial = initial,
    .observe = observe,
    .prepare = prepare,
    .jacobian = jacobian,
    .rhs_parameter = rhs_parameter,
    .initial_parameter = initial_parameter,
    .observe_state = observe_state,
    .observe_parameter = observe_parameter,
};
