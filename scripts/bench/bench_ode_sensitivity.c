/* What an evaluation with sensitivities costs against CVODES' own forward sensitivities, linked to the same
 * library, and how far both are from a tight reference. Usage: bench_ode_sensitivity [--json] [--rtol X] MODEL.so
 * ... (the models robertson and alpha-pinene; POLLU is built in).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bench_ode_stock.h"

#include "bench_ode_pollu.h"
#include "model/build/shared_object.h"
#include "ode/engine.h"

#include <math.h>
#include <time.h>

#ifndef BENCH_SUNDIALS_BUILD
#define BENCH_SUNDIALS_BUILD "(system)"
#endif

enum { N_REPEAT = 31, MAX_TIME = 16 };

struct problem {
    const char *name;
    const struct stiffit_model *model;
    const double *p;
    size_t n_time;
    double time[MAX_TIME];
    int inner; /* evaluations per timing */
};

struct errors {
    double state, sensitivity;
};

struct figures {
    double us, ratio;
    struct errors errors;
    int64_t n_step;
};

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

/* Largest error over all times, each component relative to its largest reference value over the times. */
static struct errors errors_against(const struct problem *problem, const double *out, const double *reference)
{
    size_t n = problem->model->n_state, width = n * (1 + problem->model->n_parameter);
    struct errors errors = {0, 0};
    for (size_t j = 0; j < width; j++) {
        double size = 0, worst = 0;
        for (size_t i = 0; i < problem->n_time; i++) {
            size = fmax(size, fabs(reference[i * width + j]));
            worst = fmax(worst, fabs(out[i * width + j] - reference[i * width + j]));
        }
        double *target = j < n ? &errors.state : &errors.sensitivity;
        if (size > 0)
            *target = fmax(*target, worst / size);
    }
    return errors;
}

/* A model whose observables are its states, so that the engine's answer is the state with its sensitivities. */
static size_t identity_n, identity_p;
static int identity(const struct stiffit_point *at, double *h)
{
    memcpy(h, at->y, identity_n * sizeof(double));
    return 0;
}
static int identity_state(const struct stiffit_point *at, double *h)
{
    (void)at;
    memset(h, 0, identity_n * identity_n * sizeof(double));
    for (size_t i = 0; i < identity_n; i++)
        h[i * (identity_n + 1)] = 1;
    return 0;
}
static int identity_parameter(const struct stiffit_point *at, double *h)
{
    (void)at;
    memset(h, 0, identity_n * identity_p * sizeof(double));
    return 0;
}

struct ours {
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
    struct ode_task task;
    struct evaluation evaluation;
    uint32_t *sens, *row_time, *row_observable;
    double *out; /* times x (1 + P) x n */
};

static void ours_init(struct ours *ours, const struct problem *problem, double rtol, double atol)
{
    size_t n = problem->model->n_state, n_parameter = problem->model->n_parameter, n_row = n * problem->n_time;
    struct ode_options options = {.rtol = rtol, .atol = atol, .linear_solver = LINEAR_AUTO};
    struct error error = {0};
    *ours = (struct ours){.model = {.abi = *problem->model}};
    identity_n = n;
    identity_p = n_parameter;
    ours->model.abi.n_observable = (uint32_t)n;
    ours->model.abi.observe = identity;
    ours->model.abi.observe_state = identity_state;
    ours->model.abi.observe_parameter = identity_parameter;
    ours->model.abi.noise = NULL;
    ours->pool = engine_pool_new(&ours->model, &options, 1, 1, &error);
    ours->engine = ours->pool ? engine_new(ours->pool, &error) : NULL;
    if (!ours->engine) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    ours->sens = malloc(n_parameter * sizeof *ours->sens);
    ours->row_time = malloc(n_row * sizeof *ours->row_time);
    ours->row_observable = malloc(n_row * sizeof *ours->row_observable);
    ours->out = malloc(n_row * (1 + n_parameter) * sizeof(double));
    for (size_t k = 0; k < n_parameter; k++)
        ours->sens[k] = (uint32_t)k;
    for (size_t i = 0; i < n_row; i++) {
        ours->row_time[i] = (uint32_t)(i / n);
        ours->row_observable[i] = (uint32_t)(i % n);
    }
    ours->task = (struct ode_task){.n_time = problem->n_time, .time = problem->time, .n_row = n_row,
                                   .row_time = ours->row_time, .row_observable = ours->row_observable};
    ours->evaluation = (struct evaluation){.task = &ours->task, .p = problem->p, .n_sens = n_parameter,
                                           .sens = ours->sens,
                                           .max_steps = 10000000, .deadline_ns = INT64_MAX};
    ours->evaluation.prediction = ours->out;
    ours->evaluation.d_prediction = ours->out + n_row;
}

