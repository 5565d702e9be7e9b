/* What each engine computes for one model at several tolerances, for scripts/work-precision: all states and their derivatives
 * with respect to all parameters, at all times. Usage: bench_ode_precision MODEL.so T0 PARAMETERS COVARIATES TIMES RTOLS, where
 * the last four are numbers separated by commas, or "-" for none. A line for each engine (lanes-stiff: lanes that begin with
 * the implicit method) and rtol:
 *
 *     engine rtol steps attempts microseconds states... derivatives...
 *
 * in the order time, parameter, state (the slowest first), or "engine rtol - reason". The time is that of one evaluation while
 * the engine is full of them; nan if it is too long to be measured.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_NUMBER = 4096, MAX_HELD = 64, N_REPEAT = 20 };
#define TIMING_NS 100000000
#define LONGEST_NS 1e9

struct numbers {
    size_t n;
    double value[MAX_NUMBER];
};

static struct numbers numbers_of(const char *text)
{
    static struct numbers numbers;
    numbers.n = 0;
    while (strcmp(text, "-") != 0 && *text && numbers.n < MAX_NUMBER) {
        char *end;
        numbers.value[numbers.n++] = strtod(text, &end);
        text = *end == ',' ? end + 1 : "";
    }
    return numbers;
}

/* The observables are replaced by the states. */
static size_t n_state, n_parameter;

static int observe(const struct stiffit_point *at, double *h)
{
    memcpy(h, at->y, n_state * sizeof *h);
    return STIFFIT_OK;
}

static int observe_state(const struct stiffit_point *at, double *h)
{
    (void)at;
    memset(h, 0, n_state * n_state * sizeof *h);
    for (size_t i = 0; i < n_state; i++)
        h[i * (n_state + 1)] = 1;
    return STIFFIT_OK;
}

static int observe_parameter(const struct stiffit_point *at, double *h)
{
    (void)at;
    memset(h, 0, n_state * n_parameter * sizeof *h);
    return STIFFIT_OK;
}

static int64_t cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Fills the engine with copies of one evaluation. Nanoseconds for each. */
static double run(struct engine *engine, const struct evaluation *evaluation, struct evaluation *copies, size_t n_copy)
{
    int64_t begun = cpu_now_ns();
    for (size_t i = 0; i < n_copy; i++) {
        double *answer = copies[i].prediction, *derivatives = copies[i].d_prediction;
        copies[i] = *evaluation;
        copies[i].prediction = answer;
        copies[i].d_prediction = derivatives;
        engine_submit(engine, &copies[i]);
    }
    for (size_t done = 0; done < n_copy;)
        for (struct evaluation *e = engine_work(engine, NULL); e; e = e->next)
            done++;
    return (double)(cpu_now_ns() - begun) / (double)n_copy;
}

static void print(const struct evaluation *evaluation, const struct ode_task *task)
{
    for (size_t i_time = 0; i_time < task->n_time; i_time++)
        for (size_t j = 0; j <= n_parameter; j++)
            for (size_t i = 0; i < n_state; i++) {
                size_t row = i_time * n_state + i;
                printf(" %.17g", j ? evaluation->d_prediction[row + (j - 1) * task->n_row] : evaluation->prediction[row]);
            }
}

