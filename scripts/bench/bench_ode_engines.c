/* What an evaluation with sensitivities costs in lanes and by CVODES, at tolerances where lanes are no less accurate. Each
 * engine gets the same evaluations: the model's own parameters, times random factors. Usage:
 *     bench_ode_engines MODEL RTOL T1,T2,...
 * RTOL is that of CVODES. It prints JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "model/plugin.h"
#include "ode/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_SET = 96, N_REPEAT = 15, LEAST_REPEAT = 3, MAX_TIME = 64, N_RTOL = 28 };
static const double SPREAD = 0.15;          /* decades of the parameters, to each side */
static const double LOOSEST = 1e-3;         /* the lanes' tolerances are this and smaller ones by quarters of decades */
static const double MOST_S = 4;             /* of timing, once LEAST_REPEAT are done */
static const double REFERENCE_RTOL = 1e-12; /* CVODES' */

#ifdef ENGINE_LIST /* this program has a choice of engines */
#define SET_ENGINE(object, kind) ((object).engine = (kind))
#define REFUSAL(abi) engine_refusal(ENGINE_LANES, abi)
#else
enum engine_kind { ENGINE_CVODES, ENGINE_LANES };
#define SET_ENGINE(object, kind) ((void)(kind))
#define REFUSAL(abi) ((void)(abi), "cannot be simulated in lanes by this program")
#endif

struct problem {
    struct model model;
    struct ode_task task;
    double time[MAX_TIME];
    size_t n_row, n_parameter, n_out; /* n_out: numbers of an answer */
    double *p;                        /* N_SET x n_parameter */
    uint32_t *sens, *row_time, *row_observable;
};

/* An engine at one tolerance, with the answers to all evaluations. */
struct runner {
    struct engine_pool *pool;
    struct engine *engine;
    struct evaluation evaluation[N_SET];
    double *out; /* N_SET x n_out: predictions, their derivatives */
};

struct errors {
    double state, sensitivity; /* median over the evaluations of the largest one */
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

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory)
        exit(1);
    return memory;
}

