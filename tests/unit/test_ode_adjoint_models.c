/* Adjoint gradients against forward sensitivities contracted with the same weights: on the models in models/, on
 * reaction networks with some hundred parameters, and with every linear solver. Separate from test_ode_adjoint.c, which
 * has what can be known in closed form, and the engine's promises.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

#include "../level.h"
#include "../../scripts/bench/bench_ode_network.h"

enum { MAX_TIME = 200, MAX_PARAMETER = 32 };

/* Of the sum over measurements of |weight x derivative|, in units of rtol. Both sides have errors of their own; the
 * largest difference that was measured is 80 (van der Pol, which multiplies any phase error), most are below 5. */
#define WITHIN 300.0

struct request {
    struct evaluation_adjoint adjoint;
    double *by_prediction, *by_noise, *gradient;
};

/* Weights that do not depend on the predictions, of either sign: the gradient is a plain contraction. */
static double weight_of(size_t i, bool noise) { return sin(1.7 * (double)i + (noise ? 0.4 : 1.1)); }

static bool weigh(void *context, const struct evaluation *evaluation)
{
    struct request *r = context;
    for (size_t i = 0; i < evaluation->task->n_row; i++) {
        r->by_prediction[i] = weight_of(i, false);
        r->by_noise[i] = weight_of(i, true);
    }
    return true;
}

/* Runs the case both ways and compares. */
static void compare_ways(struct ode_case *c, double within, const char *what)
{
    size_t n_row = c->n_row, n_sens = c->evaluation.n_sens;
    struct request r = {.by_prediction = malloc(n_row * sizeof(double)), .by_noise = malloc(n_row * sizeof(double)),
                        .gradient = calloc(n_sens, sizeof(double))};
    r.adjoint = (struct evaluation_adjoint){.weigh = weigh, .context = &r, .by_prediction = r.by_prediction,
                                            .by_noise = r.by_noise, .gradient = r.gradient};
    ode_case_run(c);
    double *expected = calloc(n_sens, sizeof(double)), *size = calloc(n_sens, sizeof(double));
    for (size_t k = 0; k < n_sens; k++)
        for (size_t i = 0; i < n_row; i++) {
            double term = weight_of(i, false) * c->d_prediction[i + k * n_row];
            double noise = c->noise ? weight_of(i, true) * c->d_noise[i + k * n_row] : 0;
            expected[k] += term + noise;
            size[k] += fabs(term) + fabs(noise);
        }
    c->evaluation.adjoint = &r.adjoint;
    ode_case_run(c);
    c->evaluation.adjoint = NULL;
    for (size_t k = 0; k < n_sens; k++)
        assert_close(r.gradient[k], expected[k], within * size[k], what, k, 0);
    free(expected);
    free(size);
    free(r.by_prediction);
    free(r.by_noise);
    free(r.gradient);
}

/* What a reference's first line says, and its times. */
struct setting {
    double p[MAX_PARAMETER], covariate[4], t0, time[MAX_TIME];
    size_t n_time;
};

static double value_of(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, " %s = ", name);
    const char *at = strstr(line, key);
    if (!at)
        fail_msg("the reference does not say what %s is", name);
    return strtod(at + strlen(key), NULL);
}

static struct setting setting_of(const char *name, const struct stiffit_model *model)
{
    struct setting s = {.n_time = 0};
    char path[256], line[16384];
    snprintf(path, sizeof path, "models/%s/reference.csv", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be read: run the tests from the top folder", path);
    assert_non_null(fgets(line, sizeof line, file));
    for (uint32_t j = 0; j < model->n_parameter; j++)
        s.p[j] = value_of(line, model->parameter_name[j]);
    for (uint32_t j = 0; j < model->n_covariate; j++)
        s.covariate[j] = value_of(line, model->covariate_name[j]);
    s.t0 = value_of(line, "t0");
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file))
        s.time[s.n_time++] = strtod(line, NULL);
    fclose(file);
    return s;
}

static const double tolerances[] = {1e-6, 1e-8, 1e-10};

/* The sanitizers look at the code, not at the figures: one tolerance is enough for them but in their long form. */
static size_t n_tolerance(void)
{
#ifdef __SANITIZE_ADDRESS__
    if (!level_is_slow())
        return 1;
#endif
    return sizeof tolerances / sizeof *tolerances;
}

