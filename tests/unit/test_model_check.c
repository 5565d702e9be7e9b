/* The model check: silent on right models, exact about wrong ones.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"

#include "model/check.h"

#include <math.h>

static struct check_report *check_with(const struct model *model, const struct check_options *options)
{
    struct check_report *report = malloc(sizeof *report);
    struct error error = {0};
    assert_non_null(report);
    assert_int_equal(model_check(model, options, report, &error), STATUS_OK);
    return report;
}

static struct check_report *check_file(const char *path, uint64_t seed)
{
    struct model model;
    struct error error = {0};
    if (model_load(&model, path, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    struct check_options options = {.seed = seed};
    struct check_report *report = check_with(&model, &options);
    /* The names in the report go with the model; nothing below reads them. */
    model_unload(&model);
    return report;
}

static void right_models_pass(void **state)
{
    (void)state;
    char path[CASE_PATH];
    for (int i = 0; i < N_CASE_MODEL; i++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct check_report *report = check_file(case_model_path(path, case_models[i]), seed);
            if (report->n_finding > 0)
                fail_msg("%s, seed %d: %s", case_models[i], (int)seed, report->finding[0].text);
            assert_int_equal(report->n_point, 12);
            static const enum check_function all[] = {CHECK_JACOBIAN, CHECK_RHS_PARAMETER, CHECK_INITIAL_PARAMETER,
                                                      CHECK_OBSERVE_STATE, CHECK_OBSERVE_PARAMETER};
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
                assert_true(report->n_compared[all[k]] > 0);
                assert_int_equal(report->n_inconclusive[all[k]], 0);
            }
            free(report);
        }
    }
}

static const struct {
    const char *name;
    enum check_kind kind;
    enum check_function function;
    const char *words;
} faults[] = {
    {"wrong_jacobian", CHECK_DERIVATIVE, CHECK_JACOBIAN, "d rhs[y] / d y at t = "},
    {"wrong_rhs_parameter", CHECK_DERIVATIVE, CHECK_RHS_PARAMETER, "d rhs[y] / d k at t = "},
    {"wrong_mask", CHECK_MASK, CHECK_RHS, "k changes rhs, but its mask lacks STIFFIT_USE_RHS"},
    {"wrong_mask", CHECK_MASK, CHECK_INITIAL, "A changes initial, but its mask lacks STIFFIT_USE_INITIAL"},
    {"missing_in_pattern", CHECK_PATTERN, CHECK_JACOBIAN_SPARSE, "d rhs[b] / d a at t = "},
    {"impure", CHECK_IMPURE, CHECK_RHS, "rhs[y] at t = 0: the same inputs gave"},
    {"overrun", CHECK_OVERRUN, CHECK_OBSERVE, "outside of its output"},
    {"overrun", CHECK_OVERRUN, CHECK_JACOBIAN, "into its inputs"},
    {"overrun", CHECK_UNWRITTEN, CHECK_RHS_PARAMETER, "d rhs[y] / d A is not written"},
    {"events_wrong", CHECK_DERIVATIVE, CHECK_LAG_PARAMETER, "d lag[y] / d k"},
    {"events_wrong", CHECK_DERIVATIVE, CHECK_SWITCHING_STATE, "d switching / d t at t = "},
    {"events_wrong", CHECK_DERIVATIVE, CHECK_EVENT_WHEN_PARAMETER, "d event_when[above] / d A"},
    {"events_wrong", CHECK_DERIVATIVE, CHECK_EVENT_ASSIGN_STATE, "d event_assign[y] / d y"},
    {"events_wrong", CHECK_DERIVATIVE, CHECK_EVENT_DELAY_PARAMETER, "d event_delay[above] / d A"},
    {"events_wrong", CHECK_MASK, CHECK_LAG, "k changes lag, but its mask lacks STIFFIT_USE_EVENT"},
    {"bad_noise", CHECK_INVALID, CHECK_NOISE, "noise[y] at t = 0 is -0.3"},
    {"recoverable_always", CHECK_FAILED, CHECK_RHS, "at t = 0 it returns STIFFIT_RECOVERABLE"},
    {"fatal_always", CHECK_FAILED, CHECK_RHS, "at t = 0 it returns STIFFIT_FATAL"},
    {"lanes_wrong", CHECK_LANES, CHECK_LANES_RHS, "lanes_rhs[y] at t = "},
    {"lanes_wrong", CHECK_DERIVATIVE, CHECK_LANES_BY_TIME, "d rhs[y] / d t at t = "},
    {"lanes_wrong", CHECK_DERIVATIVE, CHECK_LANES_CURVE_PARAMETER, "d lanes_change[y] / d k at t = "},
    {"lanes_wrong", CHECK_LANES, CHECK_LANES_OBSERVE, "observe says"},
    {"lanes_wrong", CHECK_DERIVATIVE, CHECK_LANES_OBSERVE_PARAMETER, "d observe[y] / d k at t = "},
    {"lanes_wrong", CHECK_LANES, CHECK_LANES_NOISE, "noise says"},
    {"lanes_wrong", CHECK_DERIVATIVE, CHECK_LANES_NOISE_STATE, "d noise[y] / d y at t = "},
    {"lanes_neighbours", CHECK_IMPURE, CHECK_LANES_RHS, "in another lane, beside others"},
    {"lanes_neighbours", CHECK_OVERRUN, CHECK_LANES_BY_STATE, "outside of its output"},
    {"lanes_neighbours", CHECK_UNWRITTEN, CHECK_LANES_CURVE_PARAMETER, "d lanes_change[y] / d k is not written"},
};

