/* libstiffit through its public header: evaluations against closed forms and differences, fits,
 * errors as values, two models in two threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include <math.h>
#include <pthread.h>
#include <stiffit/stiffit.h>

static const char decay[] = "parameter k = 0.5 in [1e-3, 1e3] scale log\n"
                            "parameter A = 2 in [1e-3, 1e3]\n"
                            "y(0) = A\ny' = -k*y\nobserve y, double = 2*y\n";
/* The integrator's rtol is 1e-7, an error a step; a trajectory of some hundred steps may have ten
 * times as much. */
#define ODE_ERROR 1e-6

static struct stiffit_error error;

static struct stiffit_system *parse(const char *text)
{
    struct stiffit_system *system;
    int code = stiffit_system_parse(&system, text, &error);
    if (code)
        fail_msg("%s", error.message);
    assert_int_equal(error.code, 0);
    assert_string_equal(error.message, "");
    return system;
}

static struct stiffit_problem *problem_of(const struct stiffit_system *system)
{
    struct stiffit_problem *problem;
    assert_int_equal(stiffit_problem_new(&problem, system, &error), 0);
    return problem;
}

static void assert_close(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * (fabs(expected) + 1e-12)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void assert_refused(int code, enum stiffit_code expected, const char *word)
{
    assert_int_equal(code, expected);
    assert_int_equal(error.code, expected);
    if (!strstr(error.message, word))
        fail_msg("\"%s\" does not say %s", error.message, word);
}

static void test_names(void **state)
{
    (void)state;
    struct stiffit_system *system = parse(decay);
    assert_int_equal(stiffit_system_count(system, STIFFIT_STATES), 1);
    assert_int_equal(stiffit_system_count(system, STIFFIT_PARAMETERS), 2);
    assert_int_equal(stiffit_system_count(system, STIFFIT_COVARIATES), 0);
    assert_string_equal(stiffit_system_item(system, STIFFIT_OBSERVABLES, 1), "double");
    assert_null(stiffit_system_item(system, STIFFIT_PARAMETERS, 2));
    struct stiffit_problem *problem = problem_of(system);
    struct stiffit_parameter k;
    assert_int_equal(stiffit_problem_n_parameter(problem), 2);
    assert_int_equal(stiffit_problem_n_dataset(problem), 1);
    assert_int_equal(stiffit_get_parameter(problem, 0, &k, &error), 0);
    assert_string_equal(k.name, "k");
    assert_string_equal(k.scale, "log");
    assert_true(k.start == 0.5 && k.lower == 1e-3 && k.upper == 1e3 && !k.fixed);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
    assert_int_equal(strspn(stiffit_version(), "0123456789."), strlen(stiffit_version()));
}

/* Times in any order and repeated; y = A exp(-k t), and its derivatives. */
static void test_closed_form(void **state)
{
    (void)state;
    static const double time[] = {3, 0, 1, 3, 7.5}, p[] = {0.3, 5};
    double prediction[5][2], sensitivity[5][2][2], plain[5][2];
    struct stiffit_system *system = parse(decay);
    struct stiffit_problem *problem = problem_of(system);
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 5, time, p, prediction[0], sensitivity[0][0],
                                      &error), 0);
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 5, time, p, plain[0], NULL, NULL), 0);
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 2; k++) {
            double y = (double)(1 + k) * p[1] * exp(-p[0] * time[i]);
            assert_close(prediction[i][k], y, ODE_ERROR);
            assert_close(plain[i][k], y, ODE_ERROR);
            assert_close(sensitivity[i][k][0], -time[i] * y, ODE_ERROR * 10);
            assert_close(sensitivity[i][k][1], y / p[1], ODE_ERROR);
        }
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 0, NULL, p, NULL, NULL, &error), 0);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
}

