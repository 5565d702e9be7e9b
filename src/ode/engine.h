/* The engine carries evaluations out: a worker submits as many as the engine holds, of any fits, lets it work until one is
 * finished, and hands the answers back in whatever order they come. An engine is a table of functions; what it keeps of an
 * evaluation is its own. The first engine is CVODES, of capacity 1.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_ENGINE_H
#define ODE_ENGINE_H

#include "base/error.h"
#include "model/plugin.h"
#include "ode/evaluation.h"
#include "par/monitor.h"

/* Called between integrator steps (about every 16): true ends engine_work early. */
struct engine_turn {
    bool (*over)(void *context);
    void *context;
    struct counter *heartbeat; /* grows with every step; no other thread writes it meanwhile. Or NULL */
};

struct engine_pool; /* shared by all workers of a run */
struct engine;      /* one worker's. Not thread-safe; evaluations may move between the engines of one pool */

/* The functions below call these, with arguments that have been checked. */
struct engine_table {
    const char *name;
    size_t capacity; /* evaluations that one worker's engine holds at once */
    struct engine_pool *(*pool_new)(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error);
    void (*pool_free)(struct engine_pool *pool);
    const char *(*linear_solver)(const struct engine_pool *pool);
    struct engine *(*engine_new)(struct engine_pool *pool, struct error *error);
    void (*engine_free)(struct engine *engine);
    void (*submit)(struct engine *engine, struct evaluation *evaluation);
    struct evaluation *(*work)(struct engine *engine, const struct engine_turn *turn);
    bool (*withdraw)(struct engine *engine, struct evaluation *evaluation);
    void (*discard)(struct engine_pool *pool, struct evaluation *evaluation);
};

/* The first members of an engine's own structs. */
struct engine_pool {
    const struct engine_table *table;
};
struct engine {
    const struct engine_table *table;
};

extern const struct engine_table engine_cvodes;
extern const struct engine_table *const engine_in_use;

/* A pool of the engine in use: the workspaces (integrator memory, vectors, scratch), each made once and reused. Each one beyond
 * `n_worker` times the capacity lets one unfinished evaluation be set aside; there are at least `n_workspace`. */
struct engine_pool *engine_pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error);
void engine_pool_free(struct engine_pool *pool);
/* "dense", "lapack" or "klu" */
const char *engine_pool_linear_solver(const struct engine_pool *pool);
size_t engine_capacity(const struct engine_pool *pool);

struct engine *engine_new(struct engine_pool *pool, struct error *error);
void engine_free(struct engine *engine);

/* Hands in a new evaluation, or one that was withdrawn. At most engine_capacity at a time. */
void engine_submit(struct engine *engine, struct evaluation *evaluation);
/* Works until an evaluation is finished (returned; its answer is filled in), or the turn is over or there is none (NULL). turn
 * may be NULL. An engine that works on one evaluation after the other gives each the same time, not the same number of steps:
 * a step of a slow model takes seconds, and fast fits beside it would end no sooner than the slow one. */
struct evaluation *engine_work(struct engine *engine, const struct engine_turn *turn);
/* Sets an unfinished evaluation aside together with its workspace, so that this engine has room for another. False when too
 * few workspaces are left for that, or it is finished already: then it has to go on. */
bool engine_withdraw(struct engine *engine, struct evaluation *evaluation);
/* Gives up an evaluation that was withdrawn; its workspace becomes free. Its answer is undefined. One that has not begun is
 * left as it is. */
void engine_discard(struct engine_pool *pool, struct evaluation *evaluation);

/* Submit and work until done: for tests, simulate and checks. */
void engine_evaluate(struct engine *engine, struct evaluation *evaluation);

#endif
