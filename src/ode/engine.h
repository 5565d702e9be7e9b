/* The engine computes evaluations. A worker submits as many as the engine holds, from any fits,
 * lets it work until some are finished, and passes their answers on. An engine is a table of
 * functions; the data that it keeps for an evaluation are opaque to others. CVODES has capacity
 * 1; lanes hold several and advance them together.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "model/plugin.h"
#include "ode/evaluation.h"
#include "par/monitor.h"

/* Called about every 16 integrator steps; true ends engine_work early. */
struct engine_turn {
    bool (*over)(void *context);
    void *context;
    struct counter *heartbeat; /* incremented at every step, by this thread only; or NULL */
};

/* What a run needs of its engine, besides evaluations by forward sensitivities. */
struct engine_use {
    bool has_adjoint, has_differences; /* gradients */
    bool has_solver;                   /* a linear solver was asked for */
    bool has_periods, has_phases, has_calls; /* of its tasks */
};

struct engine_pool; /* shared by all workers of a run */
struct integrator;
/* one worker's; not thread-safe. Evaluations may move between the engines of one pool */
struct engine;

struct engine_table {
    size_t capacity; /* evaluations that a worker's engine holds at once, at most */
    const struct integrator *integrator; /* of drive.h; or NULL */
    /* Why it cannot take the model, as in "the model ..."; NULL: it can. A NULL pointer: it
     * takes all. */
    const char *(*refusal)(const struct stiffit_model *abi);
    /* Another engine whose bits it gives, and which stands for it in what a result depends on;
     * NULL: itself. */
    const struct engine_table *like;
    bool only_plain; /* takes only tasks without steady doses and phases; no engine but the
                      * reference takes adjoints */
    /* Whether it is to be taken if none is asked for; NULL: never. */
    bool (*suits)(const struct engine_use *use);
    struct engine_pool *(*pool_new)(const struct engine_table *table, const struct model *model,
                                    const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error);
    void (*pool_free)(struct engine_pool *pool);
    /* What the user should know of it, at the beginning or at the end of a run. False: nothing.
     * NULL: it never tells. */
    bool (*tell)(const struct engine_pool *pool, bool is_end, char *line, size_t size);
    const char *(*linear_solver)(const struct engine_pool *pool);
    /* What it costs to work on n evaluations at once, in any unit; NULL: they share no work. */
    uint32_t (*cost)(const struct engine_pool *pool, size_t n);
    struct engine *(*engine_new)(struct engine_pool *pool, struct error *error);
    void (*engine_free)(struct engine *engine);
    void (*submit)(struct engine *engine, struct evaluation *evaluation);
    struct evaluation *(*work)(struct engine *engine, const struct engine_turn *turn);
    bool (*withdraw)(struct engine *engine, struct evaluation *evaluation);
    bool (*give_up)(struct engine *engine, struct evaluation *evaluation); /* NULL: as withdraw */
    void (*discard)(struct engine_pool *pool, struct evaluation *evaluation);
};

/* The first members of each engine's own structs. */
struct engine_pool {
    const struct engine_table *table;
    size_t capacity; /* evaluations that a worker's engine holds at once; 0 in a new pool: as
                      * many as its table says */
};
struct engine {
    const struct engine_table *table;
    /* Of engines that hold several evaluations: places for them at attempts at a step, and those
     * that were taken. */
    uint64_t n_seat, n_held;
};

#define ENGINE_TABLE(id, word, table) extern const struct engine_table table;
ENGINE_LIST(ENGINE_TABLE)
#undef ENGINE_TABLE
extern const struct engine_table *const engine_in_use[N_ENGINE]; /* NULL: this program has none */

/* Who can take what. Why an engine cannot take the model ("the model has ..."); NULL: it can. */
const char *engine_refusal(enum engine_kind kind, const struct stiffit_model *abi);
/* The first engine that gives the same bits. */
enum engine_kind engine_of_bits(enum engine_kind kind);
/* The engine for a run that asks for none. */
enum engine_kind engine_choose(const struct stiffit_model *abi, const struct engine_use *use);
/* The engine that carries an evaluation out, in a pool that has `kind` and the reference. The
 * same for each evaluation of a task. */
