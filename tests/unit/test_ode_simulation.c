/* Evaluations whose answers are known in closed form, with and without the model's derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

static const struct ode_options tight = {.rtol = 1e-9, .atol = 1e-13, .linear_solver = LINEAR_AUTO};

/* Decay with everything that a model can have: y' = -k y, y(0) = a c; observed b y and y^2; sigma s + r y. Parameters
 * k, a, b, s, r; `prepare` hands -k and a c over, and a NaN that nothing uses, which is no failure. */
enum { K, A, B, S, R, N_PARAMETER };
enum { UNUSED, RATE, BEGIN, N_WORK };

static int prepare(const struct stiffit_point *at, double *work)
{
    work[UNUSED] = NAN;
    work[RATE] = -at->p[K];
    work[BEGIN] = at->p[A] * at->covariate[0];
    return 0;
}
static int rhs(const struct stiffit_point *at, double *f)
{
    f[0] = at->work[RATE] * at->y[0];
    return 0;
}
static int initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->work[BEGIN];
    return 0;
}
static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->p[B] * at->y[0];
    h[1] = at->y[0] * at->y[0];
    return 0;
}
static int noise(const struct stiffit_point *at, double *h)
{
    h[0] = at->p[S] + at->p[R] * at->y[0];
    h[1] = at->p[S];
    return 0;
}
static int jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = at->work[RATE];
    return 0;
}
static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    for (int j = 0; j < N_PARAMETER; j++)
        F[j] = j == K ? -at->y[0] : 0;
    return 0;
}
static int initial_parameter(const struct stiffit_point *at, double *F)
{
    for (int j = 0; j < N_PARAMETER; j++)
        F[j] = j == A ? at->covariate[0] : 0;
    return 0;
}
static int observe_state(const struct stiffit_point *at, double *H)
{
    H[0] = at->p[B];
    H[1] = 2 * at->y[0];
    return 0;
}
static int observe_parameter(const struct stiffit_point *at, double *H)
{
    for (int j = 0; j < 2 * N_PARAMETER; j++)
        H[j] = 0;
    H[2 * B] = at->y[0];
    return 0;
}
static int noise_state(const struct stiffit_point *at, double *H)
{
    H[0] = at->p[R];
    H[1] = 0;
    return 0;
}
static int noise_parameter(const struct stiffit_point *at, double *H)
{
    for (int j = 0; j < 2 * N_PARAMETER; j++)
        H[j] = 0;
    H[2 * S] = H[2 * S + 1] = 1;
    H[2 * R] = at->y[0];
    return 0;
}

static const uint8_t decay_use[N_PARAMETER] = {STIFFIT_USE_RHS, STIFFIT_USE_INITIAL, STIFFIT_USE_OBSERVE,
                                               STIFFIT_USE_NOISE,
                                               STIFFIT_USE_NOISE};
static const struct stiffit_model decay = {
    STIFFIT_MODEL_HEADER, .name = "decay", .n_state = 1, .n_parameter = N_PARAMETER, .n_observable = 2,
        .n_covariate = 1,
    .n_work = N_WORK, .parameter_use = decay_use, .prepare = prepare, .rhs = rhs, .initial = initial, .observe = observe,
    .jacobian = jacobian, .rhs_parameter = rhs_parameter, .initial_parameter = initial_parameter,
    .observe_state = observe_state, .observe_parameter = observe_parameter, .noise = noise, .noise_state = noise_state,
    .noise_parameter = noise_parameter};

static const double decay_p[N_PARAMETER] = {0.7, 2, 3, 0.1, 0.05}, decay_covariate[1] = {1.5};
static const double decay_time[4] = {2, 2.5, 4, 9};

/* The tolerance is that of the integration (some hundred steps at rtol 1e-9), and with difference quotients
 * theirs: their relative error is about eps^(2/3) = 4e-11 where the function is smooth. */
