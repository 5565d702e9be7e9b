/* Code common to all engines, and the calls through their tables.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include <math.h>

#define ENGINE_WORD(id, word) word,
const char *const engine_word[N_ENGINE] = {ENGINE_LIST(ENGINE_WORD)};

const char *engine_refusal(enum engine_kind kind, const struct stiffit_model *abi)
{
    const struct engine_table *table = engine_in_use[kind];
    return !table ? "cannot be simulated in lanes by this program" : table->refusal ? table->refusal(table, abi) : NULL;
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
    const struct engine_table *table = options->engine == ENGINE_LANES ? &engine_both : engine_in_use[ENGINE_CVODES];
    if (n_worker == 0)
        error_set(error, STATUS_INTERNAL, "an engine pool for no workers");
    if (n_worker == 0 || check_options(options, error))
        return NULL;
    struct engine_pool *pool = table->pool_new(table, model, options, n_workspace, n_worker, error);
    if (pool)
        pool->table = table;
    return pool;
}

void engine_pool_free(struct engine_pool *pool)
{
    if (pool)
        pool->table->pool_free(pool);
}

const char *engine_pool_linear_solver(const struct engine_pool *pool) { return pool->table->linear_solver(pool); }

size_t engine_capacity(const struct engine_pool *pool) { return pool->table->capacity; }

struct engine *engine_new(struct engine_pool *pool, struct error *error)
{
    struct engine *engine = pool->table->engine_new(pool, error);
    if (engine)
        engine->table = pool->table;
    return engine;
}

void engine_free(struct engine *engine)
{
    if (engine)
        engine->table->engine_free(engine);
}

void engine_submit(struct engine *engine, struct evaluation *evaluation) { engine->table->submit(engine, evaluation); }

struct evaluation *engine_work(struct engine *engine, const struct engine_turn *turn)
{
    return engine->table->work(engine, turn);
}

bool engine_withdraw(struct engine *engine, struct evaluation *evaluation)
{
    return engine->table->withdraw(engine, evaluation);
}

void engine_discard(struct engine_pool *pool, struct evaluation *evaluation)
{
    if (evaluation->state)
        pool->table->discard(pool, evaluation);
}

void engine_evaluate(struct engine *engine, struct evaluation *evaluation)
{
    engine_submit(engine, evaluation);
    while (!engine_work(engine, NULL))
        ;
}