static void faults_are_found(void **state)
{
    (void)state;
    char path[CASE_PATH];
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct check_report *report = check_file(case_zoo_path(path, faults[i].name), 1);
        bool found = false;
        for (size_t k = 0; k < report->n_finding; k++) {
            const struct check_finding *finding = &report->finding[k];
            found = found || (finding->kind == faults[i].kind && finding->function == faults[i].function &&
                              strstr(finding->text, faults[i].words));
        }
        if (!found)
            fail_msg("%s: not found, but %zu others: %s", faults[i].name, report->n_finding,
                     report->n_finding ? report->finding[0].text : "");
        free(report);
    }
}

static void models_that_refuse_some_points_pass(void **state)
{
    (void)state;
    static const char *const names[] = {"nan_from_t1", "nan_some_parameters", "error_some_parameters",
                                        "nan_in_prepare", "robertson_bare", "newer_struct", "lanes_good", "lanes_older",
                                        "events_good"};
    char path[CASE_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct check_report *report = check_file(case_zoo_path(path, names[i]), 3);
        if (report->n_finding > 0)
            fail_msg("%s: %s", names[i], report->finding[0].text);
        free(report);
    }
}

static void reports_are_pure(void **state)
{
    (void)state;
    char path[CASE_PATH];
    struct check_report *one = check_file(case_model_path(path, "theophylline"), 5);
    struct check_report *two = check_file(path, 5), *other = check_file(path, 6);
    assert_memory_equal(one->fingerprint, two->fingerprint, sizeof one->fingerprint);
    assert_memory_equal(one->worst, two->worst, sizeof one->worst);
    assert_int_equal(check_report_compare(one, two), 0);
    assert_true(check_report_compare(one, other) > 0);
    assert_true(one->n_finding > 0);
    assert_non_null(strstr(one->finding[0].text, "several threads"));
    free(one);
    free(two);
    free(other);
}

/* A model whose functions are all but polynomial, with a kink in between, and derivatives by hand. */
enum { FACTOR_ROWS = 4 };
static const char *const curved_state[] = {"a", "b", "c", "d"}, *const curved_parameter[] = {"v", "K"};
static const double curved_start[] = {2, 0.5};

static int curved_rhs(const struct stiffit_point *at, double *f)
{
    const double *y = at->y, *p = at->p;
    f[0] = p[0] * y[0] / (p[1] + y[0]);
    f[1] = exp(-y[1] / p[1]) - 1e6 * y[2] + 1e6 * y[2];
    f[2] = sqrt(y[0] * y[0] + y[3] * y[3]) * sin(at->t);
    f[3] = fabs(y[2] - y[1]);
    return STIFFIT_OK;
}

static void curved_matrix(const struct stiffit_point *at, double *J)
{
    const double *y = at->y, *p = at->p;
    double radius = sqrt(y[0] * y[0] + y[3] * y[3]), side = y[2] > y[1] ? 1 : -1;
    memset(J, 0, FACTOR_ROWS * FACTOR_ROWS * sizeof *J);
    J[0] = p[0] * p[1] / ((p[1] + y[0]) * (p[1] + y[0]));
    J[2] = y[0] / radius * sin(at->t);
    J[5] = -exp(-y[1] / p[1]) / p[1];
    J[7] = -side;
    J[11] = side;
    J[14] = y[3] / radius * sin(at->t);
}

static int curved_jacobian(const struct stiffit_point *at, double *J)
{
    curved_matrix(at, J);
    return STIFFIT_OK;
}

static int curved_jacobian_off(const struct stiffit_point *at, double *J)
{
    curved_matrix(at, J);
    J[5] *= 1 + 1e-6;
    return STIFFIT_OK;
}

static int curved_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    y[1] = y[2] = y[3] = 0;
    return STIFFIT_OK;
}

static int curved_observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    return STIFFIT_OK;
}

static struct model curved_model(stiffit_function *jacobian)
{
    return (struct model){.abi = {
        STIFFIT_MODEL_HEADER, .n_state = 4, .n_parameter = 2, .n_observable = 1, .state_name = curved_state,
        .parameter_name = curved_parameter, .observable_name = curved_state, .parameter_start = curved_start,
        .rhs = curved_rhs, .initial = curved_initial, .observe = curved_observe, .jacobian = jacobian}};
}

static void differences_are_exact_enough(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct model right = curved_model(curved_jacobian), off = curved_model(curved_jacobian_off);
        struct check_options options = {.seed = seed, .t_span = 3};
        struct check_report *report = check_with(&right, &options);
        if (report->n_finding > 0)
            fail_msg("seed %d: %s", (int)seed, report->finding[0].text);
        free(report);
        report = check_with(&off, &options);
        assert_int_equal(report->n_finding, 1);
        assert_string_equal(report->finding[0].row, "b");
        assert_string_equal(report->finding[0].column, "b");
        free(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_models_pass),
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(models_that_refuse_some_points_pass),
        cmocka_unit_test(reports_are_pure),
        cmocka_unit_test(differences_are_exact_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