/* A covariate, an input and doses, one of them repeated and given out of order. */
static void test_what_happens(void **state)
{
    (void)state;
    static const char text[] = "parameter k = 0.1\ncovariate w\ninput u\n"
                               "c(0) = w\nc' = u - k*c\nobserve c\n";
    static const double knot[] = {0, 4}, level[] = {0, 2}, time[] = {1, 3, 4, 6}, p[] = {0.2};
    double c[4], slope[4], up[4], down[4];
    struct stiffit_system *system = parse(text);
    struct stiffit_problem *problem = problem_of(system);
    const struct stiffit_dose late = {.target = "c", .time = 3, .amount = 5},
                              twice = {.target = "c", .amount = 1, .interval = 2, .count = 2};
    assert_refused(stiffit_evaluate(problem, 0, 0, 4, time, p, c, NULL, &error),
                   STIFFIT_BAD_PROBLEM, "covariate w");
    assert_int_equal(stiffit_set_covariate(problem, "w", 10, &error), 0);
    assert_refused(stiffit_evaluate(problem, 0, 0, 4, time, p, c, NULL, &error),
                   STIFFIT_BAD_PROBLEM, "input u");
    assert_int_equal(stiffit_set_input(problem, "u", 2, knot, level, &error), 0);
    assert_int_equal(stiffit_add_dose(problem, &late, &error), 0);
    assert_int_equal(stiffit_add_dose(problem, &twice, &error), 0);
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 4, time, p, c, slope, &error), 0);
    for (size_t i = 0; i < 4; i++) {
        double t = time[i], k = p[0], expected = 11 * exp(-k * t);
        expected += t > 2 ? exp(-k * (t - 2)) : 0; /* doses come after measurements */
        expected += t > 3 ? 5 * exp(-k * (t - 3)) : 0;
        expected += t > 4 ? 2 / k * (1 - exp(-k * (t - 4))) : 0;
        assert_close(c[i], expected, ODE_ERROR);
    }
    const double h = 1e-4, above[] = {p[0] + h}, below[] = {p[0] - h};
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 4, time, above, up, NULL, &error), 0);
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 4, time, below, down, NULL, &error), 0);
    for (size_t i = 0; i < 4; i++) /* the integrator's error over 2 h */
        assert_close((up[i] - down[i]) / (2 * h), slope[i], 1e-2);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
}

enum { N_POINT = 12 };

/* Exact data of y = 3 exp(-0.2 t). */
static void measure(struct stiffit_problem *problem)
{
    double time[N_POINT], value[N_POINT], sigma[N_POINT];
    for (int i = 0; i < N_POINT; i++) {
        time[i] = 0.5 * (N_POINT - i);
        value[i] = 3 * exp(-0.2 * time[i]);
        sigma[i] = 0.01;
    }
    value[5] = NAN; /* missing */
    assert_int_equal(stiffit_add_measurements(problem, "y", N_POINT, time, value, sigma, &error),
                     0);
}

