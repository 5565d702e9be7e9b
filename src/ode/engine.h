/* The engine computes evaluations. A worker submits as many as the engine holds, from any fits, lets it work until some are
 * finished, and passes their answers on. An engine is a table of functions; the data that it
 * keeps for an evaluation are opaque to others. CVODES has capacity 1; lanes hold several and advance them together.
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

struct engine_pool; /* shared by all workers of a run */
struct integrator;
struct engine;      /* one worker's; not thread-safe. Evaluations may move between the engines of one pool */

/* The functions below check their arguments and call these. */
struct engine_table {
    size_t capacity; /* evaluations that a worker's engine holds at once */
    const struct integrator *integrator; /* of engine_batch.h; or NULL */
    /* Why it cannot take the model, as in "the model ..."; NULL: it can. A NULL pointer: it takes all. */
    const char *(*refusal)(const struct engine_table *table, const struct stiffit_model *abi);
    struct engine_pool *(*pool_new)(const struct engine_table *table, const struct model *model,
                                    const struct ode_options *options, size_t n_workspace, size_t n_worker,
                                    struct error *error);
    void (*pool_free)(struct engine_pool *pool);
    const char *(*linear_solver)(const struct engine_pool *pool);
    struct engine *(*engine_new)(struct engine_pool *pool, struct error *error);
    void (*engine_free)(struct engine *engine);
    void (*submit)(struct engine *engine, struct evaluation *evaluation);
    struct evaluation *(*work)(struct engine *engine, const struct engine_turn *turn);
    bool (*withdraw)(struct engine *engine, struct evaluation *evaluation);
    void (*discard)(struct engine_pool *pool, struct evaluation *evaluation);
};

/* The first members of each engine's own structs. */
struct engine_pool {
    const struct engine_table *table;
};
struct engine {
    const struct engine_table *table;
    /* Attempts at steps by all lanes together, and how many lanes held an evaluation, summed over them; other engines: 0. */
    uint64_t n_attempt, n_held;
};

extern const struct engine_table engine_cvodes, engine_lanes;
/* Lanes with CVODES beside them; each evaluation goes to the one that it is for. */
extern const struct engine_table engine_both;
extern const struct engine_table *const engine_in_use[N_ENGINE]; /* NULL: this program has none */

/* Why an engine cannot take the model ("the model has ..."); NULL: it can. */
const char *engine_refusal(enum engine_kind kind, const struct stiffit_model *abi);

/* A pool of the engines in use, with lanes if options->engine asks for them: the workspaces (integrator memory, vectors,
 * scratch), each allocated once and reused. Every workspace beyond `n_worker` times the capacity lets one unfinished evaluation
 * be set aside; there are at least `n_workspace`. */
struct engine_pool *engine_pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error);
void engine_pool_free(struct engine_pool *pool);
/* One of linear_solver_word. */
const char *engine_pool_linear_solver(const struct engine_pool *pool);
size_t engine_capacity(const struct engine_pool *pool);

struct engine *engine_new(struct engine_pool *pool, struct error *error);
void engine_free(struct engine *engine);

/* Submits a new evaluation, or one that was withdrawn. At most engine_capacity at a time. */
void engine_submit(struct engine *engine, struct evaluation *evaluation);
/* Works until evaluations are finished, which are returned as a list (`next`) with their answers filled in, or until the turn is
 * over or no evaluation is left (NULL). turn may be NULL. An engine that works on one evaluation after the other gives each the same
 * time, not the same number of steps: a step of a slow model takes seconds, and fast fits in the same engine would end no
 * sooner than the slow one. */
struct evaluation *engine_work(struct engine *engine, const struct engine_turn *turn);
/* Sets an unfinished evaluation aside together with its workspace, so that this engine has room for another. False: too few
 * workspaces are left, or the evaluation is finished; it must then continue here. */
bool engine_withdraw(struct engine *engine, struct evaluation *evaluation);
/* Drops an evaluation that was withdrawn and frees its workspace. Its answer is undefined. Does nothing if it was never
 * begun. */
void engine_discard(struct engine_pool *pool, struct evaluation *evaluation);

/* Submits an evaluation and works until it is finished: for tests, simulate and checks. */
void engine_evaluate(struct engine *engine, struct evaluation *evaluation);