static void ours_fini(struct ours *ours)
{
    engine_free(ours->engine);
    engine_pool_free(ours->pool);
    free(ours->sens);
    free(ours->row_time);
    free(ours->row_observable);
    free(ours->out);
}

static void ours_run(struct ours *ours)
{
    engine_evaluate(ours->engine, &ours->evaluation);
    if (ours->evaluation.outcome != EVALUATION_OK) {
        fprintf(stderr, "engine: %s\n", ours->evaluation.reason);
        exit(1);
    }
}

/* In the order of stock_run. */
static void ours_collect(const struct ours *ours, const struct problem *problem, double *out)
{
    size_t n = problem->model->n_state, width = n * (1 + problem->model->n_parameter), n_row = n * problem->n_time;
    for (size_t i = 0; i < problem->n_time; i++)
        for (size_t j = 0; j < width; j++)
            out[i * width + j] = ours->out[i * n + j % n + j / n * n_row];
}

static void stock_or_die(struct stock *stock, const struct problem *problem, double *out)
{
    int flag = stock_run(stock, problem->n_time, problem->time, out);
    if (flag < 0) {
        fprintf(stderr, "%s: stock CVODES fails with %d\n", problem->name, flag);
        exit(1);
    }
}

static void measure(const struct problem *problem, double rtol, double atol, struct figures *result)
{
    static const struct stock_options kinds[3] = {{.error_control = false, .method = CV_SIMULTANEOUS},
                                                  {.error_control = true, .method = CV_SIMULTANEOUS},
                                                  {.error_control = true, .method = CV_STAGGERED}};
    size_t n_parameter = problem->model->n_parameter, width = problem->model->n_state * (1 + n_parameter);
    double *out = malloc(width * MAX_TIME * sizeof *out), *reference = malloc(width * MAX_TIME * sizeof *reference);
    double times[4][N_REPEAT];
    struct stock stock[4];
    struct ours ours;
    struct stock_options tight = {.rtol = 1e-12, .atol = atol * 1e-6, .error_control = true, .method = CV_SIMULTANEOUS};
    stock_init(&stock[3], problem->model, problem->p, NULL, 0, n_parameter, tight);
    stock_or_die(&stock[3], problem, reference);
    stock_fini(&stock[3]);
    ours_init(&ours, problem, rtol, atol);
    ours_run(&ours);
    ours_collect(&ours, problem, out);
    result[0] = (struct figures){.errors = errors_against(problem, out, reference), .n_step = ours.evaluation.n_step};
    for (int k = 0; k < 3; k++) {
        struct stock_options options = kinds[k];
        options.rtol = rtol;
        options.atol = atol;
        stock_init(&stock[k], problem->model, problem->p, NULL, 0, n_parameter, options);
        stock_or_die(&stock[k], problem, out);
        result[k + 1] = (struct figures){.errors = errors_against(problem, out, reference), .n_step = stock[k].n_step};
    }
    for (int r = 0; r < N_REPEAT; r++)
        for (int k = 0; k < 4; k++) {
            double begin = cpu_now();
            for (int i = 0; i < problem->inner; i++) {
                if (k == 0)
                    ours_run(&ours);
                else
                    stock_or_die(&stock[k - 1], problem, out);
            }
            times[k][r] = (cpu_now() - begin) * 1e6 / problem->inner;
        }
    double ratios[N_REPEAT];
    for (int k = 1; k < 4; k++) {
        for (int r = 0; r < N_REPEAT; r++)
            ratios[r] = times[0][r] / times[k][r];
        result[k].ratio = median(ratios, N_REPEAT);
        result[k].us = median(times[k], N_REPEAT);
        stock_fini(&stock[k - 1]);
    }
    result[0].us = median(times[0], N_REPEAT);
    ours_fini(&ours);
    free(out);
    free(reference);
}