static void check_decay(const struct ode_case *c, double tolerance)
{
    const double k = decay_p[K], b = decay_p[B], s = decay_p[S], r = decay_p[R], a = decay_p[A],
        cov = decay_covariate[0];
    for (size_t i = 0; i < 4; i++) {
        double age = decay_time[i] - 2, y = a * cov * exp(-k * age), dy[N_PARAMETER] = {-age * y, y / a, 0, 0, 0};
        double own[N_PARAMETER][2] = {{0, 0}, {0, 0}, {y, 0}, {0, 0}, {0, 0}};
        double own_noise[N_PARAMETER][2] = {{0, 0}, {0, 0}, {0, 0}, {1, 1}, {y, 0}};
        assert_close(c->prediction[2 * i], b * y, tolerance * b * y + 1e-12, "prediction", i, 0);
        assert_close(c->prediction[2 * i + 1], y * y, tolerance * y * y + 1e-12, "prediction", i, 1);
        assert_close(c->noise[2 * i], s + r * y, tolerance, "noise", i, 0);
        assert_close(c->noise[2 * i + 1], s, tolerance, "noise", i, 1);
        for (size_t j = 0; j < N_PARAMETER; j++) {
            const double *d = c->d_prediction + j * c->n_row + 2 * i, *dn = c->d_noise + j * c->n_row + 2 * i;
            assert_close(d[0], b * dy[j] + own[j][0], 10 * tolerance, "d_prediction 0", i, j);
            assert_close(d[1], 2 * y * dy[j] + own[j][1], 10 * tolerance, "d_prediction 1", i, j);
            assert_close(dn[0], r * dy[j] + own_noise[j][0], 10 * tolerance, "d_noise 0", i, j);
            assert_close(dn[1], own_noise[j][1], 10 * tolerance, "d_noise 1", i, j);
        }
    }
}

static void run_decay(const struct stiffit_model *model, double tolerance)
{
    struct ode_case c;
    ode_case_init(&c, model, &tight, 1, decay_p, decay_covariate, 2, 4, decay_time);
    ode_case_run(&c);
    check_decay(&c, tolerance);
    assert_true(c.evaluation.n_step > 10 && c.evaluation.n_rhs > 10 && c.evaluation.n_factor > 10);
    ode_case_fini(&c);
}

static void test_decay(void **state)
{
    (void)state;
    run_decay(&decay, 2e-7);
}

static void test_difference_quotients(void **state)
{
    (void)state;
    struct stiffit_model bare = decay;
    bare.jacobian = bare.rhs_parameter = bare.initial_parameter = bare.observe_state = bare.observe_parameter = NULL;
    bare.noise_state = bare.noise_parameter = NULL;
    run_decay(&bare, 2e-7);
    bare.parameter_use = NULL;
    run_decay(&bare, 2e-7);
}

/* What `prepare` returns counts, at the point and beside it. */
static int refuses(const struct stiffit_point *at, double *work)
{
    prepare(at, work);
    return STIFFIT_RECOVERABLE;
}
static int refuses_above(const struct stiffit_point *at, double *work)
{
    prepare(at, work);
    return at->p[K] > decay_p[K] || at->p[A] > decay_p[A] ? STIFFIT_RECOVERABLE : STIFFIT_OK;
}
static void test_prepare_refuses(void **state)
{
    (void)state;
    struct stiffit_model model = decay;
    struct ode_case c;
    model.prepare = refuses;
    ode_case_init(&c, &model, &tight, 1, decay_p, decay_covariate, 2, 4, decay_time);
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "prepare"));
    ode_case_fini(&c);
    model.prepare = refuses_above;
    model.rhs_parameter = model.initial_parameter = NULL;
    /* one-sided quotients, of functions that are linear in k and a */
    run_decay(&model, 2e-7);
}

/* An evaluation wants some of the parameters: each column is as in the evaluation that wants all, to the tolerance
 * of the integration; the others' derivatives may be anything, even NaN. */
static int partly_nan(const struct stiffit_point *at, double *F)
{
    rhs_parameter(at, F);
    F[K] = NAN;
    return 0;
}
static void test_subset(void **state)
{
    (void)state;
    struct ode_case c, all;
    struct stiffit_model model = decay;
    ode_case_init(&all, &decay, &tight, 1, decay_p, decay_covariate, 2, 4, decay_time);
    ode_case_run(&all);
    model.rhs_parameter = partly_nan;
    ode_case_init(&c, &model, &tight, 1, decay_p, decay_covariate, 2, 4, decay_time);
    c.evaluation.n_sens = 2;
    c.sens[0] = A;
    c.sens[1] = B;
    ode_case_run(&c);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < c.n_row; i++)
            assert_close(c.d_prediction[i + k * c.n_row], all.d_prediction[i + c.sens[k] * c.n_row], 1e-6, "subset", k,
                         i);
    c.evaluation.n_sens = 0;
    ode_case_run(&c);
    for (size_t i = 0; i < c.n_row; i++)
        assert_close(c.prediction[i], all.prediction[i], 1e-6, "no sensitivities", i, 0);
    c.evaluation.n_sens = 1;
    c.sens[0] = K;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "rhs_parameter"));
    ode_case_fini(&all);
    ode_case_fini(&c);
}

