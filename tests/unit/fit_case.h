/* What the tests of fit/ share: a host that evaluates models without states (observables of time alone) on the spot, so
 * that an optimiser can be tested without an integrator, and the set-up of a problem around it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FIT_CASE_H
#define TESTS_FIT_CASE_H

#include "fit/joint/one.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_case.h"

enum { CASE_PARAMETERS = 64, CASE_OBSERVABLES = 8, CASE_WORK = 8 };

struct fit_case {
    struct model model;
    struct ode_task task;
    struct fit_problem problem;
    struct fit_options options;
    struct fit_host host;
    struct fit_record result;
    void *arrays; /* the result's */
    struct arena arena;
    /* after each evaluation: spoils it, or cancels by returning false */
    bool (*spoil)(struct fit_case *self, struct evaluation *evaluation);
    int64_t n_ask, elapsed_ns, steps_each;
    uint64_t random;
    double *time, *value, *sigma;
    uint32_t *row_time, *row_observable;
    uint32_t to_model[CASE_PARAMETERS];
    double start[CASE_PARAMETERS], lower[CASE_PARAMETERS], upper[CASE_PARAMETERS];
    double *parameter; /* the result's */
    enum parameter_scale scale[CASE_PARAMETERS];
    uint8_t fixed[CASE_PARAMETERS];
    const char *name[CASE_PARAMETERS];
    struct fit_loss loss[CASE_OBSERVABLES]; /* normal */
};

/* What a function of a model without states gives. */
static inline int case_value(const struct stiffit_model *abi, stiffit_function *function, const struct stiffit_point *point,
                             double *out)
{
    double work[CASE_WORK];
    struct stiffit_point at = *point;
    assert_true(abi->n_work <= CASE_WORK);
    if (abi->n_work && abi->prepare(&at, work) != STIFFIT_OK)
        return STIFFIT_RECOVERABLE;
    at.work = work;
    return function(&at, out);
}

static inline int case_point(const struct stiffit_model *abi, const struct evaluation *evaluation, size_t i,
                             stiffit_function *function, double *out)
{
    const struct ode_task *task = evaluation->task;
    const struct stiffit_point at = {.t = task->time[task->row_time[i]], .p = evaluation->p,
                                     .covariate = task->experiment.covariate};
    return case_value(abi, function, &at, out);
}

static void case_evaluate(struct fit_case *self, struct evaluation *evaluation)
{
    const struct stiffit_model *abi = &self->model.abi;
    const struct ode_task *task = evaluation->task;
    size_t n_row = task->n_row, n_obs = abi->n_observable, stride = evaluation->stride ? evaluation->stride : n_row;
    const uint32_t *column = evaluation->column;
    for (size_t j = 0; column && j < evaluation->n_sens; j++)
        for (size_t i = 0; i < n_row; i++) {
            evaluation->d_prediction[i + column[j] * stride] = 0;
            if (abi->noise)
                evaluation->d_noise[i + column[j] * stride] = 0;
        }
    double *out = malloc(n_obs * (abi->n_parameter + 1) * sizeof *out);
    evaluation->outcome = EVALUATION_OK;
    evaluation->n_step = self->steps_each;
    for (size_t i = 0; i < n_row; i++) {
        size_t observable = task->row_observable[i];
        int code = case_point(abi, evaluation, i, abi->observe, out);
        evaluation->prediction[i] = out[observable];
        if (code || !isfinite(out[observable]))
            evaluation->outcome = EVALUATION_MODEL_FAILED;
        if (evaluation->n_sens)
            case_point(abi, evaluation, i, abi->observe_parameter, out);
        for (size_t j = 0; evaluation->d_prediction && j < evaluation->n_sens; j++) {
            double d = out[observable + n_obs * evaluation->sens[j]];
            if (column)
                evaluation->d_prediction[i + column[j] * stride] += d;
            else
                evaluation->d_prediction[i + j * stride] = d;
            if (!isfinite(d))
                evaluation->outcome = EVALUATION_MODEL_FAILED;
        }
        if (!abi->noise)
            continue;
        case_point(abi, evaluation, i, abi->noise, out);
        evaluation->noise[i] = out[observable];
        case_point(abi, evaluation, i, abi->noise_parameter, out);
        for (size_t j = 0; evaluation->d_noise && j < evaluation->n_sens; j++)
            if (column)
                evaluation->d_noise[i + column[j] * stride] += out[observable + n_obs * evaluation->sens[j]];
            else
                evaluation->d_noise[i + j * stride] = out[observable + n_obs * evaluation->sens[j]];
    }
    if (evaluation->outcome != EVALUATION_OK)
        snprintf(evaluation->reason, sizeof evaluation->reason, "the test's model failed");
    free(out);
}

