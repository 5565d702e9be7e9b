/* The CVODES engine: the bounded pool of workspaces and each worker's hold on one of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include "base/clock.h"
#include "base/floating.h"
#include "ode/workspace.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Integrator steps between two looks at the clock and at the turn. */
enum { STEPS_PER_LOOK = 16 };

/* A workspace is free, held by an engine, or set aside with an unfinished evaluation. At most n_workspace -
 * n_worker are set aside at any moment, so that a worker without one always finds one. */
struct slot {
    _Alignas(64) atomic_bool taken; /* a cache line each: workers take and release all the time */
    struct workspace *workspace;
};

struct engine_pool {
    size_t n_workspace, n_worker;
    struct linear_plan *plan;
    struct slot *slots; /* n_workspace */
    atomic_size_t n_aside, n_engine;
};

struct engine {
    struct engine_pool *pool;
    struct evaluation *evaluation; /* under way, or NULL */
    bool finished;                 /* it ended when it was begun */
    size_t preferred;              /* the workspace used last: its memory is warm */
};

void engine_pool_free(struct engine_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; pool->slots && i < pool->n_workspace; i++)
        workspace_free(pool->slots[i].workspace);
    free(pool->slots);
    linear_plan_free(pool->plan);
    free(pool);
}

static enum status check_options(const struct ode_options *options, struct error *error)
{
    if (!(options->rtol > 0 && options->rtol < 1))
        return error_set(error, STATUS_USAGE, "rtol must be above 0 and below 1, not %g", options->rtol);
    if (!(options->atol >= 0 && isfinite(options->atol)))
        return error_set(error, STATUS_USAGE, "atol must be 0 (the states' own sizes) or above and finite, not %g",
                         options->atol);
    return STATUS_OK;
}

struct engine_pool *engine_pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error)
{
    if (check_options(options, error) != STATUS_OK)
        return NULL;
    struct engine_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        goto out_of_memory;
    pool->n_worker = n_worker;
    pool->n_workspace = n_workspace > n_worker ? n_workspace : n_worker;
    if (n_worker == 0) {
        error_set(error, STATUS_INTERNAL, "an engine pool for no workers");
        goto failed;
    }
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
    return pool;
out_of_memory:
    error_set(error, STATUS_NO_MEMORY, "no memory for the integrators of %zu workers (%u states, %u parameters)",
              n_worker,
              (unsigned)model->abi.n_state, (unsigned)model->abi.n_parameter);
failed:
    engine_pool_free(pool);
    return NULL;
}

const char *engine_pool_linear_solver(const struct engine_pool *pool)
{
    switch (linear_plan_kind(pool->plan)) {
    case LINEAR_KLU:
        return "klu";
    case LINEAR_LAPACK:
        return "lapack";
    default:
        return "dense";
    }
}

static bool take(struct engine_pool *pool, size_t i)
{
    bool expected = false;
    return atomic_compare_exchange_strong(&pool->slots[i].taken, &expected, true);
}

/* There is always one, see engine_pool; another worker may be quicker with the one looked at, hence the loop. */
static size_t acquire(struct engine_pool *pool, size_t preferred)
{
    for (size_t i = preferred;; i = (i + 1) % pool->n_workspace)
        if (take(pool, i))
            return i;
}

static void release(struct engine_pool *pool, struct evaluation *evaluation)
{
    size_t slot = evaluation->workspace->slot;
    evaluation->workspace = NULL;
    atomic_store(&pool->slots[slot].taken, false);
}

struct engine *engine_new(struct engine_pool *pool, struct error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);
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
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->evaluation && engine->evaluation->workspace)
        release(engine->pool, engine->evaluation);
    atomic_fetch_sub(&engine->pool->n_engine, 1);
    free(engine);
}

size_t engine_capacity(const struct engine *engine)
{
    (void)engine;
    return 1;
}

void engine_submit(struct engine *engine, struct evaluation *evaluation)
{
    struct engine_pool *pool = engine->pool;
    engine->evaluation = evaluation;
    engine->finished = false;
    if (evaluation->workspace) {
        atomic_fetch_sub(&pool->n_aside, 1);
        return;
    }
    engine->preferred = acquire(pool, engine->preferred);
    evaluation->workspace = pool->slots[engine->preferred].workspace;
    evaluation->reason[0] = '\0';
    engine->finished = !simulation_begin(evaluation->workspace, evaluation);
}

static bool is_late(struct evaluation *evaluation)
{
    if (evaluation->deadline_ns == INT64_MAX || clock_now_ns() < evaluation->deadline_ns)
        return false;
    simulation_stop(evaluation->workspace, EVALUATION_TIMEOUT, "the time is used up");
    return true;
}

/* Looked at between the same steps wherever and whenever the evaluation is carried out, so that it fails likewise. */
static bool changed_rounding(struct evaluation *evaluation)
{
    char why[130];
    struct workspace *workspace = evaluation->workspace;
    if (floating_is_default())
        return false;
    floating_reset();
    snprintf(why, sizeof why, "the model %.40s changes the floating-point environment (rounding mode, traps)",
             workspace->model.abi->name);
    simulation_stop(workspace, EVALUATION_MODEL_FAILED, why);
    return true;
}

struct evaluation *engine_work(struct engine *engine, const struct engine_turn *turn)
{
    struct evaluation *evaluation = engine->evaluation;
    if (!evaluation)
        return NULL;
    struct workspace *workspace = evaluation->workspace;
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

struct evaluation *engine_withdraw(struct engine *engine)
{
    struct engine_pool *pool = engine->pool;
    struct evaluation *evaluation = engine->evaluation;
    if (!evaluation || engine->finished)
        return NULL;
    size_t n_aside = atomic_load(&pool->n_aside);
    do {
        if (n_aside >= pool->n_workspace - pool->n_worker)
            return NULL;
    } while (!atomic_compare_exchange_weak(&pool->n_aside, &n_aside, n_aside + 1));
    engine->evaluation = NULL;
    return evaluation;
}

void engine_discard(struct engine_pool *pool, struct evaluation *evaluation)
{
    if (!evaluation->workspace)
        return;
    release(pool, evaluation);
    atomic_fetch_sub(&pool->n_aside, 1);
}

void engine_evaluate(struct engine *engine, struct evaluation *evaluation)
{
    engine_submit(engine, evaluation);
    engine_work(engine, NULL);
}
