/* The engine's promises: the same bits whatever the workspace did before and however often the evaluation was set
 * aside; budgets and deadlines; models that fail.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

#include "base/clock.h"

#include <pthread.h>

static const struct ode_options usual = ODE_OPTIONS_DEFAULT;

/* Robertson's kinetics, with a covariate that makes it misbehave: 1: rhs fails from y3 > 0.1 on; 2: NaN there; 3:
 * fatal there; 4: only while Newton looks at y2 < 0 (a passing failure); 5: the initial state is NaN; 6: fails at
 * once; 7: noise is 0; 8: the observables fail late; 9: NaN in the Jacobian from y3 > 0.1 on. */
static int mode(const struct stiffit_point *at) { return (int)at->covariate[0]; }

static int rhs(const struct stiffit_point *at, double *f)
{
    const double *y = at->y, *p = at->p;
    for (int i = 0; i < 3; i++)
        assert_true(isfinite(y[i]) && isfinite(p[i]));
    double a = p[0] * y[0], b = p[1] * y[1] * y[2], c = p[2] * y[1] * y[1];
    f[0] = b - a;
    f[1] = a - b - c;
    f[2] = c;
    if (mode(at) == 6 || (mode(at) == 1 && y[2] > 0.1) || (mode(at) == 4 && y[1] < 0))
        return STIFFIT_RECOVERABLE;
    if (mode(at) == 3 && y[2] > 0.1)
        return STIFFIT_FATAL;
    if (mode(at) == 2 && y[2] > 0.1)
        f[1] = NAN;
    return STIFFIT_OK;
}
static int jacobian(const struct stiffit_point *at, double *J)
{
    const double *y = at->y, *p = at->p;
    J[0] = -p[0], J[1] = p[0], J[2] = 0;
    J[3] = p[1] * y[2], J[4] = -p[1] * y[2] - 2 * p[2] * y[1], J[5] = 2 * p[2] * y[1];
    J[6] = p[1] * y[1], J[7] = -p[1] * y[1], J[8] = 0;
    if (mode(at) == 9 && y[2] > 0.1)
        J[4] = NAN;
    return STIFFIT_OK;
}
static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    const double *y = at->y;
    F[0] = -y[0], F[1] = y[0], F[2] = 0;
    F[3] = y[1] * y[2], F[4] = -y[1] * y[2], F[5] = 0;
    F[6] = 0, F[7] = -y[1] * y[1], F[8] = y[1] * y[1];
    return STIFFIT_OK;
}
static int initial(const struct stiffit_point *at, double *y)
{
    y[0] = mode(at) == 5 ? NAN : 1;
    y[1] = y[2] = 0;
    return STIFFIT_OK;
}
static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    h[1] = 1e4 * at->y[1];
    return mode(at) == 8 && at->t > 30 ? STIFFIT_RECOVERABLE : STIFFIT_OK;
}
static int noise(const struct stiffit_point *at, double *h)
{
    h[0] = 0.01;
    h[1] = mode(at) == 7 ? 0 : 0.01;
    return STIFFIT_OK;
}
static const struct stiffit_model robertson = {
    STIFFIT_MODEL_HEADER, .name = "robertson", .n_state = 3, .n_parameter = 3, .n_observable = 2, .n_covariate = 1,
    .rhs = rhs, .initial = initial, .observe = observe, .jacobian = jacobian, .rhs_parameter = rhs_parameter,
    .noise = noise};

static const double good_p[3] = {0.04, 1e4, 3e7}, times[5] = {0, 0.4, 4, 40, 400};
static const double normal[1] = {0};

static void init(struct ode_case *c, size_t n_workspace, const double *covariate)
{
    ode_case_init(c, &robertson, &usual, n_workspace, good_p, covariate, 0, 5, times);
}

struct answer {
    double prediction[10], d_prediction[30], noise[10], d_noise[30];
    int64_t n_step, n_rhs, n_jacobian, n_factor;
};

