/* The other way to an adjoint gradient, for comparison: the adjoint equation integrated backward in time by CVODES'
 * adjoint module (CVodeF, CVodeB), restarted at every measurement time. It gets what ours gets: our vectors, our linear
 * solvers, and a corrector that solves the linear backward problem in one go with a fresh matrix.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_ODE_BACKWARD_H
#define BENCH_ODE_BACKWARD_H

#include "ode/dense.h"
#include "ode/tolerance.h"
#include "ode/cvodes.h"

#include <stdlib.h>
#include <string.h>

/* Steps between two checkpoints: all of them here, nothing is integrated twice. */
enum { BACKWARD_STEPS = 2000 };

struct backward {
    const struct stiffit_model *abi;
    struct workspace *ws; /* lends its solvers */
    struct linear_plan *plan;
    struct evaluation evaluation;
    struct vector_bank *bank, *parameter_bank;
    void *cvode;
    SUNNonlinearSolver solver, backward_solver;
    N_Vector y, y_between, lambda, quadrature;
    int which; /* the backward problem, below 0 until there is one */
    double rtol, *states, *h, *h_state;
    size_t n_time;
    const double *time;
};

static inline int backward_rhs(sunrealtype t, N_Vector y, N_Vector lambda, N_Vector out, void *context)
{
    struct workspace *ws = ((struct backward *)context)->ws;
    if (newton_jacobian(ws, t, vector_data(y), NULL, false) != STIFFIT_OK)
        return 1;
    linear_multiply_transposed(ws->linear, vector_data(lambda), vector_data(out));
    for (size_t i = 0; i < ws->sim.n_state; i++)
        vector_data(out)[i] = -vector_data(out)[i];
    return 0;
}

static inline int backward_quadrature(sunrealtype t, N_Vector y, N_Vector lambda, N_Vector out, void *context)
{
    struct backward *b = context;
    size_t n = b->abi->n_state;
    if (derivatives_rhs_parameter(&b->ws->sim.model, t, vector_data(y), b->ws->rhs_parameter) != STIFFIT_OK)
        return 1;
    for (size_t j = 0; j < b->abi->n_parameter; j++)
        vector_data(out)[j] = -dense_dot(b->ws->rhs_parameter + j * n, vector_data(lambda), n);
    return 0;
}

/* CVODES wants to know the size of quadratures. */
static inline void backward_space(N_Vector v, sunindextype *n_real, sunindextype *n_integer)
{
    (void)v;
    *n_real = *n_integer = 0;
}

/* (I + gamma J^T) lambda = prediction - rl1 zn1 */
static inline int backward_solve(SUNNonlinearSolver solver, N_Vector predicted, N_Vector correction, N_Vector weights,
                                 sunrealtype tolerance, sunbooleantype call_setup, void *memory)
{
    struct backward *b = solver->content;
    struct workspace *ws = b->ws;
    double t, gamma, rl1, *c = vector_data(correction);
    N_Vector zn0, y, f, zn1;
    void *user_data;
    (void)weights, (void)tolerance, (void)call_setup;
    if (CVodeGetNonlinearSystemData(memory, &t, &zn0, &y, &f, &gamma, &rl1, &zn1, &user_data) != CV_SUCCESS ||
        CVodeGetAdjY(b->cvode, t, b->y_between) != CV_SUCCESS ||
        newton_jacobian(ws, t, vector_data(b->y_between), NULL, false) != STIFFIT_OK ||
        linear_factor(ws->linear, -gamma) != LINEAR_OK)
        return -1;
    for (size_t i = 0; i < ws->sim.n_state; i++)
        c[i] = vector_data(predicted)[i] - rl1 * vector_data(zn1)[i];
    if (linear_solve_transposed(ws->linear, c) != LINEAR_OK)
        return -1;
    for (size_t i = 0; i < ws->sim.n_state; i++)
        c[i] -= vector_data(predicted)[i];
    return 0;
}

static inline SUNNonlinearSolver_Type backward_type(SUNNonlinearSolver solver)
{
    (void)solver;
    return SUNNONLINEARSOLVER_ROOTFIND;
}
static inline int backward_system(SUNNonlinearSolver solver, SUNNonlinSolSysFn system)
{
    (void)solver, (void)system;
    return 0;
}

static inline int backward_weigh(N_Vector y, N_Vector weight, void *workspace)
{
    tolerance_weigh(&((struct workspace *)workspace)->sim, vector_data(y), vector_data(weight));
    return 0;
}

