/* What the tests of ode/ share: an engine around a model that is filled in by hand or loaded, with a task in which
 * every observable is measured at every time.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_ODE_CASE_H
#define TESTS_UNIT_ODE_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/build/shared_object.h"
#include "ode/engine.h"

struct ode_case {
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
    struct ode_task task;
    struct evaluation evaluation;
    uint32_t *sens, *row_time, *row_observable;
    double *prediction, *d_prediction, *noise, *d_noise;
    size_t n_row;
};

static inline void ode_case_arrays(struct ode_case *c, const double *p, const double *covariate, double t0,
                                   size_t n_time,
                                   const double *time)
{
    size_t n_observable = c->model.abi.n_observable, n_parameter = c->model.abi.n_parameter;
    size_t n_row = n_time * n_observable;
    c->n_row = n_row;
    c->sens = malloc(n_parameter * sizeof *c->sens);
    c->row_time = malloc((n_row + 1) * sizeof *c->row_time);
    c->row_observable = malloc((n_row + 1) * sizeof *c->row_observable);
    c->prediction = calloc(n_row + 1, sizeof(double));
    c->d_prediction = calloc(n_row * n_parameter + 1, sizeof(double));
    c->noise = c->model.abi.noise ? calloc(n_row + 1, sizeof(double)) : NULL;
    c->d_noise = c->model.abi.noise ? calloc(n_row * n_parameter + 1, sizeof(double)) : NULL;
    for (size_t k = 0; k < n_parameter; k++)
        c->sens[k] = (uint32_t)k;
    for (size_t i = 0; i < n_row; i++) {
        c->row_time[i] = (uint32_t)(i / n_observable);
        c->row_observable[i] = (uint32_t)(i % n_observable);
    }
    c->task = (struct ode_task){.experiment = {.t0 = t0, .covariate = covariate},
                                .n_time = n_time, .time = time, .n_row = n_row, .row_time = c->row_time,
                                .row_observable = c->row_observable};
    c->evaluation = (struct evaluation){.task = &c->task, .p = p, .n_sens = n_parameter, .sens = c->sens,
                                        .max_steps = 1000000, .deadline_ns = INT64_MAX, .prediction = c->prediction,
                                        .d_prediction = c->d_prediction, .noise = c->noise, .d_noise = c->d_noise};
}

/* All parameters are wanted at first: evaluation.n_sens and sens[] may be changed. */
static inline void ode_case_init_engine(struct ode_case *c, const struct engine_table *table, const struct stiffit_model *abi,
                                        const struct ode_options *options, size_t n_workspace, const double *p,
                                        const double *covariate, double t0, size_t n_time, const double *time)
{
    struct error error = {0};
    memset(c, 0, sizeof *c);
    c->model.abi = *abi;
    c->pool = table->pool_new(table, &c->model, options, n_workspace, 1, &error);
    if (!c->pool)
        fail_msg("%s", error.message);
    c->pool->table = table;
    c->engine = engine_new(c->pool, &error);
    assert_non_null(c->engine);
    ode_case_arrays(c, p, covariate, t0, n_time, time);
}

static inline void ode_case_init(struct ode_case *c, const struct stiffit_model *abi, const struct ode_options *options,
                                 size_t n_workspace, const double *p, const double *covariate, double t0, size_t n_time,
                                 const double *time)
{
    ode_case_init_engine(c, engine_in_use[ENGINE_CVODES], abi, options, n_workspace, p, covariate, t0, n_time, time);
}

static inline void ode_case_fini(struct ode_case *c)
{
    engine_free(c->engine);
    engine_pool_free(c->pool);
    free(c->sens);
    free(c->row_time);
    free(c->row_observable);
    free(c->prediction);
    free(c->d_prediction);
    free(c->noise);
    free(c->d_noise);
}

static inline void ode_case_run(struct ode_case *c)
{
    c->evaluation.course = (struct evaluation_course){0};
    engine_evaluate(c->engine, &c->evaluation);
    if (c->evaluation.outcome != EVALUATION_OK)
        fail_msg("outcome %d: %s", (int)c->evaluation.outcome, c->evaluation.reason);
    assert_string_equal(c->evaluation.reason, "");
    assert_null(c->evaluation.state);
}

static inline void assert_close(double a, double b, double tolerance, const char *what, size_t i, size_t j)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%s (%zu, %zu): %.17g is not %.17g within %.3g", what, i, j, a, b, tolerance);
}

#endif