static void problem_init(struct problem *problem, const char *path, const char *times)
{
    struct error error = {0};
    *problem = (struct problem){0};
    if (model_load(&problem->model, path, NULL, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    const struct stiffit_model *abi = &problem->model.abi;
    problem->n_parameter = abi->n_parameter;
    size_t n_time = 0, n_observable = abi->n_observable;
    for (const char *at = times; at && n_time < MAX_TIME; at = strchr(at, ','), at = at ? at + 1 : NULL)
        problem->time[n_time++] = atof(at);
    problem->n_row = n_time * n_observable;
    problem->n_out = problem->n_row * (1 + problem->n_parameter);
    problem->sens = allocate(problem->n_parameter, sizeof *problem->sens);
    problem->row_time = allocate(problem->n_row, sizeof *problem->row_time);
    problem->row_observable = allocate(problem->n_row, sizeof *problem->row_observable);
    problem->p = allocate(N_SET * problem->n_parameter, sizeof *problem->p);
    for (size_t k = 0; k < problem->n_parameter; k++)
        problem->sens[k] = (uint32_t)k;
    for (size_t i = 0; i < problem->n_row; i++) {
        problem->row_time[i] = (uint32_t)(i / n_observable);
        problem->row_observable[i] = (uint32_t)(i % n_observable);
    }
    for (size_t i = 0; i < N_SET * problem->n_parameter; i++)
        problem->p[i] = abi->parameter_start[i % problem->n_parameter] * pow(10, SPREAD * (2 * random_uniform(1, 0, i) - 1));
    problem->task = (struct ode_task){.n_time = n_time, .time = problem->time, .n_row = problem->n_row,
                                      .row_time = problem->row_time, .row_observable = problem->row_observable};
}

static void runner_init(struct runner *runner, const struct problem *problem, enum engine_kind kind, double rtol)
{
    struct error error = {0};
    struct ode_options options = {.rtol = rtol, .linear_solver = LINEAR_AUTO};
    SET_ENGINE(options, kind);
    *runner = (struct runner){.out = allocate(N_SET * problem->n_out, sizeof *runner->out)};
    runner->pool = engine_pool_new(&problem->model, &options, 1, 1, &error);
    runner->engine = runner->pool ? engine_new(runner->pool, &error) : NULL;
    if (!runner->engine) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    for (size_t i = 0; i < N_SET; i++) {
        double *out = runner->out + i * problem->n_out;
        runner->evaluation[i] = (struct evaluation){.task = &problem->task, .p = problem->p + i * problem->n_parameter,
                                                    .n_sens = problem->n_parameter, .sens = problem->sens,
                                                    .max_steps = 10000000, .deadline_ns = INT64_MAX,
                                                    .prediction = out, .d_prediction = out + problem->n_row};
        SET_ENGINE(runner->evaluation[i], kind);
    }
}
static void runner_fini(struct runner *runner)
{
    engine_free(runner->engine);
    engine_pool_free(runner->pool);
    free(runner->out);
}

/* All evaluations, as many at a time as the engine holds. False: one failed. */
static bool runner_run(struct runner *runner)
{
    size_t capacity = engine_capacity(runner->pool), n_begun = 0, n_done = 0;
    bool is_ok = true;
    while (n_done < N_SET) {
        while (n_begun < N_SET && n_begun - n_done < capacity)
            engine_submit(runner->engine, &runner->evaluation[n_begun++]);
        for (struct evaluation *e = engine_work(runner->engine, NULL); e; e = e->next, n_done++)
            is_ok = is_ok && e->outcome == EVALUATION_OK;
    }
    return is_ok;
}

/* Each number relative to the largest one of the same observable (and parameter) over the times. */
static struct errors errors_against(const struct problem *problem, const struct runner *runner, const struct runner *reference)
{
    static double state[N_SET], sensitivity[N_SET];
    size_t n_observable = problem->model.abi.n_observable, n_row = problem->n_row;
    for (size_t i = 0; i < N_SET; i++) {
        const double *out = runner->out + i * problem->n_out, *exact = reference->out + i * problem->n_out;
        state[i] = sensitivity[i] = 0;
        for (size_t j = 0; j < n_observable * (1 + problem->n_parameter); j++) {
            size_t first = j / n_observable * n_row + j % n_observable;
            double size = 0, worst = 0, *target = j < n_observable ? &state[i] : &sensitivity[i];
            for (size_t k = first; k < first / n_row * n_row + n_row; k += n_observable) {
                size = fmax(size, fabs(exact[k]));
                worst = fmax(worst, fabs(out[k] - exact[k]));
            }
            if (size > 0)
                *target = fmax(*target, worst / size);
        }
    }
    return (struct errors){median(state, N_SET), median(sensitivity, N_SET)};
}

static void print_errors(const char *name, double rtol, struct errors errors)
{
    printf("\"%s\": {\"rtol\": %g, \"error\": %.3g, \"sensitivity_error\": %.3g}", name, rtol, errors.state,
           errors.sensitivity);
}

/* The loosest tolerance at which the lanes' errors are no larger than `most`, or 0; prints those that were tried. */
static double equal_rtol(const struct problem *problem, const struct runner *reference, struct errors most)
{
    double found = 0;
    printf("\"tried\": {");
    for (int i = 0; i < N_RTOL && !found; i++) {
        struct runner lanes;
        double rtol = LOOSEST * pow(10, -0.25 * i);
        char name[32];
        runner_init(&lanes, problem, ENGINE_LANES, rtol);
        struct errors errors = {INFINITY, INFINITY};
        if (runner_run(&lanes))
            errors = errors_against(problem, &lanes, reference);
        snprintf(name, sizeof name, "%.2g", rtol);
        printf("%s", i ? ", " : "");
        print_errors(name, rtol, (struct errors){fmin(errors.state, 1e300), fmin(errors.sensitivity, 1e300)});
        if (errors.state <= most.state && errors.sensitivity <= most.sensitivity)
            found = rtol;
        runner_fini(&lanes);
    }
    printf("}, ");
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL RTOL T1,T2,...\n", argv[0]);
        return 2;
    }
    struct problem problem;
    struct runner reference, cvodes, lanes;
    double rtol = atof(argv[2]), lanes_rtol = 0;
    problem_init(&problem, argv[1], argv[3]);
    runner_init(&reference, &problem, ENGINE_CVODES, REFERENCE_RTOL);
    runner_init(&cvodes, &problem, ENGINE_CVODES, rtol);
    if (!runner_run(&reference) || !runner_run(&cvodes)) {
        fprintf(stderr, "%s: CVODES fails\n", argv[1]);
        return 1;
    }
    struct errors errors = errors_against(&problem, &cvodes, &reference);
    const char *refusal = REFUSAL(&problem.model.abi);
    printf("{\"states\": %u, \"parameters\": %u, ", problem.model.abi.n_state, problem.model.abi.n_parameter);
    print_errors("cvodes", rtol, errors);
    printf(", ");
    if (refusal)
        printf("\"refusal\": \"%s\", ", refusal);
    else
        lanes_rtol = equal_rtol(&problem, &reference, errors);
    if (lanes_rtol > 0)
        runner_init(&lanes, &problem, ENGINE_LANES, lanes_rtol);
    double us[2][N_REPEAT] = {0}, ratio[N_REPEAT], began = cpu_now();
    size_t n = 0;
    /* Side by side: other load hits both alike. */
    for (; n < N_REPEAT && (n < LEAST_REPEAT || cpu_now() - began < MOST_S); n++) {
        for (int k = 0; k < (lanes_rtol > 0 ? 2 : 1); k++) {
            double begin = cpu_now();
            runner_run(k ? &lanes : &cvodes);
            us[k][n] = 1e6 * (cpu_now() - begin) / N_SET;
        }
        ratio[n] = us[1][n] / us[0][n];
    }
    if (lanes_rtol > 0)
        printf("\"lanes_rtol\": %g, \"ratio\": %.4f, \"lanes_us\": %.3f, ", lanes_rtol, median(ratio, n),
               median(us[1], n));
    printf("\"cvodes_us\": %.3f}\n", median(us[0], n));
    if (lanes_rtol > 0)
        runner_fini(&lanes);
    runner_fini(&cvodes);
    runner_fini(&reference);
    model_unload(&problem.model);
    free(problem.p);
    free(problem.sens);
    free(problem.row_time);
    free(problem.row_observable);
    return 0;
}
