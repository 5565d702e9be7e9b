/* Pools of simulations, workers' batches of them, and the turns, deadlines and checks of the floating-point environment while
 * the driver works. Simulations are taken and given back without locks. One that is set aside keeps its memory, and so few are
 * set aside that a worker's engine always finds a free one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine_batch.h"

#include "base/clock.h"
#include "base/floating.h"
#include "ode/drive.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Steps between two checks of the clock and the turn. */
enum { STEPS_PER_LOOK = 16 };

struct slot {
    _Alignas(64) atomic_bool taken; /* a cache line each: workers acquire and release all the time */
    struct simulation *simulation;
};

struct batch_pool {
    struct engine_pool base;
    const struct stiffit_model *abi;
    const struct integrator *integrator;
    void *plan;
    size_t n_slot, n_spare, n_worker; /* at most n_spare are set aside */
    struct slot *slot;
    atomic_size_t n_aside, n_engine;
};

struct batch_engine {
    struct engine base;
    struct batch_pool *pool;
    struct batch *batch;
    size_t preferred[BATCH_WIDEST]; /* by seat: the slot used last, whose memory is in the cache */
};

void engine_batch_pool_free(struct engine_pool *base)
{
    struct batch_pool *pool = (struct batch_pool *)base;
    for (size_t i = 0; pool->slot && i < pool->n_slot; i++)
        if (pool->slot[i].simulation)
            pool->integrator->simulation_free(pool->slot[i].simulation);
    free(pool->slot);
    if (pool->plan)
        pool->integrator->plan_free(pool->plan);
    free(pool);
}

static bool make_slots(struct batch_pool *pool, size_t n)
{
    pool->slot = aligned_alloc(64, n * sizeof *pool->slot);
    pool->n_slot = n;
    for (size_t i = 0; pool->slot && i < n; i++) {
        atomic_init(&pool->slot[i].taken, false);
        pool->slot[i].simulation = NULL;
    }
    return pool->slot;
}

static bool fill_slots(struct batch_pool *pool, const struct ode_options *options)
{
    for (size_t i = 0; i < pool->n_slot; i++) {
        struct simulation *simulation = pool->integrator->simulation_new(pool->plan, pool->abi, options);
        if (!simulation)
            return false;
        simulation->slot = i;
        pool->slot[i].simulation = simulation;
    }
    return true;
}

struct engine_pool *engine_batch_pool_new(const struct engine_table *table, const struct model *model,
                                          const struct ode_options *options, size_t n_workspace, size_t n_worker,
                                          struct error *error)
{
    const struct integrator *integrator = table->integrator;
    const struct stiffit_model *abi = &model->abi;
    const char *why = table->refusal ? table->refusal(abi) : NULL;
    if (why) {
        error_set(error, STATUS_BAD_MODEL, "%s: the model %s %s", integrator->name, abi->name, why);
        return NULL;
    }
    size_t n_seat = (size_t)integrator->width * n_worker, n = n_workspace > n_seat ? n_workspace : n_seat;
    struct batch_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        *pool = (struct batch_pool){.abi = abi, .integrator = integrator, .n_spare = n - n_seat, .n_worker = n_worker};
        if (error)
            error->status = STATUS_OK;
        pool->plan = make_slots(pool, n) ? integrator->plan_new(abi, options, error) : NULL;
        if (pool->plan && fill_slots(pool, options))
            return &pool->base;
        engine_batch_pool_free(&pool->base);
    }
    if (!pool || !error || error->status == STATUS_OK)
        error_set(error, STATUS_NO_MEMORY, "no memory for the integrators of %zu workers (%u states, %u parameters)", n_worker,
                  (unsigned)abi->n_state, (unsigned)abi->n_parameter);
    return NULL;
}

const char *engine_batch_linear_solver(const struct engine_pool *base)
{
    const struct batch_pool *pool = (const struct batch_pool *)base;
    return pool->integrator->linear_solver(pool->plan);
}

/* A simulation is always free, but another worker may take the one tried here; hence the loop. */
static size_t take_slot(struct batch_pool *pool, size_t preferred)
{
    for (size_t i = preferred;; i = (i + 1) % pool->n_slot) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&pool->slot[i].taken, &expected, true))
            return i;
    }
}

static void give_back(struct batch_pool *pool, struct evaluation *evaluation)
{
    const struct simulation *simulation = evaluation->state;
    atomic_store(&pool->slot[simulation->slot].taken, false);
    evaluation->state = NULL;
}

/* Counts one more as set aside. False: as many as may be are. */
static bool count_aside(struct batch_pool *pool)
{
    size_t n_aside = atomic_load(&pool->n_aside);
    do {
        if (n_aside >= pool->n_spare)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->n_aside, &n_aside, n_aside + 1));
    return true;
}

