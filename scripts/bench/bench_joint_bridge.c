/* Evaluates a model for other optimisers of one fit over many datasets, over pipes: joint_rivals.py. As bench_fit_bridge, but
 * each evaluation has parameters of its own. Usage: bench_joint_bridge MODEL.so cvodes|lanes RTOL. All numbers are doubles. It
 * reads the number of times and the times; then, until the input ends, a number of datasets and their parameters, dataset by
 * dataset (natural). For these it writes predictions and their derivatives: dataset, parameter (0: the prediction itself),
 * time, observable. Rows that cannot be computed are NaN.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take(double *numbers, size_t n) { return fread(numbers, sizeof *numbers, n, stdin) == n; }

static void evaluate(struct engine *engine, struct evaluation *evaluations, size_t n, size_t capacity)
{
    for (size_t begun = 0, done = 0; done < n;) {
        for (; begun < n && begun - done < capacity; begun++)
            engine_submit(engine, &evaluations[begun]);
        for (struct evaluation *finished = engine_work(engine, NULL); finished; finished = finished->next, done++)
            for (size_t i = 0; finished->outcome != EVALUATION_OK && i < finished->stride; i++)
                finished->prediction[i] = NAN;
    }
}

int main(int argc, char **argv)
{
    struct model model;
    struct error error = {0};
    double number;
    if (argc != 4 || model_load(&model, argv[1], NULL, &error) != STATUS_OK || !take(&number, 1)) {
        fprintf(stderr, "%s\n", argc == 4 ? error.message : "usage: bench_joint_bridge MODEL.so cvodes|lanes RTOL");
        return 1;
    }
    enum engine_kind kind = strcmp(argv[2], "lanes") == 0 ? ENGINE_LANES : ENGINE_CVODES;
    size_t n_time = (size_t)number, n = model.abi.n_parameter, n_row = n_time * model.abi.n_observable;
    double *time = calloc(n_time, sizeof *time);
    uint32_t *row = calloc(2 * n_row + n, sizeof *row), *sens = row + 2 * n_row;
    struct ode_options options = {.rtol = strtod(argv[3], NULL), .engine = kind};
    struct engine_pool *pool = engine_pool_new(&model, &options, 1, 1, &error);
    struct engine *engine = pool ? engine_new(pool, &error) : NULL;
    if (!engine || !time || !row || !take(time, n_time)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < n_row; i++) {
        row[i] = (uint32_t)(i / model.abi.n_observable);
        row[n_row + i] = (uint32_t)(i % model.abi.n_observable);
    }
    for (size_t j = 0; j < n; j++)
        sens[j] = (uint32_t)j;
    struct ode_task task = {.experiment.t0 = model.abi.t0, .n_time = n_time, .time = time, .n_row = n_row, .row_time = row,
                            .row_observable = row + n_row};
    while (take(&number, 1)) {
        size_t n_dataset = (size_t)number, each = n_row * (1 + n);
        double *p = calloc(n_dataset * n, sizeof *p), *answer = calloc(n_dataset * each, sizeof *answer);
        double *noise = calloc(n_row * (1 + n), sizeof *noise); /* not wanted: all datasets write there */
        struct evaluation *evaluation = calloc(n_dataset, sizeof *evaluation);
        if (!p || !answer || !noise || !evaluation || !take(p, n_dataset * n))
            return 1;
        for (size_t i = 0; i < n_dataset; i++)
            evaluation[i] = (struct evaluation){
                .engine = kind, .task = &task, .p = p + i * n, .sens = sens, .n_sens = n, .stride = n_row,
                .max_steps = 100000, .deadline_ns = INT64_MAX, .prediction = answer + i * each, .noise = noise,
                .d_prediction = answer + i * each + n_row, .d_noise = noise + n_row};
        evaluate(engine, evaluation, n_dataset, pool->table->capacity);
        fwrite(answer, sizeof *answer, n_dataset * each, stdout);
        fflush(stdout);
        free(p);
        free(answer);
        free(noise);
        free(evaluation);
    }
    engine_free(engine);
    engine_pool_free(pool);
    free(time);
    free(row);
    model_unload(&model);
    return 0;
}