/* Promise: whatever the optimiser does, only finite parameters within their bounds arrive here. */
static bool case_ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct fit_case *self = context;
    for (size_t e = 0; e < n; e++) {
        struct evaluation *evaluation = evaluations[e];
        for (size_t i = 0; i < self->problem.n_parameter; i++) {
            double p = evaluation->named[i];
            assert_true(isfinite(p));
            if (!evaluation->task->experiment.n_substitute && self->to_model[i] != FIT_NO_MODEL)
                assert_true(evaluation->p[self->to_model[i]] == p);
            if (!self->fixed[i])
                assert_true(p >= self->lower[i] && p <= self->upper[i]);
        }
        for (size_t j = 1; j < evaluation->n_sens; j++)
            assert_true(evaluation->sens[j] > evaluation->sens[j - 1]);
        self->n_ask++;
        case_evaluate(self, evaluation);
        if (self->spoil && !self->spoil(self, evaluation))
            return false;
    }
    return true;
}

static int64_t case_elapsed(void *context)
{
    return ((struct fit_case *)context)->elapsed_ns;
}

/* Parameters 1 from -inf to inf on the linear scale, rows all zero with sigma 1, observable 0; the caller changes
 * them. */
static inline struct fit_case *case_new(const struct stiffit_model *abi, size_t n_row)
{
    struct fit_case *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->model.abi = *abi;
    self->time = calloc(n_row, sizeof(double));
    self->value = calloc(n_row, sizeof(double));
    self->sigma = calloc(n_row, sizeof(double));
    self->row_time = calloc(n_row, sizeof(uint32_t));
    self->row_observable = calloc(n_row, sizeof(uint32_t));
    for (size_t i = 0; i < n_row; i++) {
        self->row_time[i] = (uint32_t)i;
        self->time[i] = (double)i;
        self->sigma[i] = 1;
    }
    assert_true(abi->n_parameter <= CASE_PARAMETERS);
    for (uint32_t i = 0; i < abi->n_parameter; i++) {
        self->to_model[i] = i;
        self->start[i] = 1;
        self->lower[i] = -INFINITY;
        self->upper[i] = INFINITY;
        self->name[i] = "b";
    }
    if (!self->model.abi.parameter_name)
        self->model.abi.parameter_name = self->name;
    self->task = (struct ode_task){.n_time = n_row, .time = self->time, .n_row = n_row, .row_time = self->row_time,
                                   .row_observable = self->row_observable};
    assert_true(abi->n_observable <= CASE_OBSERVABLES);
    for (uint32_t k = 0; k < CASE_OBSERVABLES; k++)
        self->loss[k] = fit_loss_of(ERROR_NORMAL, NULL);
    self->problem = (struct fit_problem){.loss = self->loss, .model = &self->model, .n_experiment = 1, .task = &self->task,
        .measured = {.value = self->value, .sigma = self->sigma, .observable = self->row_observable},
        .n_parameter = abi->n_parameter, .to_model = self->to_model, .start = self->start,
        .lower = self->lower, .upper = self->upper, .scale = self->scale, .fixed = self->fixed, .seed = 1,
        .n_start = 1};
    self->options = (struct fit_options)FIT_OPTIONS_DEFAULT;
    self->options.max_evaluations = 1000;
    self->host = (struct fit_host){.ask = case_ask, .elapsed_ns = case_elapsed, .context = self};
    self->options.statistics = false;
    self->arrays = malloc(fit_record_array_bytes(abi->n_parameter));
    assert_non_null(self->arrays);
    fit_record_set_arrays(&self->result, abi->n_parameter, self->arrays);
    self->parameter = self->result.parameter;
    return self;
}

static inline struct fit_record *case_run(struct fit_case *self)
{
    arena_reset(&self->arena);
    self->n_ask = 0;
    fit_run(&self->problem, &self->options, &self->host, &self->arena, &self->result);
    return &self->result;
}

static inline void case_free(struct fit_case *self)
{
    arena_fini(&self->arena);
    free(self->time);
    free(self->value);
    free(self->sigma);
    free(self->row_time);
    free(self->row_observable);
    free(self->arrays);
    free(self);
}

#endif