static struct answer answer_of(const struct ode_case *c)
{
    struct answer a = {.n_step = c->evaluation.n_step, .n_rhs = c->evaluation.n_rhs,
                       .n_jacobian = c->evaluation.n_jacobian, .n_factor = c->evaluation.n_factor};
    memcpy(a.prediction, c->prediction, sizeof a.prediction);
    memcpy(a.d_prediction, c->d_prediction, sizeof a.d_prediction);
    memcpy(a.noise, c->noise, sizeof a.noise);
    memcpy(a.d_noise, c->d_noise, sizeof a.d_noise);
    return a;
}

static struct answer straight(void)
{
    struct ode_case c;
    init(&c, 1, normal);
    ode_case_run(&c);
    struct answer a = answer_of(&c);
    ode_case_fini(&c);
    return a;
}

/* Things that leave a workspace in every possible state of disorder. */
static void disorder(struct ode_case *c, int kind)
{
    static const double other_p[3] = {1.3, 2e3, 5e8};
    struct evaluation *e = &c->evaluation;
    double covariate[1] = {0};
    const double *p = e->p;
    c->task.experiment.covariate = covariate;
    switch (kind) {
    case 0:
        e->p = other_p;
        break;
    case 1:
        e->n_sens = 0;
        break;
    case 2:
        e->n_sens = 1;
        c->sens[0] = 2;
        break;
    case 3:
        e->max_steps = 37;
        break;
    case 4:
        e->deadline_ns = 0;
        break;
    default:
        covariate[0] = kind - 4; /* 1 to 9 */
    }
    engine_evaluate(c->engine, e);
    c->task.experiment.covariate = normal;
    c->sens[0] = 0;
    e->n_sens = 3;
    e->p = p;
    e->max_steps = 1000000;
    e->deadline_ns = INT64_MAX;
}

static void test_purity(void **state)
{
    (void)state;
    struct answer expected = straight(), again;
    struct ode_case c;
    init(&c, 1, normal);
    for (int kind = 0; kind < 14; kind++) {
        disorder(&c, kind);
        memset(c.prediction, 0xff, c.n_row * sizeof(double));
        ode_case_run(&c);
        again = answer_of(&c);
        if (memcmp(&again, &expected, sizeof again) != 0)
            fail_msg("other bits after disorder %d", kind);
    }
    ode_case_fini(&c);
}

static bool always(void *context)
{
    ++*(int *)context;
    return true;
}

static void test_set_aside(void **state)
{
    (void)state;
    struct answer expected = straight();
    struct ode_case c, other;
    int n_asked = 0;
    struct engine_turn turn = {.over = always, .context = &n_asked};
    init(&c, 2, normal);
    init(&other, 1, normal);
    engine_submit(c.engine, &c.evaluation);
    while (!engine_work(c.engine, &turn)) {
        assert_true(engine_withdraw(c.engine, &c.evaluation));
        assert_non_null(c.evaluation.state);
        /* another evaluation in between, which may not be set aside as well */
        other.evaluation.max_steps = 20;
        engine_submit(c.engine, &other.evaluation);
        assert_null(engine_work(c.engine, &turn));
        assert_false(engine_withdraw(c.engine, &other.evaluation));
        assert_ptr_equal(engine_work(c.engine, NULL), &other.evaluation);
        assert_int_equal(other.evaluation.outcome, EVALUATION_BUDGET);
        engine_submit(c.engine, &c.evaluation);
    }
    assert_true(n_asked > 10);
    assert_int_equal(c.evaluation.outcome, EVALUATION_OK);
    struct answer again = answer_of(&c);
    assert_memory_equal(&again, &expected, sizeof again);
    ode_case_fini(&other);
    ode_case_fini(&c);
}

