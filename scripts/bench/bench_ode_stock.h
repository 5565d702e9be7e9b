/* CVODES as it comes, with its own forward sensitivities: what the engine is compared with, in benchmarks and tests.
 * N_VSerial, SUNLinSol_Dense, the model's own Jacobian and df/dp, everything in one function of all sensitivities.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_ODE_STOCK_H
#define BENCH_ODE_STOCK_H

#include "ode/sundials_compat.h"

#include <nvector/nvector_serial.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <stiffit/model.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

struct stock_options {
    double rtol, atol;
    bool error_control; /* CVodeSetSensErrCon(TRUE) */
    int method;         /* CV_SIMULTANEOUS or CV_STAGGERED */
};

struct stock {
    const struct stiffit_model *model;
    struct stock_options options;
    size_t n, n_parameter, n_sens;
    double t0;
    struct stiffit_point at;
    double *p, *jacobian, *by_parameter, *work;
    SUNContext context;
    void *cvode;
    N_Vector y, *s;
    SUNMatrix matrix;
    SUNLinearSolver linear;
    bool begun;
    long n_step;
};

static int stock_rhs(double t, N_Vector y, N_Vector ydot, void *data)
{
    struct stock *stock = data;
    stock->at.t = t;
    stock->at.y = N_VGetArrayPointer(y);
    return stock->model->rhs(&stock->at, N_VGetArrayPointer(ydot));
}

static int stock_jacobian(double t, N_Vector y, N_Vector f, SUNMatrix J, void *data, N_Vector a, N_Vector b, N_Vector c)
{
    struct stock *stock = data;
    (void)f, (void)a, (void)b, (void)c;
    stock->at.t = t;
    stock->at.y = N_VGetArrayPointer(y);
    return stock->model->jacobian(&stock->at, SUNDenseMatrix_Data(J));
}

static int stock_sensitivity_rhs(int n_sens, double t, N_Vector y, N_Vector ydot, N_Vector *s, N_Vector *sdot,
                                 void *data,
                                 N_Vector a, N_Vector b)
{
    struct stock *stock = data;
    size_t n = stock->n;
    (void)ydot, (void)a, (void)b;
    stock->at.t = t;
    stock->at.y = N_VGetArrayPointer(y);
    if (stock->model->jacobian(&stock->at, stock->jacobian) != 0 ||
        stock->model->rhs_parameter(&stock->at, stock->by_parameter) != 0)
        return 1;
    for (int k = 0; k < n_sens; k++) {
        const double *restrict in = N_VGetArrayPointer(s[k]);
        double *restrict out = N_VGetArrayPointer(sdot[k]);
        memcpy(out, stock->by_parameter + (size_t)k * n, n * sizeof(double));
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++)
                out[i] += stock->jacobian[i + j * n] * in[j];
    }
    return 0;
}

static bool stock_init(struct stock *stock, const struct stiffit_model *model, const double *p, const double *covariate,
                       double t0, size_t n_sens, struct stock_options options)
{
    size_t n = model->n_state, n_parameter = model->n_parameter;
    *stock = (struct stock){.model = model, .options = options, .n = n, .n_parameter = n_parameter, .n_sens = n_sens,
                            .t0 = t0};
    stock->p = malloc(n_parameter * sizeof(double));
    stock->jacobian = malloc(n * n * sizeof(double));
    stock->by_parameter = malloc(n * n_parameter * sizeof(double));
    stock->work = malloc((model->n_work + 1) * sizeof(double));
    memcpy(stock->p, p, n_parameter * sizeof(double));
    stock->at = (struct stiffit_point){.t = t0, .p = stock->p, .covariate = covariate};
    if (model->prepare && model->prepare(&stock->at, stock->work) != 0)
        return false;
    stock->at.work = model->n_work ? stock->work : NULL;
    stock->context = sundials_context_new();
    stock->y = N_VNew_Serial((sunindextype)n, stock->context);
    stock->matrix = SUNDenseMatrix((sunindextype)n, (sunindextype)n, stock->context);
    stock->linear = SUNLinSol_Dense(stock->y, stock->matrix, stock->context);
    stock->cvode = CVodeCreate(CV_BDF, stock->context);
    if (n_sens)
        stock->s = N_VCloneVectorArray((int)n_sens, stock->y);
    return true;
}

static void stock_fini(struct stock *stock)
{
    CVodeFree(&stock->cvode);
    SUNLinSolFree(stock->linear);
    SUNMatDestroy(stock->matrix);
    if (stock->n_sens)
        N_VDestroyVectorArray(stock->s, (int)stock->n_sens);
    N_VDestroy(stock->y);
    SUNContext_Free(&stock->context);
    free(stock->p);
    free(stock->jacobian);
    free(stock->by_parameter);
    free(stock->work);
}

/* The first n_sens parameters. */
static void stock_begin(struct stock *stock)
{
    size_t n = stock->n;
    stock->at.t = stock->t0;
    stock->at.y = NULL;
    stock->model->initial(&stock->at, N_VGetArrayPointer(stock->y));
    if (stock->n_sens)
        stock->model->initial_parameter(&stock->at, stock->by_parameter);
    for (size_t k = 0; k < stock->n_sens; k++)
        memcpy(N_VGetArrayPointer(stock->s[k]), stock->by_parameter + k * n, n * sizeof(double));
    void *cvode = stock->cvode;
    if (stock->begun) {
        CVodeReInit(cvode, stock->t0, stock->y);
        if (stock->n_sens)
            CVodeSensReInit(cvode, stock->options.method, stock->s);
        return;
    }
    stock->begun = true;
    CVodeInit(cvode, stock_rhs, stock->t0, stock->y);
    CVodeSetUserData(cvode, stock);
    CVodeSetMaxNumSteps(cvode, 1000000);
    CVodeSStolerances(cvode, stock->options.rtol, stock->options.atol);
    CVodeSetLinearSolver(cvode, stock->linear, stock->matrix);
    CVodeSetJacFn(cvode, stock_jacobian);
    if (stock->n_sens == 0)
        return;
    CVodeSensInit(cvode, (int)stock->n_sens, stock->options.method, stock_sensitivity_rhs, stock->s);
    CVodeSetSensParams(cvode, NULL, stock->p, NULL);
    CVodeSensEEtolerances(cvode);
    CVodeSetSensErrCon(cvode, stock->options.error_control);
}

/* States and sensitivities at n_time times: n x (1 + n_sens) numbers for each. 0 or CVODES' flag. */
static int stock_run(struct stock *stock, size_t n_time, const double *time, double *out)
{
    size_t n = stock->n, width = n * (1 + stock->n_sens);
    stock_begin(stock);
    for (size_t i = 0; i < n_time; i++) {
        double t = stock->t0;
        if (time[i] > stock->t0) {
            int flag = CVode(stock->cvode, time[i], stock->y, &t, CV_NORMAL);
            if (flag < 0)
                return flag;
            if (stock->n_sens && (flag = CVodeGetSens(stock->cvode, &t, stock->s)) < 0)
                return flag;
        }
        memcpy(out + i * width, N_VGetArrayPointer(stock->y), n * sizeof(double));
        for (size_t k = 0; k < stock->n_sens; k++)
            memcpy(out + i * width + (k + 1) * n, N_VGetArrayPointer(stock->s[k]), n * sizeof(double));
    }
    CVodeGetNumSteps(stock->cvode, &stock->n_step);
    return 0;
}

#endif
