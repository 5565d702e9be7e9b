/* What a whole fit costs by trust region with forward sensitivities and by L-BFGS with adjoint gradients, side by side, for
 * sizes and numbers of times: fit/objective/prepare.c chooses by what this table shows. Two made-up families, a linear
 * network and one with catalysed reactions (bench_ode_network.h), all states measured; and any model from a plugin. Usage:
 * OPENBLAS_NUM_THREADS=1 bench_fit_crossover [--json] [--fits N] [--prior WIDTH|0] FAMILY STATES PARAMETERS TIMES ... with
 * FAMILY linear, network, or MODEL.so END 0 TIMES
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "fit/joint/one.h"
#include "model/build/shared_object.h"
#include "ode/engine.h"

#include "bench_ode_network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_WAY = 2, MOST_FITS = 64 };

/* Measurement errors, relative; and how far from the truth fits start, in logarithms. */
static const double NOISE = 0.02, SPREAD = 0.3;
/* Standard deviation of the prior of each parameter's logarithm, around the truth. Without any, fits of so many parameters
 * have no one optimum, and the two ways end elsewhere. */
static double prior_width = 1;

struct bench {
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
    struct arena arena;
    struct ode_task task;
    double *truth, *start, *lower, *upper, *covariate, *time, *exact, *value, *sigma, *arrays;
    enum parameter_scale *scale;
    struct fit_prior *prior;
    uint32_t *to_model, *row_time, *row_observable;
    uint8_t *use, *fixed;
    size_t n_state, n_parameter, n_time, n_row;
};

struct figures {
    double cpu_s, objective;
    int64_t n_evaluation, n_step;
    enum outcome outcome;
};

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *new_array(size_t n, size_t size)
{
    void *array = calloc(n + 1, size);
    if (!array) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return array;
}

static int observe_all(const struct stiffit_point *at, double *h)
{
    memcpy(h, at->y, network_n * sizeof *h);
    return STIFFIT_OK;
}

static int observe_all_state(const struct stiffit_point *at, double *H)
{
    (void)at;
    memset(H, 0, network_n * network_n * sizeof *H);
    for (size_t i = 0; i < network_n; i++)
        H[i + i * network_n] = 1;
    return STIFFIT_OK;
}

static int observe_all_parameter(const struct stiffit_point *at, double *H)
{
    (void)at;
    memset(H, 0, network_n * network_p * sizeof *H);
    return STIFFIT_OK;
}

static void take_network(struct bench *b, bool linear, size_t n_state, size_t n_parameter)
{
    b->use = new_array(n_parameter, 1);
    b->model.abi = network_model(n_state, n_parameter, b->use);
    for (size_t j = 0; linear && j < n_parameter; j++)
        network_reactions[j].with = network_reactions[j].from;
    b->model.abi.n_observable = (uint32_t)n_state;
    b->model.abi.observe = observe_all;
    b->model.abi.observe_state = observe_all_state;
    b->model.abi.observe_parameter = observe_all_parameter;
    b->truth = new_array(n_parameter, sizeof(double));
    for (size_t j = 0; j < n_parameter; j++)
        b->truth[j] = network_start(j);
}

static void take_plugin(struct bench *b, const char *path)
{
    struct error error = {0};
    void *handle = shared_object_open(path, &error);
    if (!handle) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    b->model.abi = *(const struct stiffit_model *)shared_object_symbol(handle, "stiffit_model");
    b->truth = new_array(b->model.abi.n_parameter, sizeof(double));
    memcpy(b->truth, b->model.abi.parameter_start, b->model.abi.n_parameter * sizeof(double));
}

static void set_task(struct bench *b, size_t n_time, double end)
{
    size_t n_observable = b->model.abi.n_observable;
    b->n_state = b->model.abi.n_state;
    b->n_parameter = b->model.abi.n_parameter;
    b->n_time = n_time;
    b->n_row = n_time * n_observable;
    b->time = new_array(n_time, sizeof(double));
    b->row_time = new_array(b->n_row, sizeof(uint32_t));
    b->row_observable = new_array(b->n_row, sizeof(uint32_t));
    for (size_t i = 0; i < n_time; i++) /* over three decades, as such data are taken */
        b->time[i] = n_time == 1 ? end : end * pow(10, -3 + 3 * (double)i / (double)(n_time - 1));
    for (size_t i = 0; i < b->n_row; i++) {
        b->row_time[i] = (uint32_t)(i / n_observable);
        b->row_observable[i] = (uint32_t)(i % n_observable);
    }
    b->covariate = new_array(b->model.abi.n_covariate, sizeof(double));
    b->exact = new_array(b->n_row, sizeof(double));
    b->value = new_array(b->n_row, sizeof(double));
    b->sigma = new_array(b->n_row, sizeof(double));
    b->task = (struct ode_task){.experiment.covariate = b->covariate, .n_time = n_time, .time = b->time, .n_row = b->n_row,
                                .row_time = b->row_time, .row_observable = b->row_observable};
}

