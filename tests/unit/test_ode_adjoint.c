/* Adjoint gradients where the answer is known in closed form, and the engine's promises for them: the same bits
 * whatever the workspace did before and however often the evaluation was set aside, budgets, models that fail on the
 * way back. Against forward sensitivities: test_ode_adjoint_models.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

#include "ode/adjoint.h"

#include <pthread.h>

/* y' = c g(t) - k y, y(0) = A; observed as s y + b and y^2 + s; noise a + r (s y + b), and a. g by the covariate: 0: 0;
 * 1: a blow of 1e6 from t = 1 on; 2: 1; 3: 0, and the observables' derivatives by the state fail; 4: they are NaN. */
enum { K, A, C, S, B, NOISE_A, NOISE_R, IDLE, N_P };
enum { QUIET, BLOW, DRIVEN, NO_STATE_DERIVATIVE, NAN_STATE_DERIVATIVE };

static double drive(const struct stiffit_point *at)
{
    return at->covariate[0] == BLOW ? (at->t > 1 ? 1e6 : 0) : at->covariate[0] == DRIVEN;
}
static int rhs(const struct stiffit_point *at, double *f)
{
    f[0] = at->p[C] * drive(at) - at->p[K] * at->y[0];
    return STIFFIT_OK;
}
static int jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[K];
    return STIFFIT_OK;
}
static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    memset(F, 0, N_P * sizeof *F);
    F[K] = -at->y[0];
    F[C] = drive(at);
    return STIFFIT_OK;
}
static int initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[A];
    return STIFFIT_OK;
}
static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->p[S] * at->y[0] + at->p[B];
    h[1] = at->y[0] * at->y[0] + at->p[S];
    return STIFFIT_OK;
}
static int observe_state(const struct stiffit_point *at, double *H)
{
    H[0] = at->covariate[0] == NAN_STATE_DERIVATIVE ? NAN : at->p[S];
    H[1] = 2 * at->y[0];
    return at->covariate[0] == NO_STATE_DERIVATIVE ? STIFFIT_RECOVERABLE : STIFFIT_OK;
}
static int observe_parameter(const struct stiffit_point *at, double *H)
{
    memset(H, 0, 2 * N_P * sizeof *H);
    H[2 * S] = at->y[0];
    H[1 + 2 * S] = H[2 * B] = 1;
    return STIFFIT_OK;
}
/* Its derivatives are left to difference quotients. */
static int noise(const struct stiffit_point *at, double *sd)
{
    double h[2];
    observe(at, h);
    sd[0] = at->p[NOISE_A] + at->p[NOISE_R] * h[0];
    sd[1] = at->p[NOISE_A];
    return STIFFIT_OK;
}
static const uint8_t use[N_P] = {
    STIFFIT_USE_RHS, STIFFIT_USE_INITIAL, STIFFIT_USE_RHS, STIFFIT_USE_OBSERVE | STIFFIT_USE_NOISE,
    STIFFIT_USE_OBSERVE | STIFFIT_USE_NOISE, STIFFIT_USE_NOISE, STIFFIT_USE_NOISE, 0};
static const struct stiffit_model model = {
    STIFFIT_MODEL_HEADER, .name = "driven", .n_state = 1, .n_parameter = N_P, .n_observable = 2, .n_covariate = 1,
    .parameter_use = use, .rhs = rhs, .initial = initial, .observe = observe, .jacobian = jacobian,
    .rhs_parameter = rhs_parameter, .observe_state = observe_state, .observe_parameter = observe_parameter,
    .noise = noise};

static const double some_p[N_P] = {0.7, 2, 0.3, 1.5, 0.4, 0.2, 0.1, 5}, rest_p[N_P] = {1, 1, 1, 1.5, 0.4, 0.2, 0.1, 5};
static const double times[5] = {0, 0.6, 1.5, 2, 7};
static const struct ode_options usual = ODE_OPTIONS_DEFAULT;