static void test_discard(void **state)
{
    (void)state;
    struct ode_case c;
    int n_asked = 0;
    struct engine_turn turn = {.over = always, .context = &n_asked};
    init(&c, 2, normal);
    for (int i = 0; i < 5; i++) {
        engine_submit(c.engine, &c.evaluation);
        assert_null(engine_work(c.engine, &turn));
        assert_true(engine_withdraw(c.engine, &c.evaluation));
        engine_discard(c.pool, &c.evaluation);
        assert_null(c.evaluation.state);
    }
    ode_case_run(&c);
    assert_null(engine_work(c.engine, NULL));
    assert_false(engine_withdraw(c.engine, &c.evaluation));
    ode_case_fini(&c);
}

/* Four threads with an engine each share seven workspaces, set evaluations aside whenever they can, and hand them
 * on. */
enum { N_THREAD = 4, N_ROUND = 30 };

struct worker {
    struct engine_pool *pool;
    const struct answer *expected;
    struct ode_case cases[2]; /* only the arrays and the evaluation are used */
    int n_wrong, n_aside;
};

static bool over_now(void *context)
{
    (void)context;
    return true;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct error error;
    struct engine *engine = engine_new(w->pool, &error);
    struct engine_turn turn = {.over = over_now};
    for (int round = 0; engine && round < N_ROUND; round++) {
        struct evaluation *waiting[2] = {&w->cases[0].evaluation, &w->cases[1].evaluation};
        int n_waiting = 2;
        while (n_waiting > 0) {
            struct evaluation *e = waiting[0], *done = NULL;
            waiting[0] = waiting[1];
            n_waiting--;
            engine_submit(engine, e);
            while (!(done = engine_work(engine, &turn)) && !engine_withdraw(engine, e))
                ;
            if (done)
                continue;
            w->n_aside++;
            waiting[n_waiting++] = e;
        }
        for (int i = 0; i < 2; i++) {
            struct answer a = answer_of(&w->cases[i]);
            w->n_wrong += memcmp(&a, w->expected, sizeof a) != 0;
        }
    }
    engine_free(engine);
    return engine;
}

static void test_threads(void **state)
{
    (void)state;
    static struct worker workers[N_THREAD];
    struct model model = {.abi = robertson};
    struct error error = {0};
    struct answer expected = straight();
    struct engine_pool *pool = engine_pool_new(&model, &usual, N_THREAD + 3, N_THREAD, &error);
    pthread_t threads[N_THREAD];
    int n_aside = 0;
    assert_non_null(pool);
    for (int i = 0; i < N_THREAD; i++) {
        workers[i] = (struct worker){.pool = pool, .expected = &expected};
        for (int k = 0; k < 2; k++) {
            workers[i].cases[k].model = model;
            ode_case_arrays(&workers[i].cases[k], good_p, normal, 0, 5, times);
        }
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        void *engine;
        pthread_join(threads[i], &engine);
        assert_non_null(engine);
        assert_int_equal(workers[i].n_wrong, 0);
        n_aside += workers[i].n_aside;
        for (int k = 0; k < 2; k++)
            ode_case_fini(&workers[i].cases[k]);
    }
    assert_true(n_aside > N_THREAD * N_ROUND);
    engine_pool_free(pool);
}

static void test_budget(void **state)
{
    (void)state;
    struct ode_case c;
    init(&c, 1, normal);
    c.evaluation.max_steps = 50;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_BUDGET);
    assert_int_equal(c.evaluation.n_step, 50);
    assert_true(c.evaluation.t_reached > 0 && c.evaluation.t_reached < 400);
    assert_non_null(strstr(c.evaluation.reason, "budget"));
    c.evaluation.max_steps = straight().n_step; /* exactly enough */
    ode_case_run(&c);
    c.evaluation.max_steps--;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_BUDGET);
    c.evaluation.max_steps = 1000000;
    c.evaluation.deadline_ns = clock_now_ns();
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_TIMEOUT);
    assert_true(c.evaluation.n_step > 0 && c.evaluation.n_rhs > 0);
    ode_case_fini(&c);
}

