/* Every model in models/: its evaluations against the reference trajectories (made by an independent integrator),
 * against CVODES' own forward sensitivities and against central differences of the engine's own predictions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

#include "../../scripts/bench/bench_ode_stock.h"

enum { MAX_TIME = 200, MAX_COLUMN = 64, MAX_PARAMETER = 16, MAX_STATE = 16 };

struct reference {
    double p[MAX_PARAMETER], covariate[4], t0;
    size_t n_time, n_column;
    double time[MAX_TIME], value[MAX_TIME][MAX_COLUMN];
    char header[MAX_COLUMN][64];
};

static double value_of(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = line + 1; (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && strncmp(at + length, " = ", 3) == 0)
            return strtod(at + length + 3, NULL);
    fail_msg("the reference does not say what %s is", name);
    return NAN;
}

static void read_reference(struct reference *r, const char *name, const struct stiffit_model *model)
{
    char path[256], line[16384];
    snprintf(path, sizeof path, "models/%s/reference.csv", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be read: run the tests from the top folder", path);
    assert_non_null(fgets(line, sizeof line, file));
    for (uint32_t j = 0; j < model->n_parameter; j++)
        r->p[j] = value_of(line, model->parameter_name[j]);
    for (uint32_t j = 0; j < model->n_covariate; j++)
        r->covariate[j] = value_of(line, model->covariate_name[j]);
    r->t0 = value_of(line, "t0");
    assert_non_null(fgets(line, sizeof line, file));
    r->n_column = 0;
    for (char *word = strtok(line, ",\n"); word; word = strtok(NULL, ",\n"))
        snprintf(r->header[r->n_column++], sizeof r->header[0], "%s", word);
    r->n_time = 0;
    while (fgets(line, sizeof line, file)) {
        char *at = line;
        for (size_t i = 0; i < r->n_column; i++) {
            r->value[r->n_time][i] = strtod(at, &at);
            at += *at == ',';
        }
        r->time[r->n_time] = r->value[r->n_time][0];
        r->n_time++;
    }
    fclose(file);
    assert_true(r->n_time > 1);
}

static size_t column_of(const struct reference *r, const char *header)
{
    for (size_t i = 0; i < r->n_column; i++)
        if (strcmp(r->header[i], header) == 0)
            return i;
    fail_msg("no column %s", header);
    return 0;
}

/* The model with its states as observables. */
static size_t identity_n, identity_p;
static int identity(const struct stiffit_point *at, double *h)
{
    memcpy(h, at->y, identity_n * sizeof(double));
    return 0;
}
static int identity_state(const struct stiffit_point *at, double *h)
{
    (void)at;
    for (size_t i = 0; i < identity_n * identity_n; i++)
        h[i] = i % (identity_n + 1) == 0;
    return 0;
}
static int identity_parameter(const struct stiffit_point *at, double *h)
{
    (void)at;
    memset(h, 0, identity_n * identity_p * sizeof(double));
    return 0;
}
static struct stiffit_model observed_directly(const struct stiffit_model *model)
{
    struct stiffit_model direct = *model;
    identity_n = model->n_state;
    identity_p = model->n_parameter;
    direct.n_observable = model->n_state;
    direct.observe = identity;
    direct.observe_state = identity_state;
    direct.observe_parameter = identity_parameter;
    direct.noise = NULL;
    return direct;
}

static const char *const all_models[] = {"alpha-pinene", "decay", "hare-lynx", "robertson", "theophylline",
                                         "van-der-pol"};
enum { N_MODEL = sizeof all_models / sizeof *all_models };

static const struct ode_options tight = {.rtol = 1e-10, .atol = 1e-14, .linear_solver = LINEAR_AUTO};

/* 1e-7 of a component's largest value: the references are good to about 1e-9 of it, and an integration with rtol 1e-10
 * accumulates a few hundred local errors. */
