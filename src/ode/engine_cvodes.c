/* The CVODES engine: the bounded pool of workspaces, and an engine per worker that holds one of them. The state of an
 * evaluation is the workspace that it occupies.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include "base/clock.h"
#include "base/floating.h"
#include "ode/workspace.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Integrator steps between two checks of the clock and the turn. */
enum { STEPS_PER_LOOK = 16 };

/* A workspace is free, held by an engine, or set aside with an unfinished evaluation. At most n_workspace - n_worker are set
 * aside at any moment, so a worker without a workspace always finds one. */
struct slot {
    _Alignas(64) atomic_bool taken; /* a cache line each: workers acquire and release all the time */
    struct workspace *workspace;
};

struct cvodes_pool {
    struct engine_pool base;
    size_t n_workspace, n_worker;
    struct linear_plan *plan;
    struct slot *slots; /* n_workspace */
    atomic_size_t n_aside, n_engine;
};

struct cvodes_engine {
    struct engine base;
    struct cvodes_pool *pool;
    struct evaluation *evaluation; /* the current one, or NULL */
    bool finished;                 /* simulation_begin finished it */
    size_t preferred;              /* the workspace used last: its memory is in the cache */
};

static void pool_free(struct engine_pool *base)
{
    struct cvodes_pool *pool = (struct cvodes_pool *)base;
    for (size_t i = 0; pool->slots && i < pool->n_workspace; i++)
        workspace_free(pool->slots[i].workspace);
    free(pool->slots);
    linear_plan_free(pool->plan);
    free(pool);
}

static struct engine_pool *pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error)
{
    struct cvodes_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        goto out_of_memory;
    pool->n_worker = n_worker;
    pool->n_workspace = n_workspace > n_worker ? n_workspace : n_worker;
    pool->slots = aligned_alloc(64, pool->n_workspace * sizeof *pool->slots);
    if (!pool->slots)
        goto out_of_memory;
    for (size_t i = 0; i < pool->n_workspace; i++) {
        atomic_init(&pool->slots[i].taken, false);
        pool->slots[i].workspace = NULL;
    }
    pool->plan = linear_plan_new(&model->abi, options->linear_solver, error);
    if (!pool->plan)
        goto failed;
    for (size_t i = 0; i < pool->n_workspace; i++) {
        struct workspace *workspace = workspace_new(&model->abi, options, pool->plan);
        if (!workspace)
            goto out_of_memory;
        workspace->slot = i;
        pool->slots[i].workspace = workspace;
    }
    return &pool->base;
out_of_memory:
    error_set(error, STATUS_NO_MEMORY, "no memory for the integrators of %zu workers (%u states, %u parameters)",
              n_worker,
              (unsigned)model->abi.n_state, (unsigned)model->abi.n_parameter);
failed:
    if (pool)
        pool_free(&pool->base);
    return NULL;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    return linear_solver_word[linear_plan_kind(((const struct cvodes_pool *)pool)->plan)];
}

static bool take(struct cvodes_pool *pool, size_t i)
{
    bool expected = false;
    return atomic_compare_exchange_strong(&pool->slots[i].taken, &expected, true);
}

/* A workspace is always free (see struct slot), but another worker may take the one tried here; hence the loop. */
static size_t acquire(struct cvodes_pool *pool, size_t preferred)
{
    for (size_t i = preferred;; i = (i + 1) % pool->n_workspace)
        if (take(pool, i))
            return i;
}

static void release(struct cvodes_pool *pool, struct evaluation *evaluation)
{
    size_t slot = ((struct workspace *)evaluation->state)->slot;
    evaluation->state = NULL;
    atomic_store(&pool->slots[slot].taken, false);
}

static struct engine *engine_make(struct engine_pool *base, struct error *error)
{
    struct cvodes_pool *pool = (struct cvodes_pool *)base;
    struct cvodes_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
        return NULL;
    }
    size_t number = atomic_fetch_add(&pool->n_engine, 1);
    if (number >= pool->n_worker) {
        atomic_fetch_sub(&pool->n_engine, 1);
        free(engine);
        error_set(error, STATUS_INTERNAL, "more engines than the %zu workers that the pool was made for",
                  pool->n_worker);
        return NULL;
    }
    engine->pool = pool;
    engine->preferred = number;
    return &engine->base;
}

static void engine_end(struct engine *base)
{
    struct cvodes_engine *engine = (struct cvodes_engine *)base;
    if (engine->evaluation)
        release(engine->pool, engine->evaluation);
    atomic_fetch_sub(&engine->pool->n_engine, 1);
    free(engine);
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct cvodes_engine *engine = (struct cvodes_engine *)base;
    struct cvodes_pool *pool = engine->pool;
    engine->evaluation = evaluation;
    engine->finished = false;
    if (evaluation->state) {
        atomic_fetch_sub(&pool->n_aside, 1);
        return;
    }
    engine->preferred = acquire(pool, engine->preferred);
    evaluation->state = pool->slots[engine->preferred].workspace;
    evaluation->reason[0] = '\0';
    engine->finished = !simulation_begin(evaluation->state, evaluation);
}

static bool is_late(struct evaluation *evaluation)
{
    if (evaluation->deadline_ns == INT64_MAX || clock_now_ns() < evaluation->deadline_ns)
        return false;
    observer_stop(evaluation->state, EVALUATION_TIMEOUT, "the time is used up");
    return true;
}

/* Checked between the same steps on every thread, so that the evaluation always fails at the same point. */
static bool changed_rounding(struct evaluation *evaluation)
{
    char why[130];
    struct workspace *workspace = evaluation->state;
    if (floating_is_default())
        return false;
    floating_reset();
    snprintf(why, sizeof why, "the model %.40s changes the floating-point environment (rounding mode, traps)",
             workspace->o.model.abi->name);
    observer_stop(&workspace->o, EVALUATION_MODEL_FAILED, why);
    return true;
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct cvodes_engine *engine = (struct cvodes_engine *)base;
    struct evaluation *evaluation = engine->evaluation;
    if (!evaluation)
        return NULL;
    struct workspace *workspace = evaluation->state;
    bool finished = changed_rounding(evaluation) || engine->finished;
    while (!finished) {
        for (int i = 0; i < STEPS_PER_LOOK && !finished; i++) {
            finished = !simulation_step(workspace);
            if (turn && turn->heartbeat)
                counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        }
        finished = changed_rounding(evaluation) || finished;
        if (finished)
            break;
        finished = is_late(evaluation);
        if (!finished && turn && turn->over(turn->context))
            return NULL;
    }
    release(engine->pool, evaluation);
    engine->evaluation = NULL;
    return evaluation;
}

static bool withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct cvodes_engine *engine = (struct cvodes_engine *)base;
    struct cvodes_pool *pool = engine->pool;
    if (engine->evaluation != evaluation || engine->finished)
        return false;
    size_t n_aside = atomic_load(&pool->n_aside);
    do {
        if (n_aside >= pool->n_workspace - pool->n_worker)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->n_aside, &n_aside, n_aside + 1));
    engine->evaluation = NULL;
    return true;
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct cvodes_pool *pool = (struct cvodes_pool *)base;
    release(pool, evaluation);
    atomic_fetch_sub(&pool->n_aside, 1);
}

const struct engine_table engine_cvodes = {
    .name = "cvodes", .capacity = 1, .pool_new = pool_new, .pool_free = pool_free, .linear_solver = linear_solver,
    .engine_new = engine_make, .engine_free = engine_end, .submit = submit, .work = work, .withdraw = withdraw,
    .discard = discard};
