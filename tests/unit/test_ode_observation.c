/* Only what a row needs of the observables and their noise is judged: forward, backward and without derivatives, by the
 * model's own derivatives and by difference quotients.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_case.h"

/* A decays into B, which starts at 0. Observed: A, log B; sigmas 0.1, 0.3 B. By parameter k of the rate and a of A(0). */
static int rhs(const struct stiffit_point *at, double *f)
{
    f[0] = -at->p[0] * at->y[0];
    f[1] = at->p[0] * at->y[0];
    return 0;
}
static int initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[1];
    y[1] = 0;
    return 0;
}
static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    h[1] = log(at->y[1]);
    return 0;
}
static int observe_state(const struct stiffit_point *at, double *H)
{
    H[0] = 1;
    H[1] = 0 / at->y[1];
    H[2] = 0;
    H[3] = 1 / at->y[1];
    return 0;
}
static int observe_parameter(const struct stiffit_point *at, double *H)
{
    for (int i = 0; i < 4; i++)
        H[i] = i % 2 ? 0 / at->y[1] : 0;
    return 0;
}
static int noise(const struct stiffit_point *at, double *s)
{
    s[0] = 0.1;
    s[1] = 0.3 * at->y[1];
    return 0;
}
static int noise_state(const struct stiffit_point *at, double *S)
{
    S[0] = S[2] = 0;
    S[1] = 0 / at->y[1];
    S[3] = 0.3;
    return 0;
}
static const struct stiffit_model own = {
    STIFFIT_MODEL_HEADER, .name = "log", .n_state = 2, .n_parameter = 2, .n_observable = 2, .rhs = rhs, .initial = initial,
    .observe = observe, .observe_state = observe_state, .observe_parameter = observe_parameter, .noise = noise,
    .noise_state = noise_state, .noise_parameter = observe_parameter};

static const double p[] = {0.3, 10}, times[] = {0, 1, 4}, own_sigma[] = {NAN, NAN, NAN, 2, NAN};

/* A at 0; A and log B at 1; log B, twice, at 4, once with a sigma of its own. */
static void take_rows(struct ode_case *c)
{
    static const uint32_t time_of[] = {0, 1, 1, 2, 2}, observable_of[] = {0, 0, 1, 1, 1};
    c->task.n_row = 5;
    c->task.row_time = time_of;
    c->task.row_observable = observable_of;
    c->task.row_sigma = own_sigma;
}

static bool sum_weigh(void *context, const struct evaluation *evaluation)
{
    double *weights = context;
    for (size_t i = 0; i < evaluation->task->n_row; i++)
        weights[i] = weights[i + 8] = 1;
    return true;
}

/* 1e-5: some hundred steps at rtol 1e-7; difference quotients add 1e-9. */
static void check(const struct stiffit_model *model, int kind)
{
    double k = p[0], a = p[1], weights[16], gradient[2], sum[2] = {0, 0};
    struct evaluation_adjoint adjoint = {.weigh = sum_weigh, .context = weights, .by_prediction = weights,
                                         .by_noise = weights + 8, .gradient = gradient};
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    struct ode_case c;
    ode_case_init(&c, model, &options, 1, p, NULL, 0, 3, times);
    take_rows(&c);
    if (kind == 1)
        c.evaluation.n_sens = 0;
    if (kind == 2)
        c.evaluation.adjoint = &adjoint;
    ode_case_run(&c);
    for (size_t i = 0; i < 5; i++) {
        double t = times[c.task.row_time[i]], A = a * exp(-k * t), B = a - A, by_k = t * A, by_a = B / a;
        bool is_log = c.task.row_observable[i] == 1, has_sigma = i == 3;
        double slope[2] = {is_log ? by_k / B : -by_k, is_log ? by_a / B : A / a};
        double noise_slope[2] = {is_log && !has_sigma ? 0.3 * by_k : 0, is_log && !has_sigma ? 0.3 * by_a : 0};
        assert_close(c.prediction[i], is_log ? log(B) : A, 1e-5 * 10, "prediction", i, (size_t)kind);
        assert_close(c.noise[i], has_sigma ? 2 : is_log ? 0.3 * B : 0.1, 1e-5 * 3, "noise", i, (size_t)kind);
        for (size_t j = 0; j < 2; j++) {
            if (kind == 0) {
                assert_close(c.d_prediction[i + 5 * j], slope[j], 1e-4, "slope", i, j);
                assert_close(c.d_noise[i + 5 * j], noise_slope[j], 1e-4, "noise's slope", i, j);
            }
            sum[j] += slope[j] + noise_slope[j];
        }
    }
    for (size_t j = 0; j < 2 && kind == 2; j++)
        assert_close(gradient[j], sum[j], 1e-4 * fabs(sum[j]), "gradient", j, 0);
    ode_case_fini(&c);
}

static void test_unneeded(void **state)
{
    (void)state;
    struct stiffit_model bare = own;
    bare.observe_state = bare.observe_parameter = bare.noise_state = bare.noise_parameter = NULL;
    for (int kind = 0; kind < 3; kind++) { /* forward, without derivatives, backward */
        check(&own, kind);
        check(&bare, kind);
    }
}

/* What is needed and cannot be computed fails; leniently, that row alone is what it is: log(0). */
static void test_needed(void **state)
{
    (void)state;
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    struct ode_case c;
    ode_case_init(&c, &own, &options, 1, p, NULL, 0, 3, times);
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "t = 0"));
    c.evaluation.n_sens = 0;
    c.evaluation.lenient = true;
    ode_case_run(&c);
    for (size_t i = 0; i < c.n_row; i++) {
        assert_true((c.prediction[i] == -INFINITY) == (i == 1) && !isnan(c.prediction[i]));
        assert_true(isnan(c.noise[i]) == (i == 1)); /* a sigma of 0 */
    }
    ode_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unneeded), cmocka_unit_test(test_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
