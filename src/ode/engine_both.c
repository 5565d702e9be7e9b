/* Lanes, with CVODES beside them for evaluations that are not for lanes: of fits that have changed to CVODES, and checks by
 * the other engine. A worker has lanes, and as many engines of CVODES as there are lanes, because all evaluations that it
 * holds may be for CVODES.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include "base/clock.h"

#include <stdlib.h>

/* Part 0 are the lanes; each other part holds one evaluation for CVODES. */
enum { CAPACITY = STIFFIT_LANES, N_PART = 1 + CAPACITY };

struct both_pool {
    struct engine_pool base;
    const struct stiffit_model *abi;
    struct engine_pool *of[N_ENGINE];
};

struct part {
    struct engine *engine;
    struct evaluation *evaluation; /* CVODES: the one that it holds */
    size_t n;                      /* evaluations that it holds */
    int64_t used_ns;               /* for each of them; a newcomer is taken to have had as much as the others */
};

struct both {
    struct engine base;
    const struct both_pool *pool;
    size_t n;                      /* evaluations that all parts hold */
    struct part part[N_PART];
};

static void pool_free(struct engine_pool *base)
{
    struct both_pool *pool = (struct both_pool *)base;
    for (int kind = 0; kind < N_ENGINE; kind++)
        engine_pool_free(pool->of[kind]);
    free(pool);
}

static struct engine_pool *pool_new(const struct engine_table *both, const struct model *model,
                                    const struct ode_options *options, size_t n_workspace, size_t n_worker,
                                    struct error *error)
{
    (void)both;
    struct both_pool *pool = calloc(1, sizeof *pool);
    if (pool)
        pool->abi = &model->abi;
    size_t n_held = CAPACITY * n_worker, n_aside = n_workspace > n_worker ? n_workspace - n_worker : 0;
    if (!pool) {
        error_set(error, STATUS_NO_MEMORY, "no memory for the engines of %zu workers", n_worker);
        return NULL;
    }
    for (int kind = 0; kind < N_ENGINE; kind++) {
        const struct engine_table *table = engine_in_use[kind];
        pool->of[kind] = table->pool_new(table, model, options, n_aside + n_held, kind == ENGINE_LANES ? n_worker : n_held, error);
        if (!pool->of[kind]) {
            pool_free(&pool->base);
            return NULL;
        }
        pool->of[kind]->table = table;
    }
    return &pool->base;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    return engine_pool_linear_solver(((const struct both_pool *)pool)->of[ENGINE_CVODES]);
}

static void both_free(struct engine *base)
{
    struct both *both = (struct both *)base;
    for (int i = 0; i < N_PART; i++)
        engine_free(both->part[i].engine);
    free(both);
}

static struct engine *both_new(struct engine_pool *pool, struct error *error)
{
    struct both *both = calloc(1, sizeof *both);
    if (!both)
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engines");
    else
        both->pool = (const struct both_pool *)pool;
    for (int i = 0; both && i < N_PART; i++) {
        both->part[i].engine = engine_new(((struct both_pool *)pool)->of[i ? ENGINE_CVODES : ENGINE_LANES], error);
        if (!both->part[i].engine) {
            both_free(&both->base);
            return NULL;
        }
    }
    return both ? &both->base : NULL;
}

/* The part that holds evaluations and has had the least time for each of them; NULL: none does. */
static struct part *next(struct both *both)
{
    struct part *least = NULL;
    for (int i = 0; i < N_PART; i++) {
        struct part *part = &both->part[i];
        if (part->n && (!least || part->used_ns < least->used_ns))
            least = part;
    }
    return least;
}

/* The engine that takes an evaluation: lanes have no periodic states. Each evaluation of a task goes to the same one. */
static enum engine_kind kind_of(const struct evaluation *evaluation)
{
    return ode_has_periods(evaluation->task) || evaluation->task->n_phase ? ENGINE_CVODES : evaluation->engine;
}

/* The lanes, or the part of CVODES that holds `evaluation` (NULL: that holds none). */
static struct part *part_for(struct both *both, enum engine_kind kind, const struct evaluation *evaluation)
{
    struct part *part = both->part;
    if (kind == ENGINE_LANES)
        return part;
    for (part++; part->evaluation != evaluation; part++)
        ;
    return part;
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct both *both = (struct both *)base;
    struct part *least = next(both), *part = part_for(both, kind_of(evaluation), NULL);
    if (part->n++ == 0)
        part->used_ns = least ? least->used_ns : 0;
    both->n++;
    if (kind_of(evaluation) != ENGINE_LANES)
        part->evaluation = evaluation;
    engine_submit(part->engine, evaluation);
}

static void leave(struct both *both, struct part *part)
{
    part->evaluation = NULL;
    part->n--;
    both->n--;
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct both *both = (struct both *)base;
    const struct engine_turn look = {.over = always, .heartbeat = turn ? turn->heartbeat : NULL};
    struct evaluation *done = NULL;
    for (struct part *part; !done && (part = next(both));) {
        bool is_alone = part->n == both->n;
        int64_t began_ns = is_alone ? 0 : clock_now_ns();
        done = engine_work(part->engine, is_alone ? turn : &look);
        if (!is_alone)
            part->used_ns += (clock_now_ns() - began_ns) / (int64_t)part->n;
        for (const struct evaluation *each = done; each; each = each->next)
            leave(both, part);
        if (!done && (is_alone || (turn && turn->over(turn->context))))
            break;
    }
    both->base.n_attempt = both->part[0].engine->n_attempt;
    both->base.n_held = both->part[0].engine->n_held;
    return done;
}

static bool withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct both *both = (struct both *)base;
    struct part *part = part_for(both, kind_of(evaluation), evaluation);
    bool is_out = engine_withdraw(part->engine, evaluation);
    if (is_out)
        leave(both, part);
    return is_out;
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct both_pool *pool = (struct both_pool *)base;
    engine_discard(pool->of[kind_of(evaluation)], evaluation);
}

const struct engine_table engine_both = {
    .capacity = CAPACITY, .pool_new = pool_new, .pool_free = pool_free, .linear_solver = linear_solver,
    .engine_new = both_new, .engine_free = both_free, .submit = submit, .work = work, .withdraw = withdraw,
    .discard = discard};