/* Half the weighted sum of squares of (prediction - 1), plus the logarithms of the noise where there is one. */
struct objective {
    struct evaluation_adjoint adjoint;
    double by_prediction[64], by_noise[64], gradient[16];
    int mode; /* 1: not finite, and says so; 2: NaN, and does not say so */
};

static bool weigh(void *context, const struct evaluation *e)
{
    struct objective *o = context;
    for (size_t i = 0; i < e->task->n_row; i++) {
        double residual = e->prediction[i] - 1, sd = e->noise ? e->noise[i] : 1;
        o->by_prediction[i] = residual / (sd * sd);
        o->by_noise[i] = 1 / sd - residual * residual / (sd * sd * sd);
    }
    if (o->mode == 2)
        o->by_prediction[1] = NAN;
    return o->mode != 1;
}

static void ask(struct ode_case *c, struct objective *o)
{
    *o = (struct objective){.mode = 0};
    o->adjoint = (struct evaluation_adjoint){.weigh = weigh, .context = o, .by_prediction = o->by_prediction,
                                             .by_noise = o->by_noise, .gradient = o->gradient};
    c->evaluation.adjoint = &o->adjoint;
}

/* Three rows at t0, four at the second time, none at the next two, three at the last. */
static void init(struct ode_case *c, const struct ode_options *options, const double *p, const double *covariate)
{
    static const uint32_t row_time[10] = {0, 0, 0, 1, 1, 1, 1, 4, 4, 4};
    ode_case_init(c, &model, options, 2, p, covariate, 0, 5, times);
    memcpy(c->row_time, row_time, sizeof row_time);
}

/* y and its derivatives by K, A and C at time t. */
static void solution(int mode, const double *p, double t, double *y, double *d)
{
    double k = p[K], E = exp(-k * t), since = mode == BLOW ? fmax(t - 1, 0) : t, D = exp(-k * since);
    double size = mode == BLOW ? 1e6 : mode == DRIVEN;
    double c = p[C] * size;
    *y = p[A] * E + c * (1 - D) / k;
    d[0] = -t * p[A] * E + c * (since * D / k - (1 - D) / (k * k));
    d[1] = E;
    d[2] = size * (1 - D) / k;
}

/* The gradient by hand; size: the sums of absolute values. */
static void exact(const struct ode_case *c, int mode, const double *p, double *gradient, double *size)
{
    memset(gradient, 0, N_P * sizeof *gradient);
    memset(size, 0, N_P * sizeof *size);
    for (size_t i = 0; i < c->n_row; i++) {
        double y, dy[3], dh[N_P] = {0}, dn[N_P] = {0};
        solution(mode, p, times[c->row_time[i]], &y, dy);
        bool first = c->row_observable[i] == 0;
        double h = first ? p[S] * y + p[B] : y * y + p[S], sd = first ? p[NOISE_A] + p[NOISE_R] * h : p[NOISE_A];
        for (int j = 0; j < 3; j++)
            dh[j] = (first ? p[S] : 2 * y) * dy[j];
        dh[S] = first ? y : 1;
        dh[B] = first;
        for (int j = 0; j < N_P && first; j++)
            dn[j] = p[NOISE_R] * dh[j];
        dn[NOISE_A] = 1;
        dn[NOISE_R] = first ? h : 0;
        for (int j = 0; j < N_P; j++) {
            double a = (h - 1) / (sd * sd) * dh[j], b = (1 / sd - (h - 1) * (h - 1) / (sd * sd * sd)) * dn[j];
            gradient[j] += a + b;
            size[j] += fabs(a) + fabs(b) + (h - 1) * (h - 1) / (sd * sd * sd) * fabs(dn[j]);
        }
    }
}

/* 200 rtol of the sum of absolute terms: weights and derivatives both carry the integration's error, and the largest
 * difference measured is 50. The last case is at rest: y = 1 for ever, only its derivatives move. */