/* A parameter of the observables alone costs nothing: the very steps of an evaluation without it. */
static void test_observable_parameter_is_free(void **state)
{
    (void)state;
    struct ode_case c;
    ode_case_init(&c, &decay, &tight, 1, decay_p, decay_covariate, 2, 4, decay_time);
    c.evaluation.n_sens = 0;
    ode_case_run(&c);
    int64_t n_step = c.evaluation.n_step, n_rhs = c.evaluation.n_rhs;
    double y = c.prediction[6];
    c.evaluation.n_sens = 3;
    for (uint32_t k = 0; k < 3; k++)
        c.sens[k] = B + k;
    ode_case_run(&c);
    assert_int_equal(c.evaluation.n_step, n_step);
    assert_int_equal(c.evaluation.n_rhs, n_rhs);
    assert_true(c.prediction[6] == y);
    assert_close(c.d_prediction[6], y / decay_p[B], 1e-15 + 1e-14 * y, "dh/db", 6, 0);
    ode_case_fini(&c);
}

/* y' = M y with M = (-a b; c -d): y = expm(M t) y0 through its two eigenvalues, sensitivities by the complex step
 * in that formula. */
static void linear_exact(const long double *p, long double t, long double *y)
{
    long double mean = -(p[0] + p[3]) / 2, half = (p[3] - p[0]) / 2;
    long double root = sqrtl(half * half + p[1] * p[2]);
    long double c = coshl(root * t), s = sinhl(root * t) / root, e = expl(mean * t);
    y[0] = e * (c * 1.0L + s * (half * 1.0L + p[1] * 0.5L));
    y[1] = e * (c * 0.5L + s * (p[2] * 1.0L - half * 0.5L));
}

static void test_linear_system(void **state)
{
    (void)state;
    static const double p[4] = {1000, 1, 0.5, 2}, time[3] = {0, 0.001, 1};
    struct ode_case c;
    const struct stiffit_model linear_model = without_derivatives(test_model("two-coupled"));
    ode_case_init(&c, &linear_model, &tight, 1, p, NULL, 0, 3, time);
    ode_case_run(&c);
    for (size_t i = 0; i < 3; i++) {
        long double q[4] = {p[0], p[1], p[2], p[3]}, y[2], up[2], down[2];
        linear_exact(q, time[i], y);
        for (size_t o = 0; o < 2; o++)
            assert_close(c.prediction[2 * i + o], (double)y[o], 1e-7, "linear", i, o);
        for (size_t j = 0; j < 4; j++) {
            /* central differences in long double: eps^(2/3) of 64 bits */
            long double h = q[j] * 1e-6L;
            q[j] = p[j] + h;
            linear_exact(q, time[i], up);
            q[j] = p[j] - h;
            linear_exact(q, time[i], down);
            q[j] = p[j];
            for (size_t o = 0; o < 2; o++)
                assert_close(c.d_prediction[2 * i + o + j * c.n_row] * p[j], (double)((up[o] - down[o]) / 2e-6L), 1e-6,
                             "linear sensitivity", j, i);
        }
    }
    ode_case_fini(&c);
}

/* y' = q - y from 0, not computable below 0; observed (1 + p) y, not computable for p < 0, at p = 0: the quotients
 * must do with one side. */