static void test_fit(void **state)
{
    (void)state;
    struct stiffit_system *system = parse(decay);
    struct stiffit_problem *problem = problem_of(system);
    struct stiffit_record *record;
    measure(problem);
    assert_int_equal(stiffit_fit(problem, 0, &record, &error), 0);
    assert_true(stiffit_record_is_success(record));
    assert_string_equal(stiffit_record_word(record, "status", 0), "converged");
    assert_string_equal(stiffit_record_reason(record), "");
    assert_close(stiffit_record_number(record, "parameters", 0), 0.2, 1e-5);
    assert_close(stiffit_record_number(record, "parameters", 1), 3, 1e-5);
    assert_true(stiffit_record_number(record, "degrees_of_freedom", 0) == N_POINT - 1 - 2);
    assert_true(isnan(stiffit_record_number(record, "parameters", 2)));
    assert_true(isnan(stiffit_record_number(record, "no such column", 0)));
    assert_true(isnan(stiffit_record_number(record, NULL, 0)));
    assert_null(stiffit_record_word(record, "objective", 0));
    struct stiffit_column column;
    size_t n = 0, n_number = 0;
    for (; stiffit_record_column(record, n, &column); n++)
        for (size_t i = 0; i < column.n; i++, n_number++)
            assert_true(column.has_words == (stiffit_record_word(record, column.name, i) != NULL));
    assert_true(n > 30 && n_number > n);
    stiffit_record_free(record);

    /* Options and parameters may change, and the next fit has them. */
    struct stiffit_parameter k = {.name = "k", .start = 0.3, .lower = 1e-3, .upper = 10,
                                  .scale = "log", .fixed = 1};
    assert_int_equal(stiffit_set_parameter(problem, &k, &error), 0);
    assert_int_equal(stiffit_set_option(problem, "engine", "cvodes", &error), 0);
    assert_int_equal(stiffit_fit(problem, 0, &record, &error), 0);
    assert_true(stiffit_record_number(record, "parameters", 0) == 0.3);
    assert_string_equal(stiffit_record_word(record, "error_missing", 0), "fixed");
    stiffit_record_free(record);

    /* Objective and gradient at the start: half the sum of squares of 11 residuals. */
    k.fixed = 0;
    assert_int_equal(stiffit_set_parameter(problem, &k, &error), 0);
    assert_int_equal(stiffit_set_option(problem, "evaluate", "yes", &error), 0);
    assert_int_equal(stiffit_fit(problem, 0, &record, &error), 0);
    double f = 0, slope = 0;
    for (int i = 0; i < N_POINT; i++) {
        double t = 0.5 * (N_POINT - i), r = (2 * exp(-0.3 * t) - 3 * exp(-0.2 * t)) / 0.01;
        f += i == 5 ? 0 : 0.5 * r * r;
        slope += i == 5 ? 0 : r * -t * 2 * exp(-0.3 * t) / 0.01;
    }
    assert_close(stiffit_record_number(record, "objective", 0), f, ODE_ERROR);
    assert_close(stiffit_record_number(record, "objective_gradient", 0), slope, ODE_ERROR);
    stiffit_record_free(record);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
}

static void test_errors_of_models(void **state)
{
    (void)state;
    struct stiffit_system *system = (struct stiffit_system *)&error;
    char path[CASE_PATH];
    assert_refused(stiffit_system_open(&system, "/no/such.ode", &error), STIFFIT_SYSTEM_ERROR,
                   "/no/such.ode");
    assert_null(system);
    assert_refused(stiffit_system_parse(&system, "y' = -k*y\nobserve y\n", &error),
                   STIFFIT_BAD_MODEL, "initial value");
    assert_refused(stiffit_system_open(&system, NULL, &error), STIFFIT_USAGE, "NULL");
    assert_refused(stiffit_system_open(&system, case_path(path, "tests/zoo/wrong_abi.so"), &error),
                   STIFFIT_BAD_MODEL, "wrong_abi.so");
    assert_int_equal(stiffit_system_parse(&system, "nonsense", NULL), STIFFIT_BAD_MODEL);
    stiffit_system_close(NULL);
    stiffit_problem_free(NULL);
    stiffit_record_free(NULL);
}