static void measure(const struct model *model, enum engine_kind kind, const struct evaluation *evaluation, double rtol)
{
    const struct engine_table *table = engine_in_use[kind];
    struct ode_options options = {.rtol = rtol, .engine = kind};
    struct error error = {0};
    const char *refusal = engine_refusal(kind, &model->abi);
    printf("%s%s %.0e ", engine_word[kind], evaluation->course.is_stiff ? "-stiff" : "", rtol);
    if (refusal) {
        printf("- %s\n", refusal);
        return;
    }
    struct engine_pool *pool = table->pool_new(table, model, &options, 1, 1, &error);
    if (pool)
        pool->table = table;
    struct engine *engine = pool ? engine_new(pool, &error) : NULL;
    if (!engine) {
        printf("- %s\n", error.message);
        engine_pool_free(pool);
        return;
    }
    size_t n_copy = table->capacity < MAX_HELD ? table->capacity : MAX_HELD, n_row = evaluation->task->n_row;
    struct evaluation copies[MAX_HELD];
    double *answers = calloc(n_copy * n_row * (1 + n_parameter), sizeof *answers), best = INFINITY;
    for (size_t i = 0; i < n_copy; i++) {
        copies[i].prediction = answers + i * n_row * (1 + n_parameter);
        copies[i].d_prediction = copies[i].prediction + n_row;
    }
    double alone = run(engine, evaluation, copies, 1);
    int64_t begun = cpu_now_ns();
    for (int i = 0; i < N_REPEAT && alone < LONGEST_NS && (i == 0 || cpu_now_ns() - begun < TIMING_NS); i++)
        best = fmin(best, run(engine, evaluation, copies, n_copy));
    if (copies[0].outcome == EVALUATION_OK) {
        double us = isfinite(best) ? best * 1e-3 : NAN;
        /* both methods of the lanes take eight new stages */
        int64_t n_attempt = kind == ENGINE_LANES ? copies[0].n_rhs / 8 : copies[0].n_factor;
        printf("%lld %lld %.3f", (long long)copies[0].n_step, (long long)n_attempt, us);
        print(&copies[0], evaluation->task);
        printf("\n");
    } else {
        printf("- %s\n", copies[0].reason);
    }
    free(answers);
    engine_free(engine);
    engine_pool_free(pool);
}

int main(int argc, char **argv)
{
    struct model model;
    struct error error = {0};
    if (argc != 7 || model_load(&model, argv[1], NULL, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", argc == 7 ? error.message : "usage: MODEL.so T0 PARAMETERS COVARIATES TIMES RTOLS");
        return 1;
    }
    struct numbers p = numbers_of(argv[3]), covariate = numbers_of(argv[4]), time = numbers_of(argv[5]);
    struct numbers rtol = numbers_of(argv[6]);
    n_state = model.abi.n_state;
    n_parameter = model.abi.n_parameter;
    size_t n_row = n_state * time.n;
    if (p.n != n_parameter || covariate.n != model.abi.n_covariate || time.n == 0) {
        fprintf(stderr, "%s: %zu parameters, %u covariates\n", argv[1], n_parameter, model.abi.n_covariate);
        return 1;
    }
    model.abi.n_observable = (uint32_t)n_state;
    model.abi.observe = observe;
    model.abi.observe_state = observe_state;
    model.abi.observe_parameter = observe_parameter;
    model.abi.noise = NULL;
    struct stiffit_lanes lanes = {0};
    if (model.abi.lanes) {
        lanes = *model.abi.lanes;
        lanes.observe = NULL;
        model.abi.lanes = &lanes;
    }
    uint32_t *row_time = calloc(n_row, sizeof *row_time), *row_observable = calloc(n_row, sizeof *row_observable);
    uint32_t *sens = calloc(n_parameter, sizeof *sens);
    for (size_t i = 0; i < n_row; i++) {
        row_time[i] = (uint32_t)(i / n_state);
        row_observable[i] = (uint32_t)(i % n_state);
    }
    for (size_t j = 0; j < n_parameter; j++)
        sens[j] = (uint32_t)j;
    struct ode_task task = {.experiment = {.t0 = strtod(argv[2], NULL), .covariate = covariate.value}, .n_time = time.n,
                            .time = time.value, .n_row = n_row, .row_time = row_time, .row_observable = row_observable};
    for (int kind = 0; kind <= ENGINE_LANES; kind++) /* those on a GPU have the bits of lanes */
        for (size_t i = 0; engine_in_use[kind] && i < rtol.n; i++) {
            struct evaluation evaluation = {.engine = (enum engine_kind)kind, .task = &task, .p = p.value, .sens = sens,
                                            .n_sens = n_parameter, .max_steps = 20000000, .deadline_ns = INT64_MAX};
            measure(&model, (enum engine_kind)kind, &evaluation, rtol.value[i]);
            evaluation.course = (struct evaluation_course){true, -INFINITY};
            if (kind == ENGINE_LANES)
                measure(&model, (enum engine_kind)kind, &evaluation, rtol.value[i]);
        }
    free(row_time);
    free(row_observable);
    free(sens);
    model_unload(&model);
    return 0;
}