static int edge_rhs(const struct stiffit_point *at, double *f)
{
    f[0] = at->p[0] - at->y[0];
    return at->y[0] < 0 ? STIFFIT_RECOVERABLE : STIFFIT_OK;
}
static int edge_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 0;
    return STIFFIT_OK;
}
static int edge_observe(const struct stiffit_point *at, double *h)
{
    h[0] = (1 + at->p[1]) * at->y[0];
    return at->p[1] < 0 || at->y[0] < 0 ? STIFFIT_RECOVERABLE : STIFFIT_OK;
}
static void test_edge_of_the_domain(void **state)
{
    (void)state;
    static const double p[2] = {2, 0}, time[3] = {0, 1, 5};
    static const struct stiffit_model model = {STIFFIT_MODEL_HEADER, .name = "edge", .n_state = 1, .n_parameter = 2,
                                               .n_observable = 1, .rhs = edge_rhs, .initial = edge_initial,
                                               .observe = edge_observe};
    struct ode_case c;
    ode_case_init(&c, &model, &tight, 1, p, NULL, 0, 3, time);
    ode_case_run(&c);
    for (size_t i = 0; i < 3; i++) {
        double grown = 1 - exp(-time[i]);
        assert_close(c.prediction[i], 2 * grown, 1e-6, "edge", i, 0);
        assert_close(c.d_prediction[i], grown, 1e-6, "edge", i, 1);
        assert_close(c.d_prediction[3 + i], 2 * grown, 1e-6, "edge", i, 2);
    }
    ode_case_fini(&c);
}

/* No states: observables of time alone. */
static void test_no_state(void **state)
{
    (void)state;
    static const double p[2] = {2, 3}, time[3] = {-1, 0, 10};
    const struct stiffit_model model = without_derivatives(test_model("line"));
    struct ode_case c;
    ode_case_init(&c, &model, &tight, 1, p, NULL, -1, 3, time);
    ode_case_run(&c);
    for (size_t i = 0; i < 3; i++) {
        assert_close(c.prediction[i], 2 + 3 * time[i], 1e-14, "line", i, 0);
        assert_close(c.d_prediction[i], 1, 1e-9, "line", i, 1);
        assert_close(c.d_prediction[3 + i], time[i], 1e-8, "line", i, 2);
    }
    assert_int_equal(c.evaluation.n_step, 0);
    ode_case_fini(&c);
}

static void test_only_initial_time(void **state)
{
    (void)state;
    static const double time[1] = {2};
    struct ode_case c;
    ode_case_init(&c, &decay, &tight, 1, decay_p, decay_covariate, 2, 1, time);
    ode_case_run(&c);
    assert_int_equal(c.evaluation.n_step, 0);
    assert_close(c.prediction[0], 9, 1e-14, "at t0", 0, 0);
    assert_close(c.d_prediction[c.n_row], 4.5, 1e-14, "at t0", 0, 1);
    ode_case_fini(&c);
}

/* Times that lie closer together than rounding lets an integrator step, and rows in any number per time. */
static void test_close_times(void **state)
{
    (void)state;
    double time[3] = {2, nextafter(2, 3), nextafter(nextafter(2, 3), 3)};
    struct ode_case c;
    ode_case_init(&c, &decay, &tight, 1, decay_p, decay_covariate, 2, 3, time);
    ode_case_run(&c);
    for (size_t i = 0; i < 3; i++)
        assert_close(c.prediction[2 * i], 9, 1e-12, "close", i, 0);
    ode_case_fini(&c);
}

static void test_repeated_and_partial_rows(void **state)
{
    (void)state;
    struct ode_case c;
    ode_case_init(&c, &decay, &tight, 1, decay_p, decay_covariate, 2, 4, decay_time);
    /* time 1 is measured three times, times 0 and 2 not at all */
    static const uint32_t row_time[4] = {1, 1, 1, 3}, row_observable[4] = {1, 0, 1, 0};
    ode_case_run(&c);
    double y1[2] = {c.prediction[2], c.prediction[3]}, y3 = c.prediction[6];
    c.task.n_row = 4;
    c.task.row_time = row_time;
    c.task.row_observable = row_observable;
    ode_case_run(&c);
    assert_true(c.prediction[0] == y1[1] && c.prediction[1] == y1[0] && c.prediction[2] == y1[1] &&
                c.prediction[3] == y3);
    ode_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decay), cmocka_unit_test(test_difference_quotients),
        cmocka_unit_test(test_prepare_refuses), cmocka_unit_test(test_subset),
        cmocka_unit_test(test_observable_parameter_is_free), cmocka_unit_test(test_linear_system),
        cmocka_unit_test(test_edge_of_the_domain),
        cmocka_unit_test(test_no_state), cmocka_unit_test(test_only_initial_time), cmocka_unit_test(test_close_times),
        cmocka_unit_test(test_repeated_and_partial_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
