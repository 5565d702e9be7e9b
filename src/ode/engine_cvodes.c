/* The CVODES engine: the bounded pool of workspaces, and an engine per worker that holds one of them. The state of an
 * evaluation is the workspace that it occupies.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include "base/clock.h"
#include "base/floating.h"
#include "ode/engine_slots.h"
#include "ode/period.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Integrator steps between two checks of the clock and the turn. */
enum { STEPS_PER_LOOK = 16 };

struct cvodes_pool {
    struct engine_pool base;
    struct linear_plan *plan;
    struct engine_slots slots; /* of workspaces */
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
    for (size_t i = 0; pool->slots.slot && i < pool->slots.n; i++)
        workspace_free(pool->slots.slot[i].content);
    engine_slots_fini(&pool->slots);
    linear_plan_free(pool->plan);
    free(pool);
}

static struct engine_pool *pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error)
{
    struct cvodes_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        goto out_of_memory;
    size_t n = n_workspace > n_worker ? n_workspace : n_worker;
    if (!engine_slots_init(&pool->slots, n, n - n_worker, n_worker))
        goto out_of_memory;
    pool->plan = linear_plan_new(&model->abi, options->linear_solver, error);
    if (!pool->plan)
        goto failed;
    for (size_t i = 0; i < n; i++) {
        struct workspace *workspace = workspace_new(&model->abi, options, pool->plan);
        if (!workspace)
            goto out_of_memory;
        workspace->slot = i;
        pool->slots.slot[i].content = workspace;
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

static void release(struct cvodes_pool *pool, struct evaluation *evaluation)
{
    engine_slots_give(&pool->slots, ((struct workspace *)evaluation->state)->slot);
    evaluation->state = NULL;
}

static struct engine *engine_make(struct engine_pool *base, struct error *error)
{
    struct cvodes_pool *pool = (struct cvodes_pool *)base;
    struct cvodes_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
        return NULL;
    }
    if (!engine_slots_join(&pool->slots, &engine->preferred, error)) {
        free(engine);
        return NULL;
    }
    engine->pool = pool;
    return &engine->base;
}

static void engine_end(struct engine *base)
{
    struct cvodes_engine *engine = (struct cvodes_engine *)base;
    if (engine->evaluation)
        release(engine->pool, engine->evaluation);
    engine_slots_leave(&engine->pool->slots);
    free(engine);
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct cvodes_engine *engine = (struct cvodes_engine *)base;
    struct cvodes_pool *pool = engine->pool;
    engine->evaluation = evaluation;
    engine->finished = false;
    if (evaluation->state) {
        engine_slots_resume(&pool->slots);
        return;
    }
    engine->preferred = engine_slots_take(&pool->slots, engine->preferred);
    evaluation->state = pool->slots.slot[engine->preferred].content;
    evaluation->reason[0] = '\0';
    engine->finished = !period_begin(evaluation->state, evaluation);
}

static bool is_late(struct evaluation *evaluation)
{
    if (evaluation->deadline_ns == INT64_MAX || clock_now_ns() < evaluation->deadline_ns)
        return false;
    struct workspace *workspace = evaluation->state;
    workspace->o.evaluation = evaluation; /* not that of a period */
    observer_stop(&workspace->o, EVALUATION_TIMEOUT, "the time is used up");
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
    workspace->o.evaluation = evaluation;
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
            finished = !period_step(workspace);
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
    if (!engine_slots_set_aside(&pool->slots))
        return false;
    engine->evaluation = NULL;
    return true;
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct cvodes_pool *pool = (struct cvodes_pool *)base;
    release(pool, evaluation);
    engine_slots_resume(&pool->slots);
}

const struct engine_table engine_cvodes = {
    .name = "cvodes", .capacity = 1, .pool_new = pool_new, .pool_free = pool_free, .linear_solver = linear_solver,
    .engine_new = engine_make, .engine_free = engine_end, .submit = submit, .work = work, .withdraw = withdraw,
    .discard = discard};
