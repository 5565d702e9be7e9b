/* Lanes with CVODES beside them (ode/engine.c), with two engines without mathematics in their places: which evaluations go
 * where, how they share time, and that an evaluation set aside returns to the pool it is from.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { N = STIFFIT_LANES };

/* The clock of this program, which only looks advance. */
static int64_t now_ns;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
    return 0;
}

struct fake_pool {
    struct engine_pool base;
    enum engine_kind kind;
    size_t n_workspace, n_worker, n_engine, n_discarded;
};

/* A look takes look_ns, and an evaluation max_steps looks; it answers its kind. */
struct fake {
    struct engine base;
    struct fake_pool *pool;
    struct evaluation *held[N];
};

static const int64_t look_ns[N_ENGINE] = {[ENGINE_CVODES] = 200000, [ENGINE_LANES] = 20000};
static int64_t used_ns[N_ENGINE];
static struct fake_pool *latest[N_ENGINE];

static void fake_pool_free(struct engine_pool *pool)
{
    assert_int_equal(((struct fake_pool *)pool)->n_engine, 0);
    free(pool);
}

static struct engine_pool *fake_pool_new(enum engine_kind kind, size_t n_workspace, size_t n_worker)
{
    struct fake_pool *pool = calloc(1, sizeof *pool);
    *pool = (struct fake_pool){.kind = kind, .n_workspace = n_workspace, .n_worker = n_worker};
    latest[kind] = pool;
    return &pool->base;
}

#define POOL_NEW(name, kind) \
    static struct engine_pool *name(const struct engine_table *table, const struct model *model, \
                                    const struct ode_options *options, size_t n_workspace, size_t n_worker, \
                                    struct error *error) \
    { \
        (void)table, (void)model, (void)options, (void)error; \
        return fake_pool_new(kind, n_workspace, n_worker); \
    }
POOL_NEW(lanes_pool_new, ENGINE_LANES)
POOL_NEW(cvodes_pool_new, ENGINE_CVODES)

static const char *fake_linear_solver(const struct engine_pool *pool)
{
    return ((const struct fake_pool *)pool)->kind == ENGINE_LANES ? "none" : "dense";
}

static struct engine *fake_new(struct engine_pool *pool, struct error *error)
{
    struct fake *fake = calloc(1, sizeof *fake);
    (void)error;
    fake->pool = (struct fake_pool *)pool;
    assert_true(fake->pool->n_engine++ < fake->pool->n_worker);
    return &fake->base;
}

static void fake_free(struct engine *engine)
{
    ((struct fake *)engine)->pool->n_engine--;
    free(engine);
}

static void fake_submit(struct engine *engine, struct evaluation *evaluation)
{
    struct fake *fake = (struct fake *)engine;
    size_t i = 0, n = fake->base.table->capacity;
    assert_int_equal(evaluation->engine, fake->pool->kind);
    assert_true(!evaluation->state || evaluation->state == fake->pool);
    while (i < n && fake->held[i])
        i++;
    assert_true(i < n);
    fake->held[i] = evaluation;
    evaluation->state = fake->pool;
}

static struct evaluation *fake_work(struct engine *engine, const struct engine_turn *turn)
{
    struct fake *fake = (struct fake *)engine;
    enum engine_kind kind = fake->pool->kind;
    for (;;) {
        now_ns += look_ns[kind];
        used_ns[kind] += look_ns[kind];
        for (size_t i = 0; i < N; i++)
            if (fake->held[i] && ++fake->held[i]->n_step >= fake->held[i]->max_steps) {
                struct evaluation *done = fake->held[i];
                fake->held[i] = NULL;
                done->state = NULL;
                done->next = NULL;
                done->t_reached = (double)kind;
                return done;
            }
        if (turn && turn->heartbeat)
            counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        if (turn && turn->over(turn->context))
            return NULL;
    }
}

static bool fake_withdraw(struct engine *engine, struct evaluation *evaluation)
{
    struct fake *fake = (struct fake *)engine;
    for (size_t i = 0; i < N; i++)
        if (fake->held[i] == evaluation) {
            fake->held[i] = NULL;
            return true;
        }
    fail();
    return false;
}

static void fake_discard(struct engine_pool *pool, struct evaluation *evaluation)
{
    assert_ptr_equal(evaluation->state, pool);
    ((struct fake_pool *)pool)->n_discarded++;
    evaluation->state = NULL;
}

#define FAKE(own_capacity, own_pool_new) \
    {.capacity = own_capacity, .pool_new = own_pool_new, .pool_free = fake_pool_free, \
     .linear_solver = fake_linear_solver, .engine_new = fake_new, .engine_free = fake_free, .submit = fake_submit, \
     .work = fake_work, .withdraw = fake_withdraw, .discard = fake_discard}
static const struct engine_table fake_lanes = FAKE(N, lanes_pool_new), fake_cvodes = FAKE(1, cvodes_pool_new);
const struct engine_table *const engine_in_use[N_ENGINE] = {[ENGINE_CVODES] = &fake_cvodes, [ENGINE_LANES] = &fake_lanes};

struct both_case {
    struct engine_pool *pool;
    struct engine *engine;
    struct evaluation evaluation[N];
};

