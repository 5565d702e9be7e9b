/* Evaluations with doses, infusions, inputs, events and steady states beside others in lanes: the same bits as alone, also if
 * they are withdrawn again and again and go on in another lane; with each kernel.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_stops_case.h"

enum { N = 12, N_TIME = 9, N_ASIDE = 16 };

/* pair-of-everything: p = ka, ke, lag, F, threshold. */
static const double times[N_TIME] = {0, 0.5, 1, 2.5, 4, 6, 9, 14, INFINITY};
static const double knot_time[] = {0, 3, 8}, knot_value[] = {1, 2, 0.5};
static const struct input varying[] = {{3, knot_time, knot_value}}, constant[] = {{1, knot_time, knot_value}};

struct request {
    struct evaluation evaluation;
    struct ode_task task;
    struct dose dose[2];
    double p[5], prediction[2 * N_TIME], d_prediction[10 * N_TIME];
    uint32_t sens[5], row_time[2 * N_TIME], row_observable[2 * N_TIME];
};

/* Each has something else in it. */
static void request_init(struct request *r, int i)
{
    const double p[] = {1 + 0.1 * i, 0.3, 0.05 * i, 0.9, i % 3 ? 1e9 : 6};
    *r = (struct request){0};
    memcpy(r->p, p, sizeof p);
    r->dose[0] = (struct dose){.time = 1, .amount = 20, .count = i % 2 ? 3 : 1, .interval = 4, .target = i % 2};
    r->dose[1] = (struct dose){.time = 1.7, .amount = 7, .duration = 2.2, .count = 2, .interval = 1.5, .target = 1};
    for (uint32_t k = 0; k < 2 * N_TIME; k++) {
        r->row_time[k] = k / 2;
        r->row_observable[k] = k % 2;
    }
    for (uint32_t k = 0; k < 5; k++)
        r->sens[k] = k;
    size_t n_time = i % 5 == 1 ? N_TIME : N_TIME - 1; /* to the steady state, or not */
    r->task = (struct ode_task){.experiment = {.n_dose = (size_t)(i % 4 == 3 ? 2 : i % 4 ? 1 : 0), .dose = r->dose,
                                               .input = i % 3 ? varying : constant},
                                .n_time = n_time, .time = times, .n_row = 2 * n_time,
                                .row_time = r->row_time, .row_observable = r->row_observable};
    r->evaluation = (struct evaluation){.engine = ENGINE_LANES, .task = &r->task, .p = r->p, .n_sens = i % 6 == 4 ? 2 : 5,
                                        .sens = r->sens, .max_steps = 100000, .deadline_ns = INT64_MAX,
                                        .prediction = r->prediction, .d_prediction = r->d_prediction};
}

static void assert_same(const struct request *a, const struct request *b)
{
    assert_int_equal(a->evaluation.outcome, EVALUATION_OK);
    assert_int_equal(b->evaluation.outcome, EVALUATION_OK);
    assert_int_equal(a->evaluation.n_step, b->evaluation.n_step);
    assert_int_equal(a->evaluation.n_rhs, b->evaluation.n_rhs);
    assert_memory_equal(a->prediction, b->prediction, sizeof a->prediction);
    assert_memory_equal(a->d_prediction, b->d_prediction, sizeof a->d_prediction);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static void test_beside_others(void **state)
{
    static struct request alone[N], r[N];
    struct model model = {.abi = *test_model("pair-of-everything")};
    struct error error = {0};
    const struct ode_options options = {.rtol = 1e-8};
    const struct engine_turn turn = {.over = always};
    if (*state)
        setenv("STIFFIT_LANES_KERNEL", *state, 1);
    struct engine_pool *pool = engine_lanes.pool_new(&engine_lanes, &model, &options, 2 * engine_lanes.capacity + N_ASIDE, 2,
                                                     &error);
    assert_non_null(pool);
    pool->table = &engine_lanes;
    struct engine *engines[] = {engine_new(pool, &error), engine_new(pool, &error)};
    assert_non_null(engines[0]);
    assert_non_null(engines[1]);
    struct evaluation *waiting[N];
    int n_waiting = 0, n_done = 0;
    for (int i = 0; i < N; i++) {
        request_init(&alone[i], i);
        engine_evaluate(engines[0], &alone[i].evaluation);
        request_init(&r[i], i);
        waiting[n_waiting++] = &r[i].evaluation;
    }
    uint64_t random = 5;
    for (int round = 0; n_done < N; round++) {
        struct engine *engine = engines[round % 2];
        struct evaluation *inside[N];
        int n_inside = 0;
        for (random = random * 6364136223846793005u + 1442695040888963407u; n_waiting && n_inside < 1 + (int)(random >> 60);
             n_inside++) {
            int at = (int)((random >> 33) % (uint64_t)n_waiting);
            inside[n_inside] = waiting[at];
            waiting[at] = waiting[--n_waiting];
            engine_submit(engine, inside[n_inside]);
        }
        for (struct evaluation *e = NULL; e || (e = engine_work(engine, &turn)); n_done++, e = e->next)
            for (int i = 0; i < n_inside; i++)
                if (inside[i] == e)
                    inside[i--] = inside[--n_inside];
        while (n_inside) {
            assert_true(engine_withdraw(engine, inside[--n_inside]));
            waiting[n_waiting++] = inside[n_inside];
        }
    }
    for (int i = 0; i < N; i++)
        assert_same(&alone[i], &r[i]);
    engine_free(engines[0]);
    engine_free(engines[1]);
    engine_pool_free(pool);
    unsetenv("STIFFIT_LANES_KERNEL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_others),
                                       cmocka_unit_test_prestate(test_beside_others, "plain")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