static void test_exact(void **state)
{
    static const struct {
        int mode;
        const double *p;
    } cases[] = {{QUIET, some_p}, {DRIVEN, some_p}, {BLOW, some_p}, {DRIVEN, rest_p}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (double rtol = 1e-6; rtol > 1e-11; rtol /= 100) {
            double covariate[1] = {cases[k].mode}, gradient[N_P], size[N_P];
            struct ode_options options = {.rtol = rtol, .atol = 1e-3 * rtol};
            struct ode_case c;
            struct objective o;
            init(&c, &options, cases[k].p, covariate);
            ask(&c, &o);
            ode_case_run(&c);
            exact(&c, cases[k].mode, cases[k].p, gradient, size);
            for (size_t j = 0; j < N_P; j++)
                assert_close(o.gradient[j], gradient[j], 200 * rtol * size[j], "gradient", j, k);
            assert_true(o.gradient[IDLE] == 0);
            assert_true(c.d_prediction[0] == 0); /* not written */
            ode_case_fini(&c);
        }
}

/* Only t0; only parameters that no state depends on; none at all. */
static void test_little(void **state)
{
    double covariate[1] = {QUIET}, gradient[N_P], size[N_P];
    struct ode_case c;
    struct objective o;
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        init(&c, &usual, some_p, covariate);
        ask(&c, &o);
        if (kind == 0) {
            memset(c.row_time, 0, c.n_row * sizeof *c.row_time);
            c.task.n_time = 1;
        } else {
            c.evaluation.n_sens = kind == 1 ? 4 : 0;
            for (uint32_t k = 0; k < 4; k++)
                c.sens[k] = S + k;
        }
        ode_case_run(&c);
        exact(&c, QUIET, some_p, gradient, size);
        for (size_t k = 0; k < c.evaluation.n_sens; k++)
            assert_close(o.gradient[k], gradient[c.sens[k]], (kind ? 200 * usual.rtol : 1e-9) * size[c.sens[k]],
                         "little", k, 0);
        ode_case_fini(&c);
    }
}

static void test_no_states(void **state)
{
    const struct stiffit_model curve = without_derivatives(test_model("decay"));
    static const double p[2] = {3, 0.5};
    struct ode_case c;
    struct objective o;
    (void)state;
    ode_case_init(&c, &curve, &usual, 1, p, NULL, 0, 5, times);
    ask(&c, &o);
    ode_case_run(&c);
    double expected[2] = {0, 0};
    for (int i = 0; i < 5; i++) {
        double E = exp(-p[1] * times[i]), residual = p[0] * E - 1;
        expected[0] += residual * E;
        expected[1] -= residual * p[0] * times[i] * E;
    }
    for (size_t j = 0; j < 2; j++) /* central differences of the model: eps^(2/3) */
        assert_close(o.gradient[j], expected[j], 1e-8, "no states", j, 0);
    ode_case_fini(&c);
}

/* A swing from 0: so many steps that the tape needs several chunks. */
static void test_many_steps(void **state)
{
    const struct stiffit_model swing = without_derivatives(test_model("swing"));
    static const double p[3] = {1.3, 0, 2}, long_times[5] = {0, 3, 60, 61, 200};
    static const struct ode_options tight = {.rtol = 1e-10, .atol = 1e-13};
    struct ode_case c;
    struct objective o;
    (void)state;
    ode_case_init(&c, &swing, &tight, 1, p, NULL, 0, 5, long_times);
    static const uint32_t sens[] = {0, 2};
    c.evaluation.sens = sens;
    c.evaluation.n_sens = 2;
    ask(&c, &o);
    ode_case_run(&c);
    assert_true(c.evaluation.n_step > 2 * 3 * 4096); /* there, back, and most of it there again */
    double expected[2] = {0, 0};
    for (int i = 0; i < 5; i++) {
        double t = long_times[i], y = p[2] * sin(p[0] * t), residual = y - 1;
        expected[0] += residual * p[2] * t * cos(p[0] * t);
        expected[1] += residual * y / p[2];
    }
    for (size_t j = 0; j < 2; j++) /* a phase error of 1e-10 a step, and t of it in the derivative by w */
        assert_close(o.gradient[j], expected[j], 1e-5 * (1 + fabs(expected[j])), "oscillator", j, 0);
    double gradient[2] = {o.gradient[0], o.gradient[1]};
    ode_case_run(&c);
    assert_memory_equal(gradient, o.gradient, sizeof gradient);
    ode_case_fini(&c);
}