/* A full engine, of whose evaluations the first n_cvodes are for CVODES. */
static void begin(struct both_case *c, size_t n_cvodes, int64_t n_look)
{
    static const struct model model = {.handle = NULL};
    struct ode_options options = ODE_OPTIONS_DEFAULT;
    static const struct ode_task task = {.n_time = 0};
    struct error error;
    options.engine = ENGINE_LANES;
    *c = (struct both_case){.pool = engine_pool_new(&model, &options, 4, 2, &error)};
    assert_non_null(c->pool);
    assert_int_equal(engine_capacity(c->pool), N);
    assert_string_equal(engine_pool_linear_solver(c->pool), "dense");
    /* room for all that two workers hold, and for two that are set aside */
    assert_int_equal(latest[ENGINE_LANES]->n_worker, 2);
    assert_int_equal(latest[ENGINE_CVODES]->n_worker, 2 * N);
    assert_int_equal(latest[ENGINE_LANES]->n_workspace, 2 * N + 2);
    assert_int_equal(latest[ENGINE_CVODES]->n_workspace, 2 * N + 2);
    c->engine = engine_new(c->pool, &error);
    assert_non_null(c->engine);
    for (size_t i = 0; i < N; i++) {
        c->evaluation[i] = (struct evaluation){.engine = i < n_cvodes ? ENGINE_CVODES : ENGINE_LANES, .max_steps = n_look,
                                               .task = &task, .t_reached = -1};
        engine_submit(c->engine, &c->evaluation[i]);
    }
    used_ns[ENGINE_CVODES] = used_ns[ENGINE_LANES] = 0;
}

static void end(struct both_case *c)
{
    engine_free(c->engine);
    engine_pool_free(c->pool);
}

static void each_goes_to_its_engine(void **state)
{
    struct both_case c;
    (void)state;
    for (size_t n_cvodes = 0; n_cvodes <= N; n_cvodes++) {
        begin(&c, n_cvodes, 3);
        for (size_t k = 0; k < N; k++)
            assert_non_null(engine_work(c.engine, NULL));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(c.evaluation[i].t_reached, c.evaluation[i].engine);
        assert_null(engine_work(c.engine, NULL));
        end(&c);
    }
}

struct countdown {
    int n;
};

static bool count_down(void *context) { return --((struct countdown *)context)->n <= 0; }

static void turns_and_heartbeats(void **state)
{
    struct both_case c;
    (void)state;
    for (size_t n_cvodes = 0; n_cvodes <= N; n_cvodes += N / 2) {
        struct counter heartbeat = {0};
        struct countdown left = {50};
        const struct engine_turn turn = {.over = count_down, .context = &left, .heartbeat = &heartbeat};
        begin(&c, n_cvodes, INT64_MAX);
        assert_null(engine_work(c.engine, &turn));
        assert_int_equal(left.n, 0);
        assert_int_equal(counter_get(&heartbeat), 50);
        end(&c);
    }
}

/* Each evaluation gets the same time, though those in lanes get it together. A look of CVODES takes ten times as long as one of
 * the lanes, and at any moment no evaluation is further ahead than by a look. */
static void time_is_shared(void **state)
{
    struct both_case c;
    (void)state;
    for (int64_t n_cvodes = 1; n_cvodes < N; n_cvodes++)
        for (int n_look = 1; n_look < 300; n_look += 7) {
            struct countdown left = {n_look};
            const struct engine_turn turn = {.over = count_down, .context = &left};
            begin(&c, (size_t)n_cvodes, INT64_MAX);
            assert_null(engine_work(c.engine, &turn));
            int64_t in_lanes_ns = used_ns[ENGINE_LANES] / (N - n_cvodes);
            for (int64_t i = 0; i < n_cvodes; i++)
                assert_true(llabs(c.evaluation[i].n_step * look_ns[ENGINE_CVODES] - in_lanes_ns) <= look_ns[ENGINE_CVODES]);
            end(&c);
        }
}

static void set_aside_and_resumed(void **state)
{
    struct both_case c;
    struct error error;
    (void)state;
    begin(&c, 4, 5);
    struct engine *other = engine_new(c.pool, &error);
    for (size_t i = 0; i < N; i++)
        assert_true(engine_withdraw(c.engine, &c.evaluation[i]));
    assert_null(engine_work(c.engine, NULL));
    for (size_t i = 2; i < N - 2; i++)
        engine_submit(other, &c.evaluation[i]);
    for (size_t k = 0; k < N - 4; k++)
        assert_non_null(engine_work(other, NULL));
    assert_null(engine_work(other, NULL));
    for (size_t i = 0; i < N; i++)
        engine_discard(c.pool, &c.evaluation[i]); /* does nothing to the finished ones */
    assert_int_equal(latest[ENGINE_CVODES]->n_discarded, 2);
    assert_int_equal(latest[ENGINE_LANES]->n_discarded, 2);
    engine_free(other);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_goes_to_its_engine), cmocka_unit_test(turns_and_heartbeats),
                                       cmocka_unit_test(time_is_shared), cmocka_unit_test(set_aside_and_resumed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