static void set_problem(struct bench *b)
{
    size_t n = b->n_parameter;
    b->start = new_array(n, sizeof(double));
    b->lower = new_array(n, sizeof(double));
    b->upper = new_array(n, sizeof(double));
    b->arrays = new_array(fit_record_array_bytes(n), 1);
    b->scale = new_array(n, sizeof *b->scale);
    b->prior = new_array(n, sizeof *b->prior);
    b->to_model = new_array(n, sizeof(uint32_t));
    b->fixed = new_array(n, 1);
    for (size_t j = 0; j < n; j++) {
        b->to_model[j] = (uint32_t)j;
        b->scale[j] = SCALE_LOG;
        b->lower[j] = 1e-4 * b->truth[j];
        b->upper[j] = 1e4 * b->truth[j];
        b->fixed[j] = !(b->truth[j] > 0);
        if (!b->fixed[j])
            b->prior[j] = (struct fit_prior){.kind = PRIOR_NORMAL, .on_optimizer = true, .location = log(b->truth[j]),
                                             .scale = prior_width};
    }
}

static void set_engine(struct bench *b)
{
    const struct fit_options fit = FIT_OPTIONS_DEFAULT;
    const struct ode_options options = {.rtol = fit.accuracy, .linear_solver = LINEAR_AUTO};
    struct error error = {0};
    b->pool = engine_pool_new(&b->model, &options, 1, 1, &error);
    b->engine = b->pool ? engine_new(b->pool, &error) : NULL;
    struct evaluation truth = {.task = &b->task, .p = b->truth, .max_steps = 1000000, .deadline_ns = INT64_MAX,
                               .prediction = b->exact};
    if (b->engine)
        engine_evaluate(b->engine, &truth);
    if (!b->engine || truth.outcome != EVALUATION_OK) {
        fprintf(stderr, "%s%s\n", error.message, truth.reason);
        exit(1);
    }
}

static void bench_fini(struct bench *b)
{
    void *arrays[] = {b->truth, b->start, b->lower, b->upper, b->covariate, b->time, b->exact, b->value, b->sigma, b->arrays,
                      b->scale, b->prior, b->to_model, b->row_time, b->row_observable, b->use, b->fixed};
    engine_free(b->engine);
    engine_pool_free(b->pool);
    arena_fini(&b->arena);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static bool ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    for (size_t i = 0; i < n; i++)
        engine_evaluate(((struct bench *)context)->engine, evaluations[i]);
    return true;
}

static int64_t elapsed(void *context)
{
    (void)context;
    return 0;
}

/* Dataset `seed`: data around the truth, and a start elsewhere. */
static void draw(struct bench *b, uint64_t seed)
{
    double largest = 0;
    for (size_t i = 0; i < b->n_row; i++)
        largest = fmax(largest, fabs(b->exact[i]));
    for (size_t i = 0; i < b->n_row; i++) {
        b->sigma[i] = NOISE * (fabs(b->exact[i]) + 1e-3 * largest);
        b->value[i] = b->exact[i] + b->sigma[i] * random_normal(seed, 1, i);
    }
    for (size_t j = 0; j < b->n_parameter; j++)
        b->start[j] = b->truth[j] * exp(SPREAD * random_normal(seed, 2, j));
}

