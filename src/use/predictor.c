/* Rows in any order become a task in order of time, and the answers go back to the rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/predictor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status predictor_init(struct predictor *predictor, const struct model *model, const struct ode_options *options,
                            int64_t max_steps, struct error *error)
{
    memset(predictor, 0, sizeof *predictor);
    predictor->model = model;
    predictor->max_steps = max_steps;
    predictor->rtol = options->rtol;
    predictor->pool = engine_pool_new(model, options, 1, 1, error);
    if (!predictor->pool)
        return error->status;
    predictor->engine = engine_new(predictor->pool, error);
    return predictor->engine ? STATUS_OK : error->status;
}

void predictor_fini(struct predictor *predictor)
{
    if (predictor->engine)
        engine_free(predictor->engine);
    if (predictor->pool)
        engine_pool_free(predictor->pool);
    arena_fini(&predictor->arena);
    predictor->engine = NULL;
    predictor->pool = NULL;
}

struct timed {
    double time;
    size_t row;
};

static int compare_timed(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The rows in order of time, then of number; fills the task's times. NULL: out of memory. */
static const struct timed *make_task(struct arena *arena, const struct predictor_rows *rows, struct ode_task *task)
{
    struct timed *order = arena_alloc(arena, (rows->n + 1) * sizeof *order);
    double *time = arena_alloc(arena, (rows->n + 1) * sizeof *time);
    uint32_t *row_time = arena_alloc(arena, (rows->n + 1) * sizeof *row_time);
    uint32_t *row_observable = arena_alloc(arena, (rows->n + 1) * sizeof *row_observable);
    double *row_sigma = rows->sigma ? arena_alloc(arena, (rows->n + 1) * sizeof *row_sigma) : NULL;
    bool *row_is_log = rows->sigma ? arena_calloc(arena, rows->n + 1, sizeof *row_is_log) : NULL;
    if (!order || !time || !row_time || !row_observable || (rows->sigma && (!row_sigma || !row_is_log)))
        return NULL;
    for (size_t i = 0; i < rows->n; i++)
        order[i] = (struct timed){rows->time[i], i};
    qsort(order, rows->n, sizeof *order, compare_timed);
    size_t n_time = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (n_time == 0 || time[n_time - 1] < order[i].time)
            time[n_time++] = order[i].time;
        row_time[i] = (uint32_t)(n_time - 1);
        row_observable[i] = rows->observable[order[i].row];
        if (!rows->sigma)
            continue;
        row_sigma[i] = rows->sigma[order[i].row];
        row_is_log[i] = rows->loss[row_observable[i]].is_log;
    }
    *task = (struct ode_task){.t0 = rows->t0, .covariate = rows->covariate, .n_time = n_time, .time = time,
                              .n_row = rows->n, .row_time = row_time, .row_observable = row_observable,
                              .row_sigma = row_sigma, .row_is_log = row_is_log};
    return order;
}

bool predictor_run(struct predictor *predictor, const struct predictor_rows *rows, const double *p, double *prediction,
                    double *noise, char *reason)
{
    struct arena *arena = &predictor->arena;
    struct ode_task task;
    bool has_noise = noise && predictor->model->abi.noise;
    arena_reset(arena);
    const struct timed *order = make_task(arena, rows, &task);
    double *answer = arena_alloc(arena, (rows->n + 1) * sizeof *answer);
    double *answer_noise = arena_alloc(arena, (rows->n + 1) * sizeof *answer_noise);
    if (!order || !answer || !answer_noise) {
        snprintf(reason, 160, "out of memory for %zu rows", rows->n);
        return false;
    }
    struct evaluation evaluation = {.task = &task, .p = p, .n_sens = rows->n_sens, .sens = rows->sens,
                                    .tighter = rows->rtol > 0 ? round(predictor->rtol / rows->rtol) : 1,
                                    .max_steps = predictor->max_steps, .deadline_ns = INT64_MAX,
                                    .lenient = true, .prediction = answer,
                                    .noise = predictor->model->abi.noise ? answer_noise : NULL};
    if (rows->n > 0)
        engine_evaluate(predictor->engine, &evaluation);
    if (rows->n > 0 && evaluation.outcome != EVALUATION_OK) {
        snprintf(reason, 160, "%s", evaluation.reason);
        return false;
    }
    size_t n_lost = 0;
    for (size_t i = 0; i < rows->n; i++) {
        n_lost += isnan(answer[i]);
        prediction[order[i].row] = answer[i];
        if (noise)
            noise[order[i].row] = has_noise ? answer_noise[i] : (double)NAN;
    }
    snprintf(reason, 160, "no observable can be computed at any of the times");
    return n_lost < rows->n || rows->n == 0;
}
