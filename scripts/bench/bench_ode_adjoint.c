/* What a gradient costs by forward sensitivities, by our adjoint and by CVODES' (CVodeB), side by side, for sizes and
 * numbers of measurement times: the rule in src/ode/adjoint.c was read off this table. Usage: OPENBLAS_NUM_THREADS=1
 * bench_ode_adjoint [--json] [--rtol X] [STATES PARAMETERS TIMES]...
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/adjoint.h"
#include "ode/engine.h"

#include "bench_ode_backward.h"
#include "bench_ode_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_REPEAT = 15 };

/* One configuration: both kinds of evaluation of the same task. */
struct bench {
    size_t n, n_parameter, n_time, n_row;
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
    struct ode_task task;
    struct evaluation forward, adjoint;
    struct evaluation_adjoint request;
    struct backward backward;
    double *p, *time, *prediction, *d_prediction, *weight, *gradient;
    uint32_t *sens, *row_time, *row_observable;
    uint8_t *use;
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

/* The sum of squares of the predictions. */
static bool weigh(void *context, const struct evaluation *evaluation)
{
    struct bench *b = context;
    memcpy(b->weight, evaluation->prediction, b->n_row * sizeof(double));
    return true;
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

static void bench_init(struct bench *b, size_t n, size_t n_parameter, size_t n_time, double rtol)
{
    *b = (struct bench){.n = n, .n_parameter = n_parameter, .n_time = n_time, .n_row = 2 * n_time};
    b->use = new_array(n_parameter, 1);
    b->model.abi = network_model(n, n_parameter, b->use);
    struct ode_options options = {.rtol = rtol, .atol = 1e-3 * rtol, .linear_solver = LINEAR_AUTO};
    struct error error = {0};
    b->pool = engine_pool_new(&b->model, &options, 1, 1, &error);
    b->engine = b->pool ? engine_new(b->pool, &error) : NULL;
    if (!b->engine) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    b->p = new_array(n_parameter, sizeof(double));
    b->sens = new_array(n_parameter, sizeof(uint32_t));
    for (size_t j = 0; j < n_parameter; j++) {
        b->p[j] = network_start(j);
        b->sens[j] = (uint32_t)j;
    }
    b->time = new_array(n_time, sizeof(double));
    for (size_t i = 0; i < n_time; i++)
        b->time[i] = 10 * (double)(i + 1) / (double)n_time;
    b->row_time = new_array(b->n_row, sizeof(uint32_t));
    b->row_observable = new_array(b->n_row, sizeof(uint32_t));
    for (size_t i = 0; i < b->n_row; i++) {
        b->row_time[i] = (uint32_t)(i / 2);
        b->row_observable[i] = i % 2;
    }
    b->prediction = new_array(b->n_row, sizeof(double));
    b->d_prediction = new_array(b->n_row * n_parameter, sizeof(double));
    b->weight = new_array(b->n_row, sizeof(double));
    b->gradient = new_array(n_parameter, sizeof(double));
    b->task = (struct ode_task){.n_time = n_time, .time = b->time, .n_row = b->n_row, .row_time = b->row_time,
                                .row_observable = b->row_observable};
    b->request = (struct evaluation_adjoint){.weigh = weigh, .context = b, .by_prediction = b->weight,
                                             .gradient = b->gradient};
    b->forward = (struct evaluation){.task = &b->task, .p = b->p, .n_sens = n_parameter, .sens = b->sens,
                                     .max_steps = 1000000, .deadline_ns = INT64_MAX, .prediction = b->prediction,
                                     .d_prediction = b->d_prediction};
    b->adjoint = b->forward;
    b->adjoint.d_prediction = NULL;
    b->adjoint.adjoint = &b->request;
    if (!backward_init(&b->backward, &b->model.abi, b->p, b->sens, n_time, b->time, rtol, options.atol)) {
        fprintf(stderr, "CVODES' adjoint module cannot be set up\n");
        exit(1);
    }
}

static void bench_fini(struct bench *b)
{
    backward_fini(&b->backward);
    engine_free(b->engine);
    engine_pool_free(b->pool);
    free(b->p);
    free(b->time);
    free(b->prediction);
    free(b->d_prediction);
    free(b->weight);
    free(b->gradient);
    free(b->sens);
    free(b->row_time);
    free(b->row_observable);
    free(b->use);
}

/* evaluation: NULL for CVODES' own, which may give up: NaN */
static double seconds(struct bench *b, struct evaluation *evaluation, int inner)
{
    double begin = cpu_now();
    for (int i = 0; i < inner; i++) {
        if (evaluation)
            engine_evaluate(b->engine, evaluation);
        if (evaluation && evaluation->outcome != EVALUATION_OK) {
            fprintf(stderr, "failed: %s\n", evaluation->reason);
            exit(1);
        }
        if (!evaluation && !backward_run(&b->backward))
            return NAN;
    }
    return (cpu_now() - begin) / inner;
}

/* Largest difference to the gradient by forward sensitivities, relative to its largest entry, all with respect to the
 * logarithms of the parameters. */
static double difference(const struct bench *b, const double *gradient)
{
    double size = 0, worst = 0;
    for (size_t k = 0; k < b->n_parameter; k++) {
        double forward = 0;
        for (size_t i = 0; i < b->n_row; i++)
            forward += b->weight[i] * b->d_prediction[i + k * b->n_row];
        size = fmax(size, fabs(b->p[k] * forward));
        worst = fmax(worst, fabs(b->p[k] * (forward - gradient[k])));
    }
    return worst / size;
}

static void measure(size_t n, size_t n_parameter, size_t n_time, double rtol, bool json, bool first)
{
    struct bench b;
    bench_init(&b, n, n_parameter, n_time, rtol);
    struct evaluation *kinds[3] = {&b.forward, &b.adjoint, NULL};
    double time[3][N_REPEAT], ratio[N_REPEAT], us[3], once = 0;
    for (int k = 0; k < 3; k++)
        once = fmax(once, 3 * seconds(&b, kinds[k], 1));
    int inner = once < 4e-3 ? (int)(4e-3 / once) + 1 : 1;
    for (size_t i = 0; i < N_REPEAT; i++) {
        for (int k = 0; k < 3; k++)
            time[k][i] = seconds(&b, kinds[k], inner);
        ratio[i] = time[0][i] / time[1][i];
    }
    for (int k = 0; k < 3; k++)
        us[k] = 1e6 * median(time[k], N_REPEAT);
    double r = median(ratio, N_REPEAT);
    const char *rule = adjoint_is_cheaper(n, n_parameter) ? "adjoint" : "forward";
    char cvodeb[32] = "null";
    if (isfinite(us[2]))
        snprintf(cvodeb, sizeof cvodeb, "%.1f", us[2]);
    if (json)
        printf("%s{\"states\": %zu, \"parameters\": %zu, \"times\": %zu, \"forward_us\": %.1f, \"adjoint_us\": %.1f, "
               "\"cvodeb_us\": %s, \"ratio\": %.3f, \"rule\": \"%s\"}", first ? "" : ", ", n, n_parameter, n_time,
               us[0], us[1], cvodeb, r, rule);
    else
        printf("%6zu %10zu %5zu %11.1f %11.1f %11.1f %7.2f  %-7s %9.1e %9.1e\n", n, n_parameter, n_time, us[0], us[1],
               us[2], r, rule, difference(&b, b.gradient), difference(&b, vector_data(b.backward.quadrature)));
    fflush(stdout);
    bench_fini(&b);
}

int main(int argc, char **argv)
{
    static const size_t cases[][3] = {
        {2, 2, 12},   {2, 4, 12},   {2, 8, 12},   {5, 2, 12},    {5, 4, 12},  {5, 8, 12},  {5, 20, 12}, {5, 200, 2},
        {5, 200, 12}, {5, 200, 50}, {5, 200, 200}, {20, 2, 12},  {20, 4, 12}, {20, 8, 12}, {20, 30, 12}, {50, 2, 12},
        {50, 4, 12},  {50, 8, 12},  {50, 30, 12}, {50, 300, 12}};
    double rtol = 1e-6;
    bool json = false;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--rtol") == 0 && i + 1 < argc)
            rtol = atof(argv[++i]);
    }
    if (json)
        printf("{\"rtol\": %g, \"cases\": [", rtol);
    else
        printf("states parameters times  forward us  adjoint us   CVodeB us fwd/adj  rule    adjoint and CVodeB's "
               "difference to forward\n");
    int first = i;
    for (; i + 2 < argc; i += 3)
        measure((size_t)atoi(argv[i]), (size_t)atoi(argv[i + 1]), (size_t)atoi(argv[i + 2]), rtol, json, i == first);
    for (size_t c = 0; first >= argc && c < sizeof cases / sizeof *cases; c++)
        measure(cases[c][0], cases[c][1], cases[c][2], rtol, json, c == 0);
    if (json)
        printf("]}\n");
    return 0;
}