static void test_models(void **state)
{
    /* All but the ring modulator, which takes half a million steps; with the absolute tolerance over the relative one, and what
     * both may differ by in units of it: vdpol's phase moves by a million times any error (its mu), which adds up to some
     * 30 tolerances. */
    static const struct {
        const char *name;
        double atol, within;
    } models[] = {
        {"alpha-pinene", 1e-4, WITHIN}, {"decay", 1e-4, WITHIN}, {"hare-lynx", 1e-4, WITHIN}, {"robertson", 1e-4, WITHIN},
        {"theophylline", 1e-4, WITHIN}, {"van-der-pol", 1e-4, WITHIN}, {"vdpol", 1e-4, 3e7},
        {"chemical-akzo-nobel", 1e-4, WITHIN}, {"diurnal", 1e-4, WITHIN}, {"e5", 1e-18, WITHIN}, {"hires", 1e-4, WITHIN},
        {"oregonator", 1e-4, WITHIN}, {"pollu", 1e-12, WITHIN}, {"brusselator", 1e-4, WITHIN}, {"cusp", 1e-4, WITHIN},
        {"medical-akzo-nobel", 1e-4, WITHIN}};
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        const struct stiffit_model *model = example_model(models[m].name);
        struct setting s = setting_of(models[m].name, model);
        for (size_t i = 0; i < n_tolerance(); i++) {
            if (models[m].within * tolerances[i] > 0.1) /* that would say nothing */
                continue;
            struct ode_options options = {.rtol = tolerances[i], .atol = models[m].atol * tolerances[i]};
            struct ode_case c;
            ode_case_init(&c, model, &options, 1, s.p, s.covariate, s.t0, s.n_time, s.time);
            compare_ways(&c, models[m].within * tolerances[i], models[m].name);
            ode_case_fini(&c);
        }
    }
}

static const double network_times[] = {0, 0.01, 0.1, 0.5, 1, 2, 4, 6, 8, 10};
enum { N_NETWORK_TIME = sizeof network_times / sizeof *network_times };

static void try_network(const struct stiffit_model *model, int linear_solver, double rtol, size_t stride)
{
    double p[400];
    struct ode_options options = {.rtol = rtol, .atol = 1e-3 * rtol, .linear_solver = linear_solver};
    struct ode_case c;
    for (size_t j = 0; j < model->n_parameter; j++)
        p[j] = network_start(j);
    ode_case_init(&c, model, &options, 1, p, NULL, 0, N_NETWORK_TIME, network_times);
    c.evaluation.n_sens = model->n_parameter / stride;
    for (size_t k = 0; k < c.evaluation.n_sens; k++)
        c.sens[k] = (uint32_t)(k * stride);
    compare_ways(&c, WITHIN * rtol, "network");
    ode_case_fini(&c);
}

static void test_networks(void **state)
{
    static const size_t sizes[][2] = {{50, 300}, {5, 200}, {2, 3}, {9, 40}};
    static uint8_t use[400];
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct stiffit_model model = network_model(sizes[k][0], sizes[k][1], use);
        for (size_t i = 0; i < n_tolerance(); i++)
            try_network(&model, LINEAR_AUTO, tolerances[i], 1);
        try_network(&model, LINEAR_AUTO, 1e-8, 3); /* some of the parameters */
    }
}

/* The network's Jacobian in sparse form, its pattern found by trying. */
static int32_t sparse_start[32], sparse_row[400];

static int sparse(const struct stiffit_point *at, double *values)
{
    double full[400];
    network_jacobian(at, full);
    for (size_t j = 0; j < network_n; j++)
        for (int32_t k = sparse_start[j]; k < sparse_start[j + 1]; k++)
            values[k] = full[(size_t)sparse_row[k] + j * network_n];
    return STIFFIT_OK;
}

static void test_linear_solvers(void **state)
{
    static uint8_t use[400];
    double y[20], full[400], p[30];
    (void)state;
    struct stiffit_model model = network_model(20, 30, use);
    for (size_t j = 0; j < 30; j++)
        p[j] = 1;
    for (size_t i = 0; i < 20; i++)
        y[i] = 1 + 0.1 * (double)i;
    network_jacobian(&(struct stiffit_point){.y = y, .p = p}, full);
    for (size_t j = 0; j < 20; j++) {
        sparse_start[j] = (int32_t)model.n_nonzero;
        for (size_t i = 0; i < 20; i++)
            if (full[i + j * 20] != 0)
                sparse_row[model.n_nonzero++] = (int32_t)i;
    }
    sparse_start[20] = (int32_t)model.n_nonzero;
    model.jacobian_sparse = sparse;
    model.column_start = sparse_start;
    model.row_index = sparse_row;
    for (int kind = LINEAR_DENSE; kind <= LINEAR_KLU; kind++)
        try_network(&model, kind, 1e-8, 1);
    model.jacobian = NULL;
    try_network(&model, LINEAR_DENSE, 1e-8, 1);
    model.jacobian_sparse = NULL; /* differences of the right-hand side, everywhere */
    model.rhs_parameter = model.observe_state = model.observe_parameter = NULL;
    try_network(&model, LINEAR_DENSE, 1e-6, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models), cmocka_unit_test(test_networks),
                                       cmocka_unit_test(test_linear_solvers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