static struct figures fit(struct bench *b, int way)
{
    struct fit_loss *loss = calloc(b->model.abi.n_observable + 1, sizeof *loss);
    for (uint32_t k = 0; loss && k < b->model.abi.n_observable; k++)
        loss[k] = fit_loss_of(ERROR_NORMAL, NULL);
    struct fit_problem problem = {.loss = loss, .model = &b->model, .n_experiment = 1, .task = &b->task,
                                  .measured = {.value = b->value, .sigma = b->sigma, .observable = b->row_observable},
                                  .n_parameter = b->n_parameter, .to_model = b->to_model, .start = b->start,
                                  .lower = b->lower, .upper = b->upper, .scale = b->scale, .fixed = b->fixed, .n_start = 1,
                                  .prior = prior_width > 0 ? b->prior : NULL};
    struct fit_options options = FIT_OPTIONS_DEFAULT;
    struct fit_host host = {.ask = ask, .elapsed_ns = elapsed, .context = b};
    struct fit_record result;
    fit_record_set_arrays(&result, b->n_parameter, b->arrays);
    options.certify = false;
    options.optimizer = way ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
    options.gradient = way ? GRADIENT_adjoint : GRADIENT_forward;
    options.max_evaluations = 20000;
    options.max_total_steps = INT64_MAX;
    arena_reset(&b->arena);
    double begin = cpu_now();
    if (loss)
        fit_run(&problem, &options, &host, &b->arena, &result);
    free(loss);
    return (struct figures){cpu_now() - begin, result.objective, result.n_evaluation, result.n_step, result.outcome};
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

static void measure(struct bench *b, const char *family, size_t n_fit, bool json, bool first)
{
    static const char *const words[N_WAY] = {"trf", "lbfgs"};
    double seconds[N_WAY][MOST_FITS], evaluations[N_WAY][MOST_FITS], ratio[MOST_FITS], excess[N_WAY] = {0};
    size_t n_converged[N_WAY] = {0};
    for (size_t i = 0; i < n_fit; i++) {
        struct figures figures[N_WAY];
        draw(b, i + 1);
        for (int way = 0; way < N_WAY; way++) {
            figures[way] = fit(b, way);
            seconds[way][i] = figures[way].cpu_s;
            evaluations[way][i] = (double)figures[way].n_evaluation;
            n_converged[way] += figures[way].outcome == OUTCOME_converged;
        }
        for (int way = 0; way < N_WAY; way++)
            excess[way] = fmax(excess[way], figures[way].objective / fmin(figures[0].objective, figures[1].objective) - 1);
        ratio[i] = figures[0].cpu_s / figures[1].cpu_s;
    }
    if (json)
        printf("%s{\"family\": \"%s\", \"states\": %zu, \"parameters\": %zu, \"times\": %zu, \"trf_over_lbfgs\": %.4g",
               first ? "" : ", ", family, b->n_state, b->n_parameter, b->n_time, median(ratio, n_fit));
    else
        printf("%-28s %4zu %5zu %5zu %8.3f", family, b->n_state, b->n_parameter, b->n_time, median(ratio, n_fit));
    for (int way = 0; way < N_WAY; way++) {
        double s = median(seconds[way], n_fit), n = median(evaluations[way], n_fit);
        if (json)
            printf(", \"%s\": {\"cpu_s\": %.4g, \"evaluations\": %g, \"converged\": %zu, \"excess\": %.2g}", words[way], s, n,
                   n_converged[way], excess[way]);
        else
            printf(" | %-5s %10.3f ms %6.0f %3zu/%zu %8.1e", words[way], 1e3 * s, n, n_converged[way], n_fit, excess[way]);
    }
    printf(json ? "}" : "\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool json = false;
    size_t n_fit = 5;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--prior") == 0 && i + 1 < argc)
            prior_width = atof(argv[++i]);
        else if (strcmp(argv[i], "--fits") == 0 && i + 1 < argc)
            n_fit = (size_t)atoi(argv[++i]);
    }
    n_fit = n_fit < 1 ? 1 : n_fit > MOST_FITS ? MOST_FITS : n_fit;
    printf(json ? "[" : "family, states, parameters, times, CPU time trf/lbfgs | each: CPU time, evaluations, converged, "
                        "objective over the lower one\n");
    for (int first = i; i + 3 < argc; i += 4) {
        struct bench b = {.n_row = 0};
        bool is_plugin = strchr(argv[i], '.') != NULL;
        if (is_plugin)
            take_plugin(&b, argv[i]);
        else
            take_network(&b, strcmp(argv[i], "linear") == 0, (size_t)atoi(argv[i + 1]), (size_t)atoi(argv[i + 2]));
        set_task(&b, (size_t)atoi(argv[i + 3]), is_plugin ? atof(argv[i + 1]) : 10);
        set_problem(&b);
        set_engine(&b);
        measure(&b, argv[i], n_fit, json, i == first);
        bench_fini(&b);
    }
    if (json)
        printf("]\n");
    return 0;
}