/* False: something could not be had. All parameters are wanted, and enter the right-hand side alone. */
static inline bool backward_init(struct backward *b, const struct stiffit_model *abi, const double *p,
                                 const uint32_t *sens, size_t n_time, const double *time, double rtol, double atol)
{
    struct ode_options options = {.rtol = rtol, .atol = atol, .linear_solver = LINEAR_AUTO};
    struct error error = {0};
    size_t n = abi->n_state, n_parameter = abi->n_parameter;
    *b = (struct backward){.abi = abi, .which = -1, .n_time = n_time, .time = time, .rtol = rtol};
    b->plan = linear_plan_new(abi, LINEAR_AUTO, &error);
    b->ws = b->plan ? workspace_new(abi, &options, b->plan) : NULL;
    if (!b->ws)
        return false;
    b->evaluation = (struct evaluation){.p = p, .n_sens = n_parameter, .sens = sens};
    b->ws->sim.evaluation = &b->evaluation;
    b->ws->sim.tolerance.rtol = rtol; /* which an evaluation's begin would set */
    b->ws->sim.tolerance.atol = atol;
    for (size_t i = 0; i < n; i++)
        b->ws->sim.tolerance.beyond[i] = atol;
    b->bank = vector_bank_new(b->ws->context, n, 1, 2 * BACKWARD_STEPS + 100);
    b->parameter_bank = vector_bank_new(b->ws->context, n_parameter, 1, 60);
    b->states = calloc(n * n_time, sizeof(double));
    b->h = calloc(abi->n_observable, sizeof(double));
    b->h_state = calloc(n * abi->n_observable, sizeof(double));
    b->cvode = CVodeCreate(CV_BDF, b->ws->context);
    b->solver = newton_new(b->ws);
    b->backward_solver = SUNNonlinSolNewEmpty(b->ws->context);
    if (!b->bank || !b->parameter_bank || !b->states || !b->h || !b->h_state || !b->cvode || !b->solver ||
        !b->backward_solver)
        return false;
    b->backward_solver->content = b;
    b->backward_solver->ops->gettype = backward_type;
    b->backward_solver->ops->setsysfn = backward_system;
    b->backward_solver->ops->solve = backward_solve;
    b->y = vector_new(b->bank);
    b->y_between = vector_new(b->bank);
    b->lambda = vector_new(b->bank);
    b->quadrature = vector_new(b->parameter_bank);
    if (b->quadrature)
        b->quadrature->ops->nvspace = backward_space;
    return sundials_silence(b->cvode) == CV_SUCCESS && CVodeInit(b->cvode, newton_rhs, 0, b->y) == CV_SUCCESS &&
           CVodeSetUserData(b->cvode, b->ws) == CV_SUCCESS &&
           CVodeWFtolerances(b->cvode, backward_weigh) == CV_SUCCESS &&
           CVodeSetNonlinearSolver(b->cvode, b->solver) == CV_SUCCESS &&
           CVodeAdjInit(b->cvode, BACKWARD_STEPS, CV_HERMITE) == CV_SUCCESS;
}

static inline void backward_fini(struct backward *b)
{
    if (b->cvode)
        CVodeFree(&b->cvode);
    if (b->solver)
        SUNNonlinSolFree(b->solver);
    if (b->backward_solver)
        SUNNonlinSolFreeEmpty(b->backward_solver);
    vector_bank_free(b->bank);
    vector_bank_free(b->parameter_bank);
    workspace_free(b->ws);
    linear_plan_free(b->plan);
    free(b->states);
    free(b->h);
    free(b->h_state);
}

/* lambda += dF/dy at time i, F half the sum of squares of the predictions. */
static inline bool backward_jump(struct backward *b, size_t i)
{
    size_t n = b->abi->n_state, n_observable = b->abi->n_observable;
    const double *y = b->states + i * n;
    if (derivatives_value(&b->ws->sim.model, MODEL_OBSERVE, b->time[i], y, b->h) != STIFFIT_OK ||
        derivatives_by_state(&b->ws->sim.model, MODEL_OBSERVE, b->time[i], y, b->h_state) != STIFFIT_OK)
        return false;
    for (size_t k = 0; k < n; k++)
        for (size_t o = 0; o < n_observable; o++)
            vector_data(b->lambda)[k] += b->h[o] * b->h_state[o + k * n_observable];
    return true;
}

/* The backward problem from time t on, its end values in lambda and quadrature. */
static inline bool backward_restart(struct backward *b, double t)
{
    double rtol = b->rtol, atol = b->ws->sim.tolerance.atol;
    if (b->which >= 0)
        return CVodeReInitB(b->cvode, b->which, t, b->lambda) == CV_SUCCESS &&
               CVodeQuadReInitB(b->cvode, b->which, b->quadrature) == CV_SUCCESS;
    return CVodeCreateB(b->cvode, CV_BDF, &b->which) == CV_SUCCESS &&
           CVodeInitB(b->cvode, b->which, backward_rhs, t, b->lambda) == CV_SUCCESS &&
           CVodeSetUserDataB(b->cvode, b->which, b) == CV_SUCCESS &&
           CVodeSStolerancesB(b->cvode, b->which, rtol, atol) == CV_SUCCESS &&
           CVodeSetNonlinearSolverB(b->cvode, b->which, b->backward_solver) == CV_SUCCESS &&
           CVodeQuadInitB(b->cvode, b->which, backward_quadrature, b->quadrature) == CV_SUCCESS;
}

/* One gradient, into vector_data(b->quadrature). */
static inline bool backward_run(struct backward *b)
{
    size_t n = b->abi->n_state;
    double t;
    int n_check;
    linear_begin(b->ws->linear);
    b->ws->factor_gamma = 0;
    if (derivatives_begin(&b->ws->sim.model, b->evaluation.p, NULL, 0, b->evaluation.n_sens, b->evaluation.sens) !=
            STIFFIT_OK ||
        derivatives_initial(&b->ws->sim.model, vector_data(b->y)) != STIFFIT_OK || CVodeAdjReInit(b->cvode) != CV_SUCCESS ||
        CVodeReInit(b->cvode, 0, b->y) != CV_SUCCESS)
        return false;
    for (size_t i = 0; i < b->n_time; i++) {
        if (CVodeF(b->cvode, b->time[i], b->y, &t, CV_NORMAL, &n_check) < 0)
            return false;
        memcpy(b->states + i * n, vector_data(b->y), n * sizeof(double));
    }
    N_VConst(0, b->lambda);
    N_VConst(0, b->quadrature);
    for (size_t i = b->n_time; i-- > 0;)
        if (!backward_jump(b, i) || !backward_restart(b, b->time[i]) ||
            CVodeB(b->cvode, i > 0 ? b->time[i - 1] : 0, CV_NORMAL) < 0 ||
            CVodeGetB(b->cvode, b->which, &t, b->lambda) < 0 ||
            CVodeGetQuadB(b->cvode, b->which, &t, b->quadrature) < 0)
            return false;
    return true;
}

#endif