static void test_errors_of_problems(void **state)
{
    (void)state;
    static const double time[] = {1, 2, 3}, before[] = {-1}, none[] = {NAN};
    double value[] = {1, NAN, 2}, bad[] = {0.1, 0.1, -1}, out[6], slopes[12];
    struct stiffit_system *system = parse(decay);
    struct stiffit_problem *problem = problem_of(system);
    struct stiffit_record *record = (struct stiffit_record *)&error;
    assert_refused(stiffit_fit(problem, 0, &record, &error), STIFFIT_BAD_PROBLEM, "no measurement");
    assert_null(record);
    assert_refused(stiffit_fit(problem, 1, &record, &error), STIFFIT_USAGE, "dataset 1");
    assert_refused(stiffit_evaluate(problem, 0, 1, 3, time, NULL, out, NULL, &error), STIFFIT_USAGE,
                   "experiment 1");
    assert_refused(stiffit_evaluate(problem, 0, 0, 1, before, NULL, out, NULL, &error),
                   STIFFIT_USAGE, "before t0");
    assert_refused(stiffit_evaluate(problem, 0, 0, 1, none, NULL, out, NULL, &error),
                   STIFFIT_USAGE, "nan");
    assert_refused(stiffit_evaluate(problem, 0, 0, 3, time, (const double[]){1, NAN}, out, slopes,
                                    &error), STIFFIT_USAGE, "parameter A is nan");
    assert_refused(stiffit_evaluate(problem, 0, 0, 3, NULL, NULL, out, NULL, &error), STIFFIT_USAGE,
                   "NULL");
    assert_refused(stiffit_add_measurements(problem, NULL, 3, time, value, NULL, &error),
                   STIFFIT_USAGE, "observable");
    assert_refused(stiffit_add_measurements(problem, "yy", 3, time, value, NULL, &error),
                   STIFFIT_USAGE, "yy");
    assert_refused(stiffit_set_option(problem, "rtoll", "1e-8", &error), STIFFIT_USAGE, "rtol");
    assert_refused(stiffit_set_option(problem, "bootstrap", "100", &error), STIFFIT_USAGE,
                   "stiffit run");
    assert_refused(stiffit_set_option(problem, "rtol", "2", &error), STIFFIT_USAGE, "rtol");
    assert_refused(stiffit_set_covariate(problem, "w", 1, &error), STIFFIT_USAGE, "no covariate");
    assert_refused(stiffit_add_dose(problem, &(struct stiffit_dose){.target = "y", .time = NAN},
                                    &error), STIFFIT_USAGE, "time is nan");
    struct stiffit_dose still = {.target = "y", .time = 1, .amount = 1, .interval = 1e-20,
                                 .count = 4000000000};
    assert_refused(stiffit_add_dose(problem, &still, &error), STIFFIT_USAGE, "does not change");
    struct stiffit_parameter k = {.name = "k", .start = 0.3, .lower = 2, .upper = 1};
    assert_refused(stiffit_set_parameter(problem, &k, &error), STIFFIT_USAGE, "above its upper");
    assert_refused(stiffit_set_parameter(problem, NULL, &error), STIFFIT_USAGE, "NULL");
    assert_refused(stiffit_add_dose(problem, NULL, &error), STIFFIT_USAGE, "NULL");
    assert_refused(stiffit_get_parameter(problem, 2, &k, &error), STIFFIT_USAGE, "parameter 2");
    assert_int_equal(stiffit_add_measurements(problem, "y", 3, time, value, bad, &error), 0);
    assert_refused(stiffit_fit(problem, 0, &record, &error), STIFFIT_BAD_PROBLEM, "sigma is -1");
    stiffit_problem_free(problem);
    problem = problem_of(system);
    k = (struct stiffit_parameter){.name = "k", .start = NAN, .lower = 0, .upper = 1};
    assert_int_equal(stiffit_set_parameter(problem, &k, &error), 0);
    assert_int_equal(stiffit_add_measurements(problem, "y", 3, time, value, NULL, &error), 0);
    assert_refused(stiffit_fit(problem, 0, &record, &error), STIFFIT_BAD_PROBLEM, "start of k");
    stiffit_problem_free(problem);
    assert_refused(stiffit_problem_open(&problem, "/no/such.h5", NULL, &error),
                   STIFFIT_SYSTEM_ERROR, "/no/such.h5");
    assert_null(problem);
    stiffit_system_close(system);
}