struct engine *engine_batch_new(struct engine_pool *base, struct error *error)
{
    struct batch_pool *pool = (struct batch_pool *)base;
    const struct integrator *integrator = pool->integrator;
    size_t number = atomic_fetch_add(&pool->n_engine, 1);
    if (number >= pool->n_worker) {
        atomic_fetch_sub(&pool->n_engine, 1);
        error_set(error, STATUS_INTERNAL, "more engines than the %zu workers that the pool was made for", pool->n_worker);
        return NULL;
    }
    struct batch_engine *engine = calloc(1, sizeof *engine);
    struct batch *batch = NULL;
    if (engine)
        batch = integrator->seats ? integrator->seats->batch_new(pool->plan) : calloc(1, sizeof *batch);
    if (!batch) {
        free(engine);
        atomic_fetch_sub(&pool->n_engine, 1);
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
        return NULL;
    }
    batch->integrator = integrator;
    *engine = (struct batch_engine){.pool = pool, .batch = batch};
    for (int k = 0; k < integrator->width; k++)
        engine->preferred[k] = number * (size_t)integrator->width + (size_t)k;
    return &engine->base;
}

void engine_batch_free(struct engine *base)
{
    struct batch_engine *engine = (struct batch_engine *)base;
    struct batch_pool *pool = engine->pool;
    for (int k = 0; k < pool->integrator->width; k++)
        if (engine->batch->seat[k])
            give_back(pool, engine->batch->seat[k]->request);
    if (pool->integrator->seats)
        pool->integrator->seats->batch_free(engine->batch);
    else
        free(engine->batch);
    atomic_fetch_sub(&pool->n_engine, 1);
    free(engine);
}

void engine_batch_submit(struct engine *base, struct evaluation *evaluation)
{
    struct batch_engine *engine = (struct batch_engine *)base;
    struct batch_pool *pool = engine->pool;
    int k = 0;
    while (engine->batch->seat[k])
        k++;
    if (evaluation->state) {
        atomic_fetch_sub(&pool->n_aside, 1);
        engine->batch->seat[k] = evaluation->state;
        drive_resume(engine->batch, k);
        return;
    }
    engine->preferred[k] = take_slot(pool, engine->preferred[k]);
    struct simulation *simulation = pool->slot[engine->preferred[k]].simulation;
    engine->batch->seat[k] = evaluation->state = simulation;
    simulation->request = evaluation;
    drive_begin(engine->batch, k);
}

/* Ends all evaluations if the model's functions have changed how numbers are rounded. Checked between the same steps on every
 * thread, so that an evaluation always fails at the same point. */
static void check_rounding(struct batch_engine *engine)
{
    char why[130];
    if (floating_is_default())
        return;
    floating_reset();
    snprintf(why, sizeof why, "the model %.40s changes the floating-point environment (rounding mode, traps)",
             engine->pool->abi->name);
    for (int k = 0; k < engine->pool->integrator->width; k++)
        if (engine->batch->seat[k])
            drive_stop(engine->batch, k, EVALUATION_MODEL_FAILED, why);
}

static void check_deadlines(struct batch *batch)
{
    int64_t now = INT64_MIN;
    for (unsigned live = batch->live; live; live &= live - 1) {
        int k = __builtin_ctz(live);
        int64_t deadline_ns = batch->seat[k]->request->deadline_ns;
        if (deadline_ns == INT64_MAX)
            continue;
        now = now == INT64_MIN ? clock_now_ns() : now;
        if (now >= deadline_ns)
            drive_stop(batch, k, EVALUATION_TIMEOUT, "the time is used up");
    }
}

/* Takes those that have ended out of their seats. */
static struct evaluation *take_finished(struct batch_engine *engine)
{
    struct batch *batch = engine->batch;
    struct evaluation *first = NULL, **link = &first;
    for (; batch->finished; batch->finished &= batch->finished - 1) {
        int k = __builtin_ctz(batch->finished);
        *link = batch->seat[k]->request;
        batch->seat[k] = NULL;
        give_back(engine->pool, *link);
        link = &(*link)->next;
    }
    *link = NULL;
    return first;
}

struct evaluation *engine_batch_work(struct engine *base, const struct engine_turn *turn)
{
    struct batch_engine *engine = (struct batch_engine *)base;
    struct batch *batch = engine->batch;
    check_rounding(engine);
    while (!batch->finished && batch->live) {
        for (int i = 0; i < STEPS_PER_LOOK && batch->live && !batch->finished; i++) {
            drive_step(batch);
            if (turn && turn->heartbeat)
                counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        }
        base->n_seat = batch->n_seat;
        base->n_held = batch->n_held;
        check_rounding(engine);
        if (!batch->finished)
            check_deadlines(batch);
        if (!batch->finished && turn && turn->over(turn->context))
            return NULL;
    }
    return take_finished(engine);
}

bool engine_batch_withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct batch_engine *engine = (struct batch_engine *)base;
    struct batch *batch = engine->batch;
    for (unsigned live = batch->live; live; live &= live - 1) {
        int k = __builtin_ctz(live);
        if (batch->seat[k]->request != evaluation)
            continue;
        if (!count_aside(engine->pool))
            return false;
        drive_leave(batch, k);
        return true;
    }
    return false;
}

void engine_batch_discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct batch_pool *pool = (struct batch_pool *)base;
    give_back(pool, evaluation);
    atomic_fetch_sub(&pool->n_aside, 1);
}
