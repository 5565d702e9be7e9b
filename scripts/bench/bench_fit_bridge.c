/* Evaluates a model for other optimisers, over pipes: starts.py compares fides and SciPy with `stiffit run` on the same
 * predictions and derivatives. Usage: bench_fit_bridge MODEL.so cvodes|lanes RTOL. All numbers are doubles. It reads the number
 * of conditions, of covariates and of times, then the covariates (condition by condition) and the times; then, until the input
 * ends, parameters (natural). For these it writes 0 (or 1: failed), the CPU seconds, predictions, noise, and their derivatives,
 * parameter by parameter. The rows are in the order condition, time, observable.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool take(double *numbers, size_t n) { return fread(numbers, sizeof *numbers, n, stdin) == n; }

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All conditions, as many at once as the engine holds. False: one failed. */
static bool evaluate(struct engine *engine, struct evaluation *evaluations, size_t n, size_t capacity)
{
    bool all = true;
    for (size_t begun = 0, done = 0; done < n;) {
        for (; begun < n && begun - done < capacity; begun++)
            engine_submit(engine, &evaluations[begun]);
        for (struct evaluation *finished = engine_work(engine, NULL); finished; finished = finished->next, done++)
            all = all && finished->outcome == EVALUATION_OK;
    }
    return all;
}

int main(int argc, char **argv)
{
    struct model model;
    struct error error = {0};
    double size[3];
    if (argc != 4 || model_load(&model, argv[1], NULL, &error) != STATUS_OK || !take(size, 3)) {
        fprintf(stderr, "%s\n", argc == 4 ? error.message : "usage: bench_fit_bridge MODEL.so cvodes|lanes RTOL");
        return 1;
    }
    enum engine_kind kind = strcmp(argv[2], "lanes") == 0 ? ENGINE_LANES : ENGINE_CVODES;
    size_t n_condition = (size_t)size[0], n_covariate = (size_t)size[1], n_time = (size_t)size[2];
    size_t n = model.abi.n_parameter, n_observable = model.abi.n_observable, n_own = n_time * n_observable;
    size_t n_row = n_condition * n_own;
    double *covariates = calloc(n_condition * n_covariate + n_time, sizeof *covariates);
    double *time = covariates + n_condition * n_covariate;
    double *p = calloc(n, sizeof *p), *answer = calloc(2 + n_row * (2 + 2 * n), sizeof *answer);
    uint32_t *row = calloc(2 * n_own + n, sizeof *row), *sens = row + 2 * n_own;
    struct ode_task *task = calloc(n_condition, sizeof *task);
    struct evaluation *evaluation = calloc(n_condition, sizeof *evaluation);
    struct ode_options options = {.rtol = strtod(argv[3], NULL), .engine = kind};
    struct engine_pool *pool = engine_pool_new(&model, &options, 1, 1, &error);
    struct engine *engine = pool ? engine_new(pool, &error) : NULL;
    if (!engine || !take(covariates, n_condition * n_covariate + n_time)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < n_own; i++) {
        row[i] = (uint32_t)(i / n_observable);
        row[n_own + i] = (uint32_t)(i % n_observable);
    }
    for (size_t j = 0; j < n; j++)
        sens[j] = (uint32_t)j;
    double *prediction = answer + 2, *noise = prediction + n_row, *d_prediction = noise + n_row;
    for (size_t e = 0; e < n_condition; e++)
        task[e] = (struct ode_task){.experiment = {.t0 = model.abi.t0, .covariate = covariates + e * n_covariate},
                                    .n_time = n_time, .time = time, .n_row = n_own, .row_time = row,
                                    .row_observable = row + n_own};
    while (take(p, n)) {
        double begun = cpu_now();
        for (size_t e = 0; e < n_condition; e++)
            evaluation[e] = (struct evaluation){
                .engine = kind, .task = &task[e], .p = p, .sens = sens, .n_sens = n, .stride = n_row, .max_steps = 100000,
                .deadline_ns = INT64_MAX, .prediction = prediction + e * n_own, .noise = noise + e * n_own,
                .d_prediction = d_prediction + e * n_own, .d_noise = d_prediction + n_row * n + e * n_own};
        answer[0] = evaluate(engine, evaluation, n_condition, pool->table->capacity) ? 0 : 1;
        answer[1] = cpu_now() - begun;
        fwrite(answer, sizeof *answer, 2 + n_row * (2 + 2 * n), stdout);
        fflush(stdout);
    }
    engine_free(engine);
    engine_pool_free(pool);
    free(covariates);
    free(p);
    free(answer);
    free(row);
    free(task);
    free(evaluation);
    model_unload(&model);
    return 0;
}