static inline enum engine_kind engine_for(const struct evaluation *evaluation,
                                          enum engine_kind kind)
{
    const struct ode_task *task = evaluation->task;
    bool is_plain = task->n_phase == 0 && !ode_has_periods(task);
    bool is_taken = kind != ENGINE_REFERENCE && evaluation->engine != ENGINE_REFERENCE &&
                    !evaluation->adjoint && (is_plain || !engine_in_use[kind]->only_plain);
    return is_taken ? kind : ENGINE_REFERENCE;
}

/* A pool of the reference and of options->engine: the workspaces (integrator memory, vectors,
 * scratch), each allocated once and reused. Every workspace beyond `n_worker` times the capacity
 * lets one unfinished evaluation be set aside; there are at least `n_workspace`. */
struct engine_pool *engine_pool_new(const struct model *model, const struct ode_options *options,
                                    size_t n_workspace, size_t n_worker, struct error *error);
static inline void engine_pool_free(struct engine_pool *pool)
{
    if (pool)
        pool->table->pool_free(pool);
}
/* One of linear_solver_word. */
static inline const char *engine_pool_linear_solver(const struct engine_pool *pool)
{
    return pool->table->linear_solver(pool);
}
/* What it costs a worker to work on n evaluations of the pool's own engine at once, in any unit;
 * 0: they share no work. */
static inline uint32_t engine_cost(const struct engine_pool *pool, size_t n)
{
    return pool->table->cost ? pool->table->cost(pool, n) : 0;
}
/* A line about the engine for the user, at the beginning or at the end of a run. False: there is
 * none. */
static inline bool engine_pool_tell(const struct engine_pool *pool, bool is_end, char *line,
                                    size_t size)
{
    return pool->table->tell && pool->table->tell(pool, is_end, line, size);
}
/* How many evaluations a worker may submit to its engine at once. */
static inline size_t engine_capacity(const struct engine_pool *pool) { return pool->capacity; }

static inline struct engine *engine_new(struct engine_pool *pool, struct error *error)
{
    struct engine *engine = pool->table->engine_new(pool, error);
    if (engine)
        engine->table = pool->table;
    return engine;
}
static inline void engine_free(struct engine *engine)
{
    if (engine)
        engine->table->engine_free(engine);
}

/* Submits a new evaluation, or one that was withdrawn. At most engine_capacity at a time. */
static inline void engine_submit(struct engine *engine, struct evaluation *evaluation)
{
    engine->table->submit(engine, evaluation);
}
/* Works until evaluations are finished, which are returned as a list (`next`) with their answers
 * filled in, or until the turn is over or no evaluation is left (NULL). turn may be NULL. An
 * engine that works on one evaluation after the other gives each the same time, not the same
 * number of steps: a step of a slow model takes seconds, and fast fits in the same engine would
 * end no sooner than the slow one. */
static inline struct evaluation *engine_work(struct engine *engine, const struct engine_turn *turn)
{
    return engine->table->work(engine, turn);
}
/* Sets an unfinished evaluation aside together with its workspace, so that this engine has room
 * for another. False: too few workspaces are left, or the evaluation is finished; it must then
 * continue here. */
static inline bool engine_withdraw(struct engine *engine, struct evaluation *evaluation)
{
    return engine->table->withdraw(engine, evaluation);
}
/* engine_withdraw for an evaluation that nobody will continue, because the run stops: what the
 * engine has found may be lost. */
static inline bool engine_give_up(struct engine *engine, struct evaluation *evaluation)
{
    const struct engine_table *table = engine->table;
    return (table->give_up ? table->give_up : table->withdraw)(engine, evaluation);
}
/* Drops an evaluation that was withdrawn and frees its workspace. Its answer is undefined. Does
 * nothing if it was never begun. */
static inline void engine_discard(struct engine_pool *pool, struct evaluation *evaluation)
{
    if (evaluation->state)
        pool->table->discard(pool, evaluation);
}

/* Submits an evaluation and works until it is finished: for tests, simulate and checks. */
void engine_evaluate(struct engine *engine, struct evaluation *evaluation);