struct answer {
    double prediction[10], noise[10], gradient[N_P];
    int64_t n_step, n_rhs, n_jacobian, n_factor;
};

static struct answer answer_of(const struct ode_case *c, const struct objective *o)
{
    struct answer a = {.n_step = c->evaluation.n_step, .n_rhs = c->evaluation.n_rhs,
                       .n_jacobian = c->evaluation.n_jacobian, .n_factor = c->evaluation.n_factor};
    memcpy(a.prediction, c->prediction, sizeof a.prediction);
    memcpy(a.noise, c->noise, sizeof a.noise);
    memcpy(a.gradient, o->gradient, sizeof a.gradient);
    return a;
}

static const double driven[1] = {DRIVEN};

static struct answer straight(void)
{
    struct ode_case c;
    struct objective o;
    init(&c, &usual, some_p, driven);
    ask(&c, &o);
    ode_case_run(&c);
    struct answer a = answer_of(&c, &o);
    ode_case_fini(&c);
    return a;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* Things that leave a workspace in every possible state of disorder. */
static void disorder(struct ode_case *c, int kind)
{
    struct evaluation before = c->evaluation, *e = &c->evaluation;
    double covariate[1] = {kind == 1 ? BLOW : kind == 2 ? NO_STATE_DERIVATIVE : DRIVEN};
    c->task.experiment.covariate = covariate;
    struct objective o;
    ask(c, &o);
    if (kind == 0)
        e->p = rest_p;
    else if (kind == 3)
        e->max_steps = 20;
    else if (kind == 4)
        e->max_steps = 120;
    else if (kind == 5)
        e->adjoint = NULL;
    else if (kind == 6)
        e->n_sens = 0;
    else if (kind == 7)
        o.mode = 1;
    else if (kind == 8)
        e->n_sens = 1;
    if (kind == 9) {
        struct engine_turn turn = {.over = always};
        engine_submit(c->engine, e);
        engine_work(c->engine, &turn);
        engine_work(c->engine, &turn);
        assert_true(engine_withdraw(c->engine, e));
        engine_discard(c->pool, e);
    } else {
        engine_evaluate(c->engine, e);
    }
    *e = before;
    c->task.experiment.covariate = driven;
}

static void test_same_bits_after_anything(void **state)
{
    struct answer expected = straight();
    struct ode_case c;
    struct objective o;
    (void)state;
    init(&c, &usual, some_p, driven);
    for (int kind = 0; kind < 10; kind++) {
        disorder(&c, kind);
        ask(&c, &o);
        ode_case_run(&c);
        struct answer a = answer_of(&c, &o);
        assert_memory_equal(&a, &expected, sizeof a);
    }
    ode_case_fini(&c);
}

/* A turn of 16 steps each, another evaluation with the engine in between, forward and backward. */
static void test_same_bits_set_aside(void **state)
{
    struct answer expected = straight();
    struct ode_case c;
    struct objective o, other;
    struct engine_turn turn = {.over = always};
    int n_aside = 0;
    (void)state;
    init(&c, &usual, some_p, driven);
    ask(&c, &o);
    struct evaluation second = c.evaluation;
    double prediction[10], sd[10];
    other = o;
    other.adjoint.context = &other;
    other.adjoint.by_prediction = other.by_prediction;
    other.adjoint.by_noise = other.by_noise;
    other.adjoint.gradient = other.gradient;
    second.adjoint = &other.adjoint;
    second.p = rest_p;
    second.prediction = prediction;
    second.noise = sd;
    engine_submit(c.engine, &c.evaluation);
    while (!engine_work(c.engine, &turn)) {
        assert_true(engine_withdraw(c.engine, &c.evaluation));
        engine_evaluate(c.engine, &second);
        assert_int_equal(second.outcome, EVALUATION_OK);
        engine_submit(c.engine, &c.evaluation);
        n_aside++;
    }
    assert_true(n_aside > 4);
    assert_int_equal(c.evaluation.outcome, EVALUATION_OK);
    struct answer a = answer_of(&c, &o);
    assert_memory_equal(&a, &expected, sizeof a);
    ode_case_fini(&c);
}

static void *on_thread(void *answer)
{
    for (int i = 0; i < 20; i++)
        *(struct answer *)answer = straight();
    return NULL;
}

static void test_same_bits_on_threads(void **state)
{
    struct answer expected = straight(), answers[3];
    pthread_t threads[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, on_thread, &answers[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_memory_equal(&answers[i], &expected, sizeof expected);
    }
}

static void test_budget(void **state)
{
    int64_t n_step = straight().n_step;
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct ode_case c;
        struct objective o;
        init(&c, &usual, some_p, driven);
        ask(&c, &o);
        c.evaluation.max_steps = kind == 0 ? n_step : kind == 1 ? n_step - 1 : kind == 2 ? n_step / 2 : INT64_MAX;
        if (kind == 3)
            c.evaluation.deadline_ns = 1;
        engine_evaluate(c.engine, &c.evaluation);
        static const enum evaluation_outcome expected[] = {EVALUATION_OK, EVALUATION_BUDGET, EVALUATION_BUDGET,
                                                           EVALUATION_TIMEOUT};
        assert_int_equal(c.evaluation.outcome, expected[kind]);
        assert_true(kind == 0 || (o.gradient[0] == 0 && c.evaluation.reason[0]));
        if (kind == 1 || kind == 2)
            assert_non_null(strstr(c.evaluation.reason, "backward"));
        assert_true(c.evaluation.n_step <= c.evaluation.max_steps);
        ode_case_fini(&c);
    }
}

static void test_failures(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        double covariate[1] = {kind == 0 ? NO_STATE_DERIVATIVE : kind == 1 ? NAN_STATE_DERIVATIVE : QUIET};
        struct ode_case c;
        struct objective o;
        init(&c, &usual, some_p, covariate);
        ask(&c, &o);
        o.mode = kind == 2 ? 1 : kind == 3 ? 2 : 0;
        engine_evaluate(c.engine, &c.evaluation);
        assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
        assert_non_null(strstr(c.evaluation.reason, kind < 2 ? "observe_state" : "objective"));
        assert_true(o.gradient[0] == 0);
        assert_null(c.evaluation.state);
        ode_case_fini(&c);
    }
}

/* What the rule was made for: see the table in adjoint.c. */
static void test_rule(void **state)
{
    (void)state;
    assert_true(adjoint_is_cheaper(50, 300));
    assert_true(adjoint_is_cheaper(5, 200));
    assert_false(adjoint_is_cheaper(3, 3) || adjoint_is_cheaper(50, 4) || adjoint_is_cheaper(2, 40));
    assert_false(adjoint_is_cheaper(0, 100));
    assert_true(adjoint_is_cheaper(SIZE_MAX / 2, SIZE_MAX / 2)); /* no overflow */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact), cmocka_unit_test(test_little), cmocka_unit_test(test_no_states),
        cmocka_unit_test(test_many_steps), cmocka_unit_test(test_same_bits_after_anything),
        cmocka_unit_test(test_same_bits_set_aside), cmocka_unit_test(test_same_bits_on_threads),
        cmocka_unit_test(test_budget), cmocka_unit_test(test_failures), cmocka_unit_test(test_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
