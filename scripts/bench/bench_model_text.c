/* Evaluations with a plugin made from model text against the same with the plugin written by hand: the same engine, in
 * turns, at the parameters and times of the model's reference trajectory. Usage: bench_model_text NAME HAND.so TEXT.so
 * REFERENCE.csv ... prints JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/plugin.h"
#include "ode/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_PAIR = 101, MAX_TIME = 500, MAX_VALUE = 100, LINE = 1 << 16 };
#define SAMPLE_S 2e-3 /* what is timed in one piece: some hundred times the clock's resolution */
#define RTOL 1e-6
#define ATOL 1e-10

struct reference {
    double p[MAX_VALUE], covariate[MAX_VALUE], t0, time[MAX_TIME];
    size_t n_time;
};

struct side {
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
    struct ode_task task;
    struct evaluation evaluation;
    double sample[N_PAIR];
};

static void die(const char *what, const char *message)
{
    fprintf(stderr, "bench_model_text: %s: %s\n", what, message);
    exit(1);
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (!memory)
        die("memory", "out of it");
    return memory;
}

/* "... NAME = VALUE, ..." */
static double value_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = line + 1; (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && strncmp(at + length, " = ", 3) == 0)
            return strtod(at + length + 3, NULL);
    die(name, "the reference does not say what it is");
    return NAN;
}

static void read_reference(struct reference *r, const char *path, const struct stiffit_model *abi)
{
    static char line[LINE];
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file))
        die(path, "cannot be read");
    if (abi->n_parameter > MAX_VALUE || abi->n_covariate > MAX_VALUE)
        die(path, "more parameters than this bench has room for");
    for (uint32_t j = 0; j < abi->n_parameter; j++)
        r->p[j] = value_of(line, abi->parameter_name[j]);
    for (uint32_t j = 0; j < abi->n_covariate; j++)
        r->covariate[j] = value_of(line, abi->covariate_name[j]);
    r->t0 = value_of(line, "t0");
    bool is_complete = fgets(line, sizeof line, file);
    for (r->n_time = 0; is_complete && r->n_time < MAX_TIME && fgets(line, sizeof line, file); r->n_time++)
        r->time[r->n_time] = strtod(line, NULL);
    fclose(file);
    if (r->n_time == 0)
        die(path, "holds no times");
}

static void start(struct side *side, const char *path, const struct reference *r)
{
    struct ode_options options = {.rtol = RTOL, .atol = ATOL, .linear_solver = LINEAR_AUTO};
    const struct stiffit_model *abi = &side->model.abi;
    size_t n_row = r->n_time * abi->n_observable;
    struct error error = {0};
    side->pool = engine_pool_new(&side->model, &options, 1, 1, &error);
    side->engine = side->pool ? engine_new(side->pool, &error) : NULL;
    if (!side->engine)
        die(path, error.message);
    uint32_t *sens = allocate(abi->n_parameter, sizeof *sens), *row_time = allocate(n_row, sizeof *row_time);
    uint32_t *row_observable = allocate(n_row, sizeof *row_observable);
    for (uint32_t k = 0; k < abi->n_parameter; k++)
        sens[k] = k;
    for (size_t i = 0; i < n_row; i++) {
        row_time[i] = (uint32_t)(i / abi->n_observable);
        row_observable[i] = (uint32_t)(i % abi->n_observable);
    }
    side->task = (struct ode_task){.experiment = {.t0 = r->t0, .covariate = r->covariate}, .n_time = r->n_time, .time = r->time,
                                   .n_row = n_row, .row_time = row_time, .row_observable = row_observable};
    side->evaluation = (struct evaluation){.task = &side->task, .p = r->p, .n_sens = abi->n_parameter, .sens = sens,
                                           .max_steps = 10000000, .deadline_ns = INT64_MAX};
    side->evaluation.prediction = allocate(n_row, sizeof(double));
    side->evaluation.d_prediction = allocate(n_row * abi->n_parameter, sizeof(double));
    if (abi->noise) {
        side->evaluation.noise = allocate(n_row, sizeof(double));
        side->evaluation.d_noise = allocate(n_row * abi->n_parameter, sizeof(double));
    }
}

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one evaluation, of n. */
static double run(struct side *side, int n)
{
    double begin = cpu_now();
    for (int i = 0; i < n; i++) {
        engine_evaluate(side->engine, &side->evaluation);
        if (side->evaluation.outcome != EVALUATION_OK)
            die(side->model.path, side->evaluation.reason);
    }
    return (cpu_now() - begin) / n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    return x[n / 2];
}

/* Largest difference of the predictions, each relative to the largest of its observable. */
static double apart(const struct side *a, const struct side *b)
{
    double worst = 0;
    size_t n_observable = a->model.abi.n_observable;
    for (size_t o = 0; o < n_observable; o++) {
        double size = 0, off = 0;
        for (size_t i = o; i < a->task.n_row; i += n_observable) {
            size = fmax(size, fabs(a->evaluation.prediction[i]));
            off = fmax(off, fabs(a->evaluation.prediction[i] - b->evaluation.prediction[i]));
        }
        worst = fmax(worst, size > 0 ? off / size : off);
    }
    return worst;
}

static void measure(const char *const *argument, bool is_first)
{
    struct side side[2] = {0};
    struct reference reference;
    struct error error = {0};
    for (int k = 0; k < 2; k++)
        if (model_load(&side[k].model, argument[1 + k], NULL, &error) != STATUS_OK)
            die(argument[1 + k], error.message);
    read_reference(&reference, argument[3], &side[0].model.abi);
    for (int k = 0; k < 2; k++)
        start(&side[k], argument[1 + k], &reference);
    run(&side[0], 1);
    run(&side[1], 1);
    int n = 1 + (int)(SAMPLE_S / run(&side[0], 3));
    double ratio[N_PAIR];
    for (int i = 0; i < N_PAIR; i++) { /* who goes first changes */
        for (int k = 0; k < 2; k++) {
            int who = (i + k) % 2;
            side[who].sample[i] = run(&side[who], n);
        }
        ratio[i] = side[1].sample[i] / side[0].sample[i];
    }
    printf("%s\"%s\": {\"ratio\": %.4f, \"hand_us\": %.3f, \"text_us\": %.3f, \"hand_steps\": %lld, \"text_steps\": %lld, "
           "\"apart\": %.3g}", is_first ? "" : ", ", argument[0], median(ratio, N_PAIR),
           1e6 * median(side[0].sample, N_PAIR), 1e6 * median(side[1].sample, N_PAIR),
           (long long)side[0].evaluation.n_step, (long long)side[1].evaluation.n_step, apart(&side[0], &side[1]));
}

int main(int argc, char **argv)
{
    putchar('{');
    for (int i = 1; i + 3 < argc; i += 4)
        measure((const char *const *)argv + i, i == 1);
    puts("}");
    return 0;
}
