/* Evaluations with sensitivities, lanes against CVODES: microseconds for one evaluation, and the largest errors of predictions and
 * of their derivatives (relative to the largest of each column, for a relative change of the parameter) against CVODES at
 * rtol 1e-11. Parameters are spread by +-0.15 decades.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "model/build/shared_object.h"
#include "ode/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tests/unit/lanes_by_hand.h"

static int64_t cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

enum { N_POINT = 64, MAX_PARAMETER = 64 };

struct bench {
    const char *name;
    struct model model;
    struct ode_task task;
    double *p; /* N_POINT x n_parameter */
    uint32_t *sens;
    struct evaluation evaluation[N_POINT];
    size_t n_answer; /* n_row x (1 + n_parameter) */
    double *answer, *reference;
};

static void run_all(struct bench *b, struct engine *engine)
{
    size_t next = 0, done = 0, flying = 0, capacity = engine->table->capacity;
    while (done < N_POINT) {
        while (flying < capacity && next < N_POINT) {
            engine_submit(engine, &b->evaluation[next++]);
            flying++;
        }
        struct evaluation *e = engine_work(engine, NULL);
        if (!e)
            continue;
        if (e->outcome != EVALUATION_OK)
            fprintf(stderr, "%s: %s\n", b->name, e->reason);
        flying--;
        done++;
    }
}

static void errors(const struct bench *b, double *of_y, double *of_s)
{
    size_t n_row = b->task.n_row, P = b->model.abi.n_parameter, n_observable = b->model.abi.n_observable;
    *of_y = *of_s = 0;
    for (size_t i = 0; i < N_POINT; i++)
        for (size_t o = 0; o < n_observable; o++) {
            const double *r = b->reference + i * b->n_answer, *a = b->answer + i * b->n_answer;
            double size = 0;
            for (size_t k = o; k < n_row; k += n_observable)
                size = fmax(size, fabs(r[k]));
            for (size_t k = o; k < n_row; k += n_observable)
                *of_y = fmax(*of_y, fabs(a[k] - r[k]) / size);
            for (size_t j = 0; j < P; j++)
                for (size_t k = o; k < n_row; k += n_observable)
                    *of_s = fmax(*of_s, fabs(a[n_row * (1 + j) + k] - r[n_row * (1 + j) + k]) * b->p[i * P + j] / size);
        }
}

static void measure(struct bench *b, const struct engine_table *table, double rtol, bool is_reference)
{
    struct ode_options options = {.rtol = rtol, .atol = 0, .linear_solver = LINEAR_AUTO};
    struct error error = {0};
    struct engine_pool *pool = table->pool_new(&b->model, &options, 1, 1, &error);
    if (!pool) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    pool->table = table;
    struct engine *engine = engine_new(pool, &error);
    double best = INFINITY;
    int64_t begun = cpu_now_ns();
    for (int i = 0; i < 200 && (i < 3 || cpu_now_ns() - begun < 400000000) && !(is_reference && i); i++) {
        int64_t t = cpu_now_ns();
        run_all(b, engine);
        best = fmin(best, (double)(cpu_now_ns() - t) * 1e-3 / N_POINT);
    }
    if (is_reference) {
        memcpy(b->reference, b->answer, N_POINT * b->n_answer * sizeof(double));
    } else {
        double of_y, of_s, n_step = 0, n_factor = 0;
        errors(b, &of_y, &of_s);
        for (size_t i = 0; i < N_POINT; i++) {
            n_step += (double)b->evaluation[i].n_step / N_POINT;
            n_factor += (double)b->evaluation[i].n_factor / N_POINT;
        }
        printf("%-14s %-7s %.0e %9.2f us  steps %6.1f attempts %6.1f  error %.1e  of derivatives %.1e\n", b->name, table->name,
               rtol, best, n_step, n_factor, of_y, of_s);
    }
    engine_free(engine);
    engine_pool_free(pool);
}

static void bench(const char *name, const struct stiffit_model *abi, const struct stiffit_lanes *lanes, size_t n_time,
                  const double *time)
{
    struct bench b = {.name = name, .model.abi = *abi};
    size_t P = abi->n_parameter, n_row = n_time * abi->n_observable;
    if (lanes)
        b.model.abi.lanes = lanes;
    uint32_t *row_time = malloc(n_row * sizeof *row_time), *row_observable = malloc(n_row * sizeof *row_observable);
    b.sens = malloc(P * sizeof *b.sens);
    b.p = malloc(N_POINT * P * sizeof *b.p);
    b.n_answer = n_row * (1 + P);
    b.answer = calloc(N_POINT * b.n_answer, sizeof(double));
    b.reference = calloc(N_POINT * b.n_answer, sizeof(double));
    for (size_t i = 0; i < n_row; i++) {
        row_time[i] = (uint32_t)(i / abi->n_observable);
        row_observable[i] = (uint32_t)(i % abi->n_observable);
    }
    for (size_t j = 0; j < P; j++)
        b.sens[j] = (uint32_t)j;
    b.task = (struct ode_task){.t0 = abi->t0, .n_time = n_time, .time = time, .n_row = n_row, .row_time = row_time,
                               .row_observable = row_observable};
    uint64_t random = 1;
    for (size_t i = 0; i < N_POINT; i++) {
        for (size_t j = 0; j < P; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            b.p[i * P + j] = abi->parameter_start[j] * pow(10, 0.3 * ((double)(random >> 11) * 0x1p-53 - 0.5));
        }
        b.evaluation[i] = (struct evaluation){.task = &b.task, .p = b.p + i * P, .n_sens = getenv("NOSENS") ? 0 : P, .sens = b.sens, .max_steps = 1000000,
                                              .deadline_ns = INT64_MAX, .prediction = b.answer + i * b.n_answer,
                                              .d_prediction = b.answer + i * b.n_answer + n_row};
    }
    measure(&b, &engine_cvodes, 1e-11, true);
    static const double rtols[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8};
    for (size_t i = getenv("ONE") ? 3 : 0; i < (getenv("ONE") ? 4 : 6); i++)
        measure(&b, &engine_lanes, rtols[i], false);
    for (size_t i = 2; i < 6 && !getenv("LANES_ONLY"); i++)
        measure(&b, &engine_cvodes, rtols[i], false);
    free(row_time);
    free(row_observable);
    free(b.sens);
    free(b.p);
    free(b.answer);
    free(b.reference);
}

int main(int argc, char **argv)
{
    static const double robertson[] = {0.4, 1.2, 4, 12, 40, 120, 400, 1200, 4000, 12000, 40000, 100000};
    static const double pinene[] = {1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420}, pollu[] = {1, 2, 4, 6, 8, 10, 20, 30, 45, 60};
    struct {
        const char *name, *path;
        const struct stiffit_lanes *lanes;
        size_t n_time;
        const double *time;
    } cases[] = {{"robertson", "build/models/robertson.so", &robertson_lanes, 12, robertson},
                 {"alpha-pinene", "build/models/alpha-pinene.so", &pinene_lanes, 8, pinene},
                 {"pollu", "build/models/pollu.so", NULL, 10, pollu}};
    for (size_t i = 0; i < 3; i++) {
        struct error error = {0};
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
            continue;
        void *handle = shared_object_open(cases[i].path, &error);
        if (!handle) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        const struct stiffit_model *abi = shared_object_symbol(handle, "stiffit_model");
        if (cases[i].lanes || (abi->struct_size >= sizeof *abi && abi->lanes))
            bench(cases[i].name, abi, cases[i].lanes, cases[i].n_time, cases[i].time);
    }
    return 0;
}
