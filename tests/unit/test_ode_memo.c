/* Evaluations that repeat a request get its answer: the same bits as without, for each request and
 * whatever the standard deviations, and none that differs in anything else. The model is
 * decay-from-covariate, whose closed form is known.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

#include "ode/memo.h"

static int n_begun; /* evaluations that were carried out */
static const struct stiffit_model *decay;

static int counting_initial(const struct stiffit_point *at, double *y)
{
    n_begun++;
    return decay->initial(at, y);
}

enum { N = 4 };

struct side {
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
};

static void side_init(struct side *side)
{
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    struct error error = {0};
    options.engine = ENGINE_LANES;
    decay = test_model("decay-from-covariate");
    *side = (struct side){.model.abi = *decay};
    side->model.abi.initial = counting_initial;
    side->pool = engine_pool_new(&side->model, &options, 1, 1, &error);
    if (!side->pool)
        fail_msg("%s", error.message);
    side->engine = engine_new(side->pool, &error);
    assert_non_null(side->engine);
}

static void side_fini(struct side *side)
{
    engine_free(side->engine);
    engine_pool_free(side->pool);
}

/* A request with its own arrays. */
struct request {
    struct evaluation evaluation;
    struct ode_task task;
    double p[1], covariate[1], time[N], sigma[N], prediction[N], d_prediction[N], excess[N];
    uint32_t sens[1], row_time[N], row_observable[N];
};

static void request_init(struct request *r, double sigma)
{
    memset(r, 0, sizeof *r);
    r->p[0] = 1;
    r->covariate[0] = 2;
    for (uint32_t i = 0; i < N; i++) {
        r->time[i] = 10.0 * i;
        r->row_time[i] = i;
        r->sigma[i] = sigma;
    }
    r->task = (struct ode_task){.experiment.covariate = r->covariate, .n_time = N, .time = r->time, .n_row = N,
                                .row_time = r->row_time, .row_observable = r->row_observable,
                                .row_sigma = r->sigma};
    r->evaluation = (struct evaluation){.engine = ENGINE_LANES, .task = &r->task, .p = r->p, .n_sens = 1,
                                        .sens = r->sens, .max_steps = 10000, .tighter = 1,
                                        .deadline_ns = INT64_MAX, .prediction = r->prediction,
                                        .d_prediction = r->d_prediction, .excess = r->excess};
}

/* Evaluates; returns whether it was carried out. */
static bool run(struct side *side, struct request *r)
{
    int before = n_begun;
    engine_evaluate(side->engine, &r->evaluation);
    assert_int_equal(r->evaluation.outcome, EVALUATION_OK);
    return n_begun > before;
}

/* The answers of an engine that has kept the one before, and of a new one. */
static void assert_same_as_anew(const struct request *r)
{
    struct side anew;
    struct request again = *r;
    again.task.experiment.covariate = again.covariate;
    again.task.time = again.time;
    again.task.row_time = again.row_time;
    again.task.row_observable = again.row_observable;
    again.task.row_sigma = again.sigma;
    again.evaluation.task = &again.task;
    again.evaluation.p = again.p;
    again.evaluation.sens = again.sens;
    again.evaluation.prediction = again.prediction;
    again.evaluation.d_prediction = again.d_prediction;
    again.evaluation.excess = NULL;
    again.evaluation.course = (struct evaluation_course){0};
    memset(again.prediction, 0, sizeof again.prediction);
    memset(again.d_prediction, 0, sizeof again.d_prediction);
    side_init(&anew);
    assert_true(run(&anew, &again));
    side_fini(&anew);
    assert_memory_equal(r->prediction, again.prediction, sizeof again.prediction);
    assert_memory_equal(r->d_prediction, again.d_prediction, sizeof again.d_prediction);
    assert_int_equal(r->evaluation.n_step, again.evaluation.n_step);
    assert_int_equal(r->evaluation.n_rhs, again.evaluation.n_rhs);
    assert_true(r->evaluation.t_reached == again.evaluation.t_reached);
    for (size_t i = 0; i < N; i++) /* 100 tolerances: what CVODES and the lanes promise on a decay */
        assert_close(again.prediction[i], r->covariate[0] * exp(-r->p[0] * r->time[i]), 1e-5 * r->covariate[0],
                     "prediction", i, 0);
}

static void a_repeated_request_is_answered(void **state)
{
    (void)state;
    struct side side;
    struct request first, second, plain;
    side_init(&side);
    request_init(&first, 1);
    request_init(&second, 0.5);
    request_init(&plain, 1);
    plain.evaluation.excess = NULL;
    assert_true(run(&side, &first));
    assert_false(run(&side, &second));
    assert_same_as_anew(&second);
    assert_true(run(&side, &plain)); /* it did not ask for it */
    side_fini(&side);
}

/* At the last time the state is 2 exp(-30), 1.9e-13. With sigmas of 1e-14 its tolerance, 1e-6 of the state's size times rtol,
 * is too large, and the evaluation begins again with relative ones. */
static void other_sigmas_are_decided_anew(void **state)
{
    (void)state;
    struct side side;
    struct request loose, tight, again;
    side_init(&side);
    request_init(&loose, 1);
    request_init(&tight, 1e-14);
    request_init(&again, 1);
    assert_true(run(&side, &loose));
    assert_true(run(&side, &tight));
    assert_same_as_anew(&tight);
    assert_true(memcmp(loose.prediction, tight.prediction, sizeof loose.prediction) != 0);
    assert_false(run(&side, &again)); /* an answer with relative tolerances is not kept */
    assert_same_as_anew(&again);
    side_fini(&side);
}

static void other_requests_are_carried_out(void **state)
{
    (void)state;
    for (int change = 0; change < 7; change++) {
        struct side side;
        struct request first, other;
        side_init(&side);
        request_init(&first, 1);
        request_init(&other, 1);
        assert_true(run(&side, &first));
        switch (change) {
        case 0: other.p[0] = nextafter(1, 2); break;
        case 1: other.covariate[0] = 3; break;
        case 2: other.time[2] = 21; break;
        case 3: other.task.experiment.t0 = -1; break;
        case 4: other.evaluation.tighter = 10; break;
        case 5: other.evaluation.max_steps = 9999; break;
        default: other.task.n_row = other.task.n_time = N - 1;
        }
        assert_true(run(&side, &other));
        if (change != 3 && change != 6)
            assert_same_as_anew(&other);
        side_fini(&side);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_repeated_request_is_answered),
                                       cmocka_unit_test(other_sigmas_are_decided_anew),
                                       cmocka_unit_test(other_requests_are_carried_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
