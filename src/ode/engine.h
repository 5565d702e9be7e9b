/* The engine carries evaluations out. This is the seam that other engines will fit: a worker submits up to
 * `engine_capacity` evaluations of different fits, lets the engine work until at least one is finished, and
 * hands the answers back in whatever order they come. The first engine is CVODES, of capacity 1.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_ENGINE_H
#define ODE_ENGINE_H

#include "base/error.h"
#include "model/plugin.h"
#include "ode/evaluation.h"
#include "par/monitor.h"

/* Shared by all workers of a run: the bounded pool of workspaces (integrator memory, vectors, scratch), each made once
 * and reused. `n_workspace` >= number of workers; each more lets one unfinished evaluation be set aside. */
struct engine_pool;
struct engine_pool *engine_pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error);
void engine_pool_free(struct engine_pool *pool);
/* "dense", "lapack" or "klu" */
const char *engine_pool_linear_solver(const struct engine_pool *pool);

/* One worker's engine. Not thread-safe; evaluations may move between the engines of one pool. */
struct engine;
struct engine *engine_new(struct engine_pool *pool, struct error *error);
void engine_free(struct engine *engine);
size_t engine_capacity(const struct engine *engine);

/* Asked between integrator steps (about every 16): true ends engine_work early. */
struct engine_turn {
    bool (*over)(void *context);
    void *context;
    struct counter *heartbeat; /* grows with every step; written by nobody else meanwhile. Or NULL */
};

/* Hands in a new evaluation, or one that engine_withdraw gave back. At most engine_capacity at a time. */
void engine_submit(struct engine *engine, struct evaluation *evaluation);
/* Works until an evaluation is finished (returned; its answer is filled in) or the turn is over (NULL). turn may
 * be NULL. */
struct evaluation *engine_work(struct engine *engine, const struct engine_turn *turn);
/* Sets one unfinished evaluation aside together with its workspace, so that this engine is free for another. NULL when
 * too few workspaces are left for that: then it has to go on. */
struct evaluation *engine_withdraw(struct engine *engine);
/* Gives up an evaluation that was withdrawn; its workspace becomes free. Its answer is undefined. */
void engine_discard(struct engine_pool *pool, struct evaluation *evaluation);

/* Submit and work until done: for tests, simulate and checks. */
void engine_evaluate(struct engine *engine, struct evaluation *evaluation);

#endif