/* The trajectory ends in finite time: y = 1/(1/A - t). */
/* Every pointer of every function. */
static void test_null_arguments(void **state)
{
    (void)state;
    struct stiffit_system *system = parse(decay), *other = system;
    struct stiffit_problem *problem = problem_of(system), *made = problem;
    struct stiffit_record *record = NULL;
    struct stiffit_parameter parameter;
    struct stiffit_column column;
    const struct stiffit_dose dose = {.target = "y", .amount = 1}, aimless = {.amount = 1};
    const struct stiffit_parameter nameless = {.lower = 0, .upper = 1};
    const double one[] = {1};
    double prediction[2];
#define NULL_IS_REFUSED(call, word) \
    assert_refused(call, STIFFIT_USAGE, word); \
    error.code = 0
    NULL_IS_REFUSED(stiffit_system_open(NULL, "m.ode", &error), "stiffit_system_open: system is");
    NULL_IS_REFUSED(stiffit_system_open(&other, NULL, &error), "stiffit_system_open: path is NULL");
    assert_null(other);
    NULL_IS_REFUSED(stiffit_system_parse(NULL, decay, &error), "system is NULL");
    NULL_IS_REFUSED(stiffit_system_parse(&other, NULL, &error), "text is NULL");
    stiffit_system_close(NULL);
    assert_null(stiffit_system_name(NULL));
    assert_int_equal(stiffit_system_count(NULL, STIFFIT_STATES), 0);
    assert_null(stiffit_system_item(NULL, STIFFIT_STATES, 0));
    NULL_IS_REFUSED(stiffit_problem_new(NULL, system, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_problem_new(&made, NULL, &error), "system is NULL");
    assert_null(made);
    NULL_IS_REFUSED(stiffit_problem_open(NULL, "p.h5", NULL, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_problem_open(&made, NULL, NULL, &error), "path is NULL");
    stiffit_problem_free(NULL);
    assert_int_equal(stiffit_problem_n_dataset(NULL), 0);
    assert_int_equal(stiffit_problem_n_parameter(NULL), 0);
    NULL_IS_REFUSED(stiffit_get_parameter(NULL, 0, &parameter, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_get_parameter(problem, 0, NULL, &error), "parameter is NULL");
    NULL_IS_REFUSED(stiffit_set_parameter(NULL, &parameter, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_set_parameter(problem, NULL, &error), "parameter is NULL");
    NULL_IS_REFUSED(stiffit_set_parameter(problem, &nameless, &error), "NULL");
    NULL_IS_REFUSED(stiffit_add_measurements(NULL, "y", 1, one, one, NULL, &error), "problem is");
    NULL_IS_REFUSED(stiffit_add_measurements(problem, NULL, 1, one, one, NULL, &error), "NULL");
    NULL_IS_REFUSED(stiffit_add_measurements(problem, "y", 1, NULL, one, NULL, &error), "NULL");
    NULL_IS_REFUSED(stiffit_add_measurements(problem, "y", 1, one, NULL, NULL, &error), "NULL");
    NULL_IS_REFUSED(stiffit_set_t0(NULL, 0, &error), "stiffit_set_t0: problem is NULL");
    NULL_IS_REFUSED(stiffit_set_covariate(NULL, "w", 1, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_set_covariate(problem, NULL, 1, &error), "NULL");
    NULL_IS_REFUSED(stiffit_set_input(NULL, "u", 1, one, one, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_set_input(problem, NULL, 1, one, one, &error), "NULL");
    NULL_IS_REFUSED(stiffit_add_dose(NULL, &dose, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_add_dose(problem, NULL, &error), "dose is NULL");
    NULL_IS_REFUSED(stiffit_add_dose(problem, &aimless, &error), "NULL");
    NULL_IS_REFUSED(stiffit_set_option(NULL, "rtol", "1e-9", &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_set_option(problem, NULL, "1e-9", &error), "name is NULL");
    NULL_IS_REFUSED(stiffit_set_option(problem, "rtol", NULL, &error), "value is NULL");
    NULL_IS_REFUSED(stiffit_evaluate(NULL, 0, 0, 1, one, NULL, prediction, NULL, &error),
                    "problem is NULL");
    NULL_IS_REFUSED(stiffit_evaluate(problem, 0, 0, 1, NULL, NULL, prediction, NULL, &error),
                    "time or prediction is NULL");
    NULL_IS_REFUSED(stiffit_evaluate(problem, 0, 0, 1, one, NULL, NULL, NULL, &error),
                    "time or prediction is NULL");
    NULL_IS_REFUSED(stiffit_fit(NULL, 0, &record, &error), "problem is NULL");
    NULL_IS_REFUSED(stiffit_fit(problem, 0, NULL, &error), "record is NULL");
#undef NULL_IS_REFUSED
    assert_int_equal(stiffit_fit(NULL, 0, NULL, NULL), STIFFIT_USAGE); /* no error is wanted */
    stiffit_record_free(NULL);
    assert_int_equal(stiffit_record_is_success(NULL), 0);
    assert_null(stiffit_record_reason(NULL));
    assert_int_equal(stiffit_record_column(NULL, 0, &column), 0);
    assert_true(isnan(stiffit_record_number(NULL, "objective", 0)));
    assert_null(stiffit_record_word(NULL, "status", 0));
    /* The problem is as it was. */
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 1, one, NULL, prediction, NULL, NULL), 0);
    assert_close(prediction[0], 2 * exp(-0.5), ODE_ERROR);
    assert_int_equal(stiffit_set_option(problem, "evaluate", "yes", &error), 0);
    assert_int_equal(stiffit_add_measurements(problem, "y", 1, one, one, NULL, &error), 0);
    assert_int_equal(stiffit_fit(problem, 0, &record, &error), 0);
    assert_int_equal(stiffit_record_column(record, 0, NULL), 0);
    assert_true(isnan(stiffit_record_number(record, NULL, 0)));
    assert_null(stiffit_record_word(record, NULL, 0));
    stiffit_record_free(record);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
}

static void test_model_that_fails(void **state)
{
    (void)state;
    static const double time[] = {0.5, 2}, value[] = {2, 5};
    double out[2];
    struct stiffit_system *system = parse("parameter A = 1 in [0.9, 1.1]\n"
                                          "y(0) = A\ny' = y*y\nobserve y\n");
    struct stiffit_problem *problem = problem_of(system);
    struct stiffit_record *record;
    assert_int_equal(stiffit_evaluate(problem, 0, 0, 1, time, NULL, out, NULL, &error), 0);
    assert_close(out[0], 2, 4 * ODE_ERROR); /* an early error grows by (y/A)^2 */
    assert_refused(stiffit_evaluate(problem, 0, 0, 2, time, NULL, out, NULL, &error),
                   STIFFIT_FAILED, "t = ");
    assert_int_equal(stiffit_add_measurements(problem, NULL, 2, time, value, NULL, &error), 0);
    assert_int_equal(stiffit_fit(problem, 0, &record, &error), 0);
    assert_false(stiffit_record_is_success(record));
    assert_string_equal(stiffit_record_word(record, "status", 0), "ode_failed");
    assert_string_not_equal(stiffit_record_reason(record), "");
    stiffit_record_free(record);
    stiffit_problem_free(problem);
    stiffit_system_close(system);
}

/* A thread with its own problem. */
struct job {
    const struct stiffit_system *system;
    double exponent, found[20];
    int code;
};

static void *work(void *argument)
{
    struct job *job = argument;
    double time[N_POINT], value[N_POINT];
    for (int i = 0; i < N_POINT; i++) {
        time[i] = 0.5 * i;
        value[i] = 3 * exp(-job->exponent * time[i]);
    }
    for (size_t k = 0; k < sizeof job->found / sizeof *job->found && !job->code; k++) {
        struct stiffit_problem *problem;
        struct stiffit_record *record = NULL;
        job->code = stiffit_problem_new(&problem, job->system, NULL);
        if (!job->code)
            job->code = stiffit_add_measurements(problem, NULL, N_POINT, time, value, NULL, NULL);
        if (!job->code)
            job->code = stiffit_fit(problem, 0, &record, NULL);
        job->found[k] = job->code ? NAN : stiffit_record_number(record, "parameters", 0);
        stiffit_record_free(record);
        stiffit_problem_free(problem);
    }
    return NULL;
}

static void test_two_models_in_threads(void **state)
{
    (void)state;
    struct stiffit_system *one = parse("parameter k = 1\ny(0) = 3\ny' = -k*y\nobserve y\n"),
                          *other = parse("parameter r = 1\ny(0) = 3\nz(0) = 0\n"
                                         "y' = -2*r*y\nz' = 2*r*y\nobserve y\n");
    struct job job[] = {{.system = one, .exponent = 0.2},
                        {.system = other, .exponent = 0.2},
                        {.system = one, .exponent = 0.3}};
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &job[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    static const double expected[] = {0.2, 0.1, 0.3};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(job[i].code, 0);
        assert_close(job[i].found[0], expected[i], 1e-5);
        for (int k = 1; k < 20; k++)
            assert_true(job[i].found[k] == job[i].found[0]);
    }
    stiffit_system_close(one);
    stiffit_system_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_what_happens),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_errors_of_models),
        cmocka_unit_test(test_errors_of_problems),
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_model_that_fails),
        cmocka_unit_test(test_two_models_in_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
