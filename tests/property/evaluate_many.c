/* Carries out many evaluations of a model with an engine, on several threads, and prints how long that took and a hash of all
 * answers: engines that promise the same bits have the same hash.
 *
 *     evaluate_many MODEL ENGINE N_THREAD N N_TIME FIRST LAST SPREAD [predictions] [doses]
 *
 * Times are spread evenly over logarithms. Parameters are the model's starts times 10^(SPREAD u), -1 < u < 1. predictions:
 * without sensitivities. doses: repeated ones into the first state, the first with the first measurement, and an infusion into
 * the last state. Inputs go up and down. Of a model with noise, each third measurement has its own. Prints a line of JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "base/random.h"
#include "model/plugin.h"
#include "ode/engine.h"
#include "par/pool.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 100000 };

struct many {
    struct model model;
    struct engine_pool *pool;
    struct engine **engine;
    struct ode_task task;
    uint32_t *sens;
    size_t n, n_sens;
    double spread;
    uint64_t *hash; /* n */
    atomic_size_t n_begun, n_good;
    _Atomic int64_t n_step;
};

struct request {
    struct evaluation evaluation;
    size_t number;
    double *p, *prediction, *d_prediction, *noise, *d_noise;
};

/* FNV-1a over words of 8 bytes. */
static uint64_t add(uint64_t hash, const void *data, size_t n_word)
{
    for (size_t i = 0; i < n_word; i++) {
        uint64_t word;
        memcpy(&word, (const char *)data + 8 * i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return hash;
}

static void begin(struct many *many, struct request *r, struct engine *engine)
{
    const struct stiffit_model *abi = &many->model.abi;
    for (size_t j = 0; j < abi->n_parameter; j++) {
        double u = 2 * random_uniform(20261126, r->number, j) - 1;
        r->p[j] = (abi->parameter_start ? abi->parameter_start[j] : 1) * pow(10, many->spread * u);
    }
    r->evaluation = (struct evaluation){
        .engine = ENGINE_GPU, .task = &many->task, .p = r->p, .n_sens = many->n_sens, .sens = many->sens,
        .max_steps = MAX_STEPS, .deadline_ns = INT64_MAX, .prediction = r->prediction,
        .d_prediction = many->n_sens ? r->d_prediction : NULL, .noise = abi->noise ? r->noise : NULL,
        .d_noise = abi->noise && many->n_sens ? r->d_noise : NULL};
    engine_submit(engine, &r->evaluation);
}

static void end(struct many *many, const struct request *r)
{
    const struct evaluation *e = &r->evaluation;
    const int64_t counts[] = {(int64_t)e->outcome, e->n_step, e->n_rhs, e->n_jacobian, e->n_factor, e->course.is_stiff};
    uint64_t hash = add(UINT64_C(0xcbf29ce484222325), counts, sizeof counts / sizeof *counts);
    if (e->outcome == EVALUATION_OK) {
        hash = add(hash, r->prediction, many->task.n_row);
        hash = add(hash, r->d_prediction, many->task.n_row * many->n_sens);
        hash = add(hash, r->noise, many->task.n_row);
        hash = add(hash, r->d_noise, many->task.n_row * many->n_sens);
        atomic_fetch_add(&many->n_good, 1);
    }
    many->hash[r->number] = hash;
    atomic_fetch_add(&many->n_step, e->n_step);
}

static struct request request_new(const struct many *many)
{
    size_t n_row = many->task.n_row, n_derivative = n_row * many->n_sens + 1;
    return (struct request){.p = calloc(many->model.abi.n_parameter, sizeof(double)),
                            .prediction = calloc(n_row, sizeof(double)), .noise = calloc(n_row, sizeof(double)),
                            .d_prediction = calloc(n_derivative, sizeof(double)),
                            .d_noise = calloc(n_derivative, sizeof(double))};
}

static void request_free(const struct request *r)
{
    free(r->p);
    free(r->prediction);
    free(r->d_prediction);
    free(r->noise);
    free(r->d_noise);
}

static void work(void *context, size_t thread)
{
    struct many *many = context;
    size_t n_slot = engine_capacity(many->pool), n_busy = 0;
    struct request *slot = calloc(n_slot, sizeof *slot);
    for (size_t i = 0; i < n_slot; i++) {
        slot[i] = request_new(many);
        if ((slot[i].number = atomic_fetch_add(&many->n_begun, 1)) < many->n) {
            begin(many, &slot[i], many->engine[thread]);
            n_busy++;
        }
    }
    while (n_busy) {
        struct evaluation *next;
        for (struct evaluation *done = engine_work(many->engine[thread], NULL); done; done = next) {
            struct request *r = (struct request *)done;
            next = done->next;
            end(many, r);
            n_busy--;
            if ((r->number = atomic_fetch_add(&many->n_begun, 1)) < many->n) {
                begin(many, r, many->engine[thread]);
                n_busy++;
            }
        }
    }
    for (size_t i = 0; i < n_slot; i++)
        request_free(&slot[i]);
    free(slot);
}

/* Knots at which each input jumps, and between which it rises. */
static void add_inputs(struct ode_task *task, size_t n_input)
{
    struct input *input = calloc(n_input + 1, sizeof *input);
    double last = task->time[task->n_time - 1];
    for (size_t j = 0; j < n_input; j++) {
        double *time = calloc(8, sizeof *time), *value = time + 4;
        for (int k = 0; k < 4; k++) {
            time[k] = last * (k + 0.1 * (double)j) / 4;
            value[k] = k % 2 ? 0.5 : 1 + (double)j;
        }
        input[j] = (struct input){4, time, value};
    }
    task->experiment.input = input;
}

static void make_task(struct many *many, size_t n_time, double first, double last)
{
    size_t n_observable = many->model.abi.n_observable, n_row = n_time * n_observable;
    double *time = calloc(n_time, sizeof *time), *covariate = calloc(many->model.abi.n_covariate + 1, sizeof *covariate);
    uint32_t *row_time = calloc(n_row, sizeof *row_time), *row_observable = calloc(n_row, sizeof *row_observable);
    double *row_sigma = calloc(n_row, sizeof *row_sigma);
    for (size_t i = 0; i < n_time; i++)
        time[i] = n_time > 1 ? first * pow(last / first, (double)i / (double)(n_time - 1)) : last;
    for (size_t i = 0; i < n_row; i++) {
        row_time[i] = (uint32_t)(i / n_observable);
        row_observable[i] = (uint32_t)(i % n_observable);
        row_sigma[i] = i % 3 == 2 ? 0.1 : (double)NAN;
    }
    for (size_t j = 0; j < many->model.abi.n_covariate; j++)
        covariate[j] = 1;
    many->task = (struct ode_task){.experiment = {.t0 = many->model.abi.t0, .covariate = covariate},
                                   .n_time = n_time, .time = time, .n_row = n_row, .row_time = row_time,
                                   .row_observable = row_observable,
                                   .row_sigma = many->model.abi.noise ? row_sigma : NULL};
    add_inputs(&many->task, many->model.abi.n_input);
}

static void add_doses(struct ode_task *task, size_t n_state)
{
    struct dose *dose = calloc(2, sizeof *dose);
    double first = task->time[0], span = task->time[task->n_time - 1] - first;
    dose[0] = dose[1] = dose_none;
    dose[0].time = first;
    dose[0].amount = 1.5;
    dose[0].interval = span / 5;
    dose[0].count = 4;
    dose[1].time = first + 0.31 * span;
    dose[1].amount = 0.7;
    dose[1].duration = span / 7;
    dose[1].target = (uint32_t)n_state - 1;
    task->experiment.n_dose = 2;
    task->experiment.dose = dose;
}

int main(int argc, char **argv)
{
    struct many many = {0};
    struct error error = {0};
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    int engine = 0;
    if (argc < 9) {
        fprintf(stderr, "usage: %s MODEL ENGINE N_THREAD N N_TIME FIRST LAST SPREAD [predictions] [doses]\n", argv[0]);
        return 2;
    }
    while (engine < N_ENGINE && strcmp(engine_word[engine], argv[2]) != 0)
        engine++;
    size_t n_thread = strtoul(argv[3], NULL, 10);
    many.n = strtoul(argv[4], NULL, 10);
    many.spread = atof(argv[8]);
    if (engine == N_ENGINE || model_load(&many.model, argv[1], NULL, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    make_task(&many, strtoul(argv[5], NULL, 10), atof(argv[6]), atof(argv[7]));
    many.n_sens = many.model.abi.n_parameter;
    for (int i = 9; i < argc; i++)
        if (!strcmp(argv[i], "doses"))
            add_doses(&many.task, many.model.abi.n_state);
        else
            many.n_sens = 0;
    many.sens = calloc(many.model.abi.n_parameter, sizeof *many.sens);
    for (uint32_t j = 0; j < many.model.abi.n_parameter; j++)
        many.sens[j] = j;
    many.hash = calloc(many.n, sizeof *many.hash);
    options.engine = (enum engine_kind)engine;
    options.rtol = 1e-6;
    many.pool = engine_pool_new(&many.model, &options, 1, n_thread, &error);
    many.engine = calloc(n_thread, sizeof(struct engine *));
    for (size_t i = 0; many.pool && i < n_thread; i++)
        if (!(many.engine[i] = engine_new(many.pool, &error))) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
    struct pool *pool = many.pool ? pool_new(n_thread, "work", &error) : NULL;
    if (!pool) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (size_t i = 0; i < n_thread; i++) { /* what is made once, as a device's program, does not count */
        struct request r = request_new(&many);
        begin(&many, &r, many.engine[i]);
        while (!engine_work(many.engine[i], NULL))
            ;
        request_free(&r);
    }
    int64_t began_ns = clock_now_ns();
    pool_run(pool, work, &many);
    pool_join(pool);
    char told[400];
    double seconds = 1e-9 * (double)(clock_now_ns() - began_ns);
    printf("{\"model\": \"%s\", \"engine\": \"%s\", \"threads\": %zu, \"n\": %zu, \"good\": %zu, \"steps\": %lld, "
           "\"seconds\": %.4f, \"per_second\": %.1f, \"hash\": \"%016llx\", \"told\": \"%s\"}\n",
           many.model.abi.name, argv[2], n_thread, many.n, atomic_load(&many.n_good), (long long)atomic_load(&many.n_step),
           seconds, (double)many.n / seconds, (unsigned long long)add(1, many.hash, many.n),
           engine_pool_tell(many.pool, true, told, sizeof told) ? told : "");
    for (size_t i = 0; i < n_thread; i++)
        engine_free(many.engine[i]);
    engine_pool_free(many.pool);
    return 0;
}
