/* Predictions and synthetic data of y' = -k y, y(0) = A, against A exp(-k t), and draws against their distribution.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "use/simulate.h"

#include <math.h>

static struct model decay; /* parameters k, A */

static void load(void)
{
    char path[CASE_PATH];
    struct error error;
    if (model_load(&decay, case_model_path(path, "decay"), NULL, &error))
        fail_msg("%s", error.message);
}

static void rows_in_any_order(void **state)
{
    const double p[] = {0.7, 2.5};
    double time[] = {3, 0.5, 3, -1, 2, 0};
    uint32_t observable[6] = {0};
    const struct predictor_rows rows = {.experiment.t0 = -1, .p = p, .n = 6,
                                        .measured = {.time = time, .observable = observable}};
    const struct ode_options options = {.rtol = 1e-9};
    struct predictor predictor;
    struct error error;
    double prediction[6], noise[6];
    char reason[160];
    (void)state;
    load();
    assert_int_equal(predictor_init(&predictor, &decay, &options, 100000, &error), STATUS_OK);
    assert_true(predictor_run(&predictor, &rows, prediction, noise, reason));
    for (int i = 0; i < 6; i++) { /* CVODES' global error: some hundred times the tolerance of a step */
        double exact = p[1] * exp(-p[0] * (time[i] + 1));
        if (!(fabs(prediction[i] - exact) <= 1e-7 * exact))
            fail_msg("at %g: %.17g, not %.17g", time[i], prediction[i], exact);
        assert_true(isnan(noise[i])); /* the model has none */
    }
    assert_true(prediction[0] == prediction[2]);
    predictor_fini(&predictor);
    model_unload(&decay);
}

static struct simulate_options example_options(void)
{
    return (struct simulate_options){.t0 = NAN, .seed = 7, .ode = {.rtol = 1e-9}, .times = "0,0.5,1:3:1"};
}

static void tables_are_predictions(void **state)
{
    static const double times[] = {0, 0.5, 1, 2, 3};
    struct simulate_options options = example_options();
    struct simulate_made made;
    struct output output = {.file = NULL};
    struct error error;
    char path[] = "/tmp/stiffit-test-XXXXXX", line[200];
    const char *item = "k=0.9";
    (void)state;
    load();
    close(mkstemp(path));
    options.files.output = path;
    options.overwrite = true;
    options.set = (struct option_list){&item, 1};
    if (simulate_table(&options, &decay, &output, &made, &error) || output_finish(&output, &error))
        fail_msg("%s", error.message);
    assert_int_equal(made.n_row, 5);
    assert_int_equal(made.n_lost, 0);
    FILE *file = fopen(path, "r");
    assert_string_equal(fgets(line, sizeof line, file), "dataset,time,observable,value\n");
    for (int i = 0; i < 5; i++) {
        double time, value;
        assert_int_equal(fscanf(file, "simulated,%lf,y,%lf\n", &time, &value), 2);
        assert_true(time == times[i] && fabs(value - exp(-0.9 * time)) <= 1e-7);
    }
    fclose(file);
    unlink(path);
    model_unload(&decay);
}

/* Logarithms of true parameters on logarithmic scales are normal around the given ones: mean and variance of 4,000 lie
 * within 5 standard errors. */
static void truths_are_spread_as_asked(void **state)
{
    enum { N = 4000 };
    struct simulate_options options = example_options();
    struct simulate_made made;
    struct error error;
    char path[] = "/tmp/stiffit-test-XXXXXX", truth[100], plugin[CASE_PATH], line[200];
    double sum[2] = {0}, squares[2] = {0};
    (void)state;
    load();
    close(mkstemp(path));
    snprintf(truth, sizeof truth, "%s.csv", path);
    options.files = (struct fitted_options){.model = case_model_path(plugin, "decay"), .output = path};
    options.truth = truth;
    options.overwrite = true;
    options.n_dataset = N;
    options.spread = 0.3;
    options.noise = 0.1;
    if (simulate_synthetic(&options, &decay, &made, &error))
        fail_msg("%s", error.message);
    assert_int_equal(made.n_dataset, N);
    FILE *file = fopen(truth, "r");
    assert_string_equal(fgets(line, sizeof line, file), "dataset,k,A\n");
    for (int i = 0; i < N; i++) {
        int number;
        double p[2];
        assert_int_equal(fscanf(file, "synthetic-%d,%lf,%lf\n", &number, &p[0], &p[1]), 3);
        assert_int_equal(number, i + 1);
        for (int j = 0; j < 2; j++) {
            double z = log(p[j] / (j ? 1 : 0.5)) / 0.3;
            sum[j] += z;
            squares[j] += z * z;
        }
    }
    for (int j = 0; j < 2; j++) {
        assert_true(fabs(sum[j] / N) < 5 / sqrt(N));
        assert_true(fabs(squares[j] / N - 1) < 5 * sqrt(2.0 / N));
    }
    fclose(file);
    unlink(truth);
    unlink(path);
    model_unload(&decay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_in_any_order), cmocka_unit_test(tables_are_predictions),
                                       cmocka_unit_test(truths_are_spread_as_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
