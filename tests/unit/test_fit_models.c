/* Fits of the example models with the real integrator: alpha-pinene's published data against SciPy's optimum, and
 * Robertson's problem, where the optimum found at a practical tolerance is judged at a tight one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "base/random.h"
#include "ode/engine.h"

static const char *program; /* its folder tells where the models are */

struct bench {
    struct model model;
    struct engine_pool *pool[2]; /* practical, tight */
    struct engine *engine[2];
};

static bool engine_ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    for (size_t i = 0; i < n; i++)
        engine_evaluate(context, evaluations[i]);
    return true;
}

static int64_t no_time(void *context)
{
    (void)context;
    return 0;
}

static void bench_open(struct bench *bench, const char *name)
{
    char path[1024];
    struct error error = {0};
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*s/../../models/%s.so", slash ? (int)(slash - program) : 1,
             slash ? program : ".", name);
    const struct ode_options options[2] = {{.rtol = 1e-7, .atol = 1e-10}, {.rtol = 1e-10, .atol = 1e-14}}; /* first: default */
    if (model_load(&bench->model, path, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (int k = 0; k < 2; k++) {
        bench->pool[k] = engine_pool_new(&bench->model, &options[k], 1, 1, &error);
        assert_non_null(bench->pool[k]);
        bench->engine[k] = engine_new(bench->pool[k], &error);
        assert_non_null(bench->engine[k]);
    }
}

static void bench_close(struct bench *bench)
{
    for (int k = 0; k < 2; k++) {
        engine_free(bench->engine[k]);
        engine_pool_free(bench->pool[k]);
    }
    model_unload(&bench->model);
}

static void use_engine(struct fit_case *self, struct bench *bench, int which)
{
    self->model = bench->model;
    self->host = (struct fit_host){.ask = engine_ask, .elapsed_ns = no_time, .context = bench->engine[which]};
}

/* The objective at `parameter`, integrated tightly. */
static double judge(struct fit_case *self, struct bench *bench, const double *parameter)
{
    memcpy(self->start, parameter, self->problem.n_parameter * sizeof *parameter);
    use_engine(self, bench, 1);
    self->options.max_evaluations = 1;
    double f = case_run(self)->objective;
    self->options.max_evaluations = 1000;
    return f;
}

/* Rows time by time, all observables at each. */
static void lay_out(struct fit_case *self, const double *time, size_t n_time, size_t n_observable)
{
    self->task.n_time = n_time;
    memcpy(self->time, time, n_time * sizeof *time);
    for (size_t i = 0; i < self->task.n_row; i++) {
        self->row_time[i] = (uint32_t)(i / n_observable);
        self->row_observable[i] = (uint32_t)(i % n_observable);
    }
}

static void test_alpha_pinene(void **state)
{
    (void)state;
    static const double time[] = {1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420};
    static const double y[5][8] = {{88.35, 76.4, 65.1, 50.4, 37.5, 25.9, 14.0, 4.5},
                                   {7.3, 15.6, 23.1, 32.9, 42.7, 49.1, 57.4, 63.1},
                                   {2.3, 4.5, 5.3, 6.0, 6.0, 5.9, 5.1, 3.8}, {0.4, 0.7, 1.1, 1.5, 1.9, 2.2, 2.6, 2.9},
                                   {1.75, 2.8, 5.8, 9.3, 12.0, 17.0, 21.0, 25.7}};
    /* SciPy 1.10, BDF and LSODA at rtol 1e-8 */
    static const double optimum[5] = {5.92585e-05, 2.96340e-05, 2.04728e-05, 2.74468e-04, 3.99795e-05};
    struct bench bench;
    bench_open(&bench, "alpha-pinene");
    struct fit_case *self = case_new(&bench.model.abi, 40);
    lay_out(self, time, 8, 5);
    for (size_t i = 0; i < 40; i++)
        self->value[i] = y[i % 5][i / 5];
    for (int i = 0; i < 5; i++) {
        self->start[i] = 1e-4;
        self->scale[i] = SCALE_LOG;
    }
    use_engine(self, &bench, 0);
    const struct fit_record *result = case_run(self);
    printf("alpha-pinene: %s, %d evaluations, sum of squares %.8f\n", outcome_name(result->outcome),
           (int)result->n_evaluation, 2 * result->objective);
    assert_int_equal(result->outcome, OUTCOME_converged);
    assert_true(fabs(2 * result->objective - 19.8722) < 5e-5); /* 4 digits after the point */
    for (int i = 0; i < 5; i++)
        assert_true(fabs(result->parameter[i] / optimum[i] - 1) < 5e-4); /* 3 significant digits */
    case_free(self);
    bench_close(&bench);
}

static void test_robertson(void **state)
{
    (void)state;
    enum { N_SET = 20, N_TIME = 12 };
    double time[N_TIME];
    struct bench bench;
    int64_t n_evaluation = 0;
    for (int i = 0; i < N_TIME; i++)
        time[i] = 0.04 * pow(10, 0.55 * i);
    bench_open(&bench, "robertson");
    for (uint64_t set = 0; set < N_SET; set++) {
        struct fit_case *self = case_new(&bench.model.abi, 3 * N_TIME);
        lay_out(self, time, N_TIME, 3);
        struct evaluation evaluation = {.task = &self->task, .p = self->start, .max_steps = 100000,
                                        .deadline_ns = INT64_MAX, .prediction = self->value};
        for (uint64_t i = 0; i < 3; i++)
            self->start[i] = (double[]){0.04, 1e4, 3e7}[i] * exp(0.2 * random_normal(1, set, i));
        engine_evaluate(bench.engine[1], &evaluation);
        assert_int_equal(evaluation.outcome, EVALUATION_OK);
        for (uint64_t i = 0; i < 3 * N_TIME; i++) {
            self->sigma[i] = 0.02;
            self->value[i] += 0.02 * random_normal(2, set, i);
        }
        double truth[3], found[3];
        memcpy(truth, self->start, sizeof truth);
        for (uint64_t i = 0; i < 3; i++) {
            self->scale[i] = SCALE_LOG10;
            self->start[i] = (double[]){0.04, 1e4, 3e7}[i] * pow(10, 0.3 * random_normal(3, set, i));
        }
        use_engine(self, &bench, 0);
        const struct fit_record *result = case_run(self);
        assert_int_equal(result->outcome, OUTCOME_converged);
        n_evaluation += result->n_evaluation;
        memcpy(found, result->parameter, sizeof found);
        double f = judge(self, &bench, found);
        /* the reference: from the truth, all tight */
        memcpy(self->start, truth, sizeof truth);
        double reference = case_run(self)->objective;
        if (getenv("VERBOSE"))
            printf("set %d: excess %.1e\n", (int)set, f / reference - 1);
        assert_true(f <= reference * (1 + 1e-6)); /* what users are promised */
        case_free(self);
    }
    printf("robertson: %.1f evaluations per fit\n", (double)n_evaluation / N_SET);
    bench_close(&bench);
}

int main(int argc, char **argv)
{
    (void)argc;
    program = argv[0];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alpha_pinene), cmocka_unit_test(test_robertson)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