static void test_reference(void **state)
{
    static struct reference r;
    (void)state;
    for (size_t m = 0; m < N_MODEL; m++) {
        const struct stiffit_model *model = example_model(all_models[m]);
        struct stiffit_model direct = observed_directly(model);
        read_reference(&r, all_models[m], model);
        struct ode_case c;
        ode_case_init(&c, &direct, &tight, 1, r.p, r.covariate, r.t0, r.n_time, r.time);
        ode_case_run(&c);
        size_t n = model->n_state;
        for (size_t k = 0; k <= model->n_parameter; k++)
            for (size_t i = 0; i < n; i++) {
                char header[200];
                if (k == 0)
                    snprintf(header, sizeof header, "state:%s", model->state_name[i]);
                else
                    snprintf(header, sizeof header, "sensitivity:%s/%s", model->state_name[i],
                             model->parameter_name[k - 1]);
                size_t column = column_of(&r, header);
                double size = 0;
                for (size_t t = 0; t < r.n_time; t++)
                    size = fmax(size, fabs(r.value[t][column]));
                const double *ours = k == 0 ? c.prediction : c.d_prediction + (k - 1) * c.n_row;
                for (size_t t = 0; t < r.n_time; t++)
                    assert_close(ours[t * n + i], r.value[t][column], 1e-7 * size, header, m, t);
            }
        ode_case_fini(&c);
    }
}

/* Both integrate with rtol 1e-10; the stock sensitivities are under error control. 1e-6: van der Pol's
 * sensitivities grow along the limit cycle and multiply either side's phase error. */
static void test_stock(void **state)
{
    static struct reference r;
    static double out[MAX_TIME * MAX_STATE * (1 + MAX_PARAMETER)];
    (void)state;
    for (size_t m = 0; m < N_MODEL; m++) {
        const struct stiffit_model *model = example_model(all_models[m]);
        struct stiffit_model direct = observed_directly(model);
        read_reference(&r, all_models[m], model);
        struct ode_case c;
        ode_case_init(&c, &direct, &tight, 1, r.p, r.covariate, r.t0, r.n_time, r.time);
        ode_case_run(&c);
        struct stock stock;
        struct stock_options options = {.rtol = 1e-10, .atol = 1e-14, .error_control = true, .method = CV_SIMULTANEOUS};
        size_t n = model->n_state, n_parameter = model->n_parameter, width = n * (1 + n_parameter);
        assert_true(stock_init(&stock, model, r.p, r.covariate, r.t0, n_parameter, options));
        assert_int_equal(stock_run(&stock, r.n_time, r.time, out), 0);
        for (size_t j = 0; j < width; j++) {
            double size = 0;
            for (size_t t = 0; t < r.n_time; t++)
                size = fmax(size, fabs(out[t * width + j]));
            const double *ours = j < n ? c.prediction : c.d_prediction + (j / n - 1) * c.n_row;
            for (size_t t = 0; t < r.n_time; t++)
                assert_close(ours[t * n + j % n], out[t * width + j], 1e-6 * size, all_models[m], j, t);
        }
        stock_fini(&stock);
        ode_case_fini(&c);
    }
}

/* Central differences with a step of 1e-4 p: their error is about 1e-8 of truncation plus 1e-10 / 1e-4 of the
 * integration's own, in units of p d/dp; van der Pol's third derivatives are larger. */
static void test_differences(void **state)
{
    static struct reference r;
    (void)state;
    for (size_t m = 0; m < N_MODEL; m++) {
        const struct stiffit_model *model = example_model(all_models[m]);
        read_reference(&r, all_models[m], model);
        struct ode_case c;
        ode_case_init(&c, model, &tight, 1, r.p, r.covariate, r.t0, r.n_time, r.time);
        ode_case_run(&c);
        size_t n_observable = model->n_observable;
        double *up = malloc(c.n_row * sizeof *up), *exact = malloc(c.n_row * sizeof *exact);
        for (size_t k = 0; k < model->n_parameter; k++) {
            memcpy(exact, c.d_prediction + k * c.n_row, c.n_row * sizeof *exact);
            double p = r.p[k], h = 1e-4 * fabs(p);
            c.evaluation.d_prediction = NULL; /* the sensitivities stay in the error control: the same steps */
            r.p[k] = p + h;
            ode_case_run(&c);
            memcpy(up, c.prediction, c.n_row * sizeof *up);
            r.p[k] = p - h;
            ode_case_run(&c);
            r.p[k] = p;
            for (size_t o = 0; o < n_observable; o++) {
                double size = 0;
                for (size_t i = o; i < c.n_row; i += n_observable)
                    size = fmax(size, fmax(fabs(exact[i]), fabs(up[i] / p)));
                for (size_t i = o; i < c.n_row; i += n_observable)
                    assert_close(exact[i], (up[i] - c.prediction[i]) / (2 * h), 2e-5 * size, all_models[m], k, i);
            }
        }
        free(up);
        free(exact);
        ode_case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_stock),
                                       cmocka_unit_test(test_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