static void test_failing_models(void **state)
{
    static const struct {
        double mode;
        const char *says;
    } bad[] = {{1, "rhs failed"}, {2, "rhs gave numbers that are not finite"}, {3, "rhs gave up"},
               {5, "initial gave numbers"}, {6, "rhs failed at t = 0"}, {7, "noise"}, {8, "observe failed at t = 40"},
               {9, "jacobian gave numbers"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t n_sens = 0; n_sens <= 3; n_sens += 3) {
            struct ode_case c;
            init(&c, 1, &bad[i].mode);
            c.evaluation.n_sens = n_sens;
            engine_evaluate(c.engine, &c.evaluation);
            if (c.evaluation.outcome != EVALUATION_MODEL_FAILED || !strstr(c.evaluation.reason, bad[i].says))
                fail_msg("mode %g: outcome %d, \"%s\"", bad[i].mode, (int)c.evaluation.outcome, c.evaluation.reason);
            ode_case_fini(&c);
        }
}

/* A passing failure costs steps, not the evaluation. */
static void test_recoverable(void **state)
{
    (void)state;
    static const double passing[1] = {4};
    struct answer expected = straight();
    struct ode_case c;
    init(&c, 1, passing);
    ode_case_run(&c);
    for (size_t i = 0; i < c.n_row; i++)
        assert_close(c.prediction[i], expected.prediction[i], 1e-5, "passing failure", i, 0);
    ode_case_fini(&c);
}

static void test_bad_parameters(void **state)
{
    (void)state;
    static const double p[3] = {0.04, NAN, 3e7};
    struct ode_case c;
    init(&c, 1, normal);
    c.evaluation.p = p;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
    ode_case_fini(&c);
}

/* y' = y^2 from 1 has a pole at t = 1. */
static void test_pole(void **state)
{
    (void)state;
    const struct stiffit_model pole = without_derivatives(test_model("explosion"));
    static const double p[1] = {1}, late[1] = {2};
    struct ode_case c;
    ode_case_init(&c, &pole, &usual, 1, p, NULL, 0, 1, late);
    for (c.evaluation.n_sens = 0; c.evaluation.n_sens < 2; c.evaluation.n_sens++) {
        engine_evaluate(c.engine, &c.evaluation);
        assert_int_equal(c.evaluation.outcome, EVALUATION_ODE_FAILED);
        assert_true(c.evaluation.t_reached > 0.9 && c.evaluation.t_reached < 1.1);
        assert_true(c.evaluation.reason[0] != '\0');
    }
    ode_case_fini(&c);
}

static void test_pool_limits(void **state)
{
    (void)state;
    struct error error = {0};
    struct model model = {.abi = robertson};
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    options.atol = -1;
    assert_null(engine_pool_new(&model, &options, 1, 1, &error));
    assert_int_equal(error.status, STATUS_USAGE);
    options = (struct ode_options)ODE_OPTIONS_DEFAULT;
    options.linear_solver = LINEAR_KLU; /* no sparse Jacobian */
    assert_null(engine_pool_new(&model, &options, 1, 1, &error));
    assert_int_equal(error.status, STATUS_BAD_MODEL);
    options.linear_solver = LINEAR_AUTO;
    struct engine_pool *pool = engine_pool_new(&model, &options, 3, 1, &error);
    assert_string_equal(engine_pool_linear_solver(pool), "dense");
    struct engine *engine = engine_new(pool, &error);
    assert_int_equal(engine_capacity(pool), 1);
    assert_null(engine_new(pool, &error));
    engine_free(engine);
    engine = engine_new(pool, &error);
    assert_non_null(engine);
    engine_free(engine);
    engine_pool_free(pool);
    engine_pool_free(NULL);
    engine_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_purity), cmocka_unit_test(test_set_aside), cmocka_unit_test(test_discard),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_budget), cmocka_unit_test(test_failing_models), cmocka_unit_test(test_recoverable),
        cmocka_unit_test(test_bad_parameters), cmocka_unit_test(test_pole), cmocka_unit_test(test_pool_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
