/* Which engine takes what, and pools of engines.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine.h"

#include <math.h>

#define ENGINE_WORD(id, word, table) word,
const char *const engine_word[N_ENGINE] = {ENGINE_LIST(ENGINE_WORD)};

const char *engine_refusal(enum engine_kind kind, const struct stiffit_model *abi)
{
    const struct engine_table *table = engine_in_use[kind];
    return !table ? "cannot be simulated by it in this program" : table->refusal ? table->refusal(abi) : NULL;
}

enum engine_kind engine_choose(const struct stiffit_model *abi, const struct engine_use *use)
{
    for (int kind = N_ENGINE - 1; kind > ENGINE_REFERENCE; kind--)
        if (engine_in_use[kind] && engine_in_use[kind]->suits && engine_in_use[kind]->suits(use) &&
            !engine_refusal((enum engine_kind)kind, abi))
            return (enum engine_kind)kind;
    return ENGINE_REFERENCE;
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
    bool is_reference = options->engine == ENGINE_REFERENCE;
    const struct engine_table *table = is_reference ? engine_in_use[ENGINE_REFERENCE] : &engine_both;
    if (n_worker == 0)
        error_set(error, STATUS_INTERNAL, "an engine pool for no workers");
    if (n_worker == 0 || check_options(options, error))
        return NULL;
    struct engine_pool *pool = table->pool_new(table, model, options, n_workspace, n_worker, error);
    if (pool) {
        pool->table = table;
        pool->capacity = is_reference ? table->capacity : engine_in_use[options->engine]->capacity;
    }
    return pool;
}

void engine_evaluate(struct engine *engine, struct evaluation *evaluation)
{
    engine_submit(engine, evaluation);
    while (!engine_work(engine, NULL))
        ;
}