static void print_json(const struct problem *problem, const struct figures *f)
{
    printf("\"%s\": {\"ratio\": %.4f, \"ours_us\": %.2f, \"stock_us\": %.2f, "
           "\"ours_error\": %.3g, \"stock_error\": %.3g, "
           "\"ours_sensitivity_error\": %.3g, \"stock_sensitivity_error\": %.3g, \"ours_steps\": %lld, "
           "\"stock_steps\": %lld, \"ratio_error_control\": %.4f, \"stock_error_control_us\": %.2f, "
           "\"stock_error_control_error\": %.3g, \"stock_error_control_sensitivity_error\": %.3g}",
           problem->name, f[1].ratio, f[0].us, f[1].us, f[0].errors.state, f[1].errors.state, f[0].errors.sensitivity,
           f[1].errors.sensitivity, (long long)f[0].n_step, (long long)f[1].n_step, f[2].ratio, f[2].us,
           f[2].errors.state, f[2].errors.sensitivity);
}

static void print_text(const struct problem *problem, const struct figures *f)
{
    static const char *const names[4] = {"stiffit", "stock simultaneous, no error control of s", "stock simultaneous",
                                         "stock staggered"};
    printf("%s\n", problem->name);
    for (int k = 0; k < 4; k++)
        printf("  %-42s %9.1f us %6lld steps  error %8.2e  of s %8.2e  ratio %.3f\n", names[k], f[k].us,
               (long long)f[k].n_step, f[k].errors.state, f[k].errors.sensitivity, k ? f[k].ratio : 1);
}

static const struct stiffit_model *load(const char *path)
{
    struct error error = {0};
    void *handle = shared_object_open(path, &error);
    const struct stiffit_model *model = handle ? shared_object_symbol(handle, "stiffit_model") : NULL;
    if (!model) {
        fprintf(stderr, "%s: %s\n", path, error.message);
        exit(1);
    }
    return model;
}

int main(int argc, char **argv)
{
    static const double alpha_pinene[5] = {5.92585e-05, 2.96340e-05, 2.04728e-05, 2.74468e-04, 3.99795e-05};
    struct problem problems[3] = {
        {.name = "robertson", .n_time = 12, .inner = 4,
         .time = {1e-3, 3e-3, 1e-2, 1e-1, 1, 4, 10, 40, 100, 400, 1000, 4000}},
        {.name = "alpha-pinene", .p = alpha_pinene, .n_time = 8, .inner = 8,
         .time = {1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420}},
        {.name = "pollu", .model = &pollu_model, .p = pollu_rate, .n_time = 12, .inner = 1}};
    bool json = false;
    double rtol = 1e-6;
    for (int i = 0; i < 12; i++)
        problems[2].time[i] = 5 * (i + 1);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--rtol") == 0 && i + 1 < argc)
            rtol = atof(argv[++i]);
        else
            for (int k = 0; k < 2; k++)
                if (strstr(argv[i], problems[k].name))
                    problems[k].model = load(argv[i]);
    }
    if (problems[0].model)
        problems[0].p = problems[0].model->parameter_start;
    if (json)
        printf("{\"sundials\": \"%s %s\", \"rtol\": %g", SUNDIALS_VERSION, BENCH_SUNDIALS_BUILD, rtol);
    for (int k = 0; k < 3; k++) {
        /* an atol below what each problem's smallest interesting numbers need */
        struct figures figures[4];
        if (!problems[k].model)
            continue;
        measure(&problems[k], rtol, k == 1 ? rtol * 1e-2 : rtol * 1e-4, figures);
        if (json) {
            printf(", ");
            print_json(&problems[k], figures);
        } else {
            print_text(&problems[k], figures);
        }
    }
    if (json)
        printf("}\n");
    return 0;
}
