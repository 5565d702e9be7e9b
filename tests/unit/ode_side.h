/* What tests of engines share: an engine around a model, of either kind, with room for N_ASIDE evaluations beside those that it
 * works on.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_ODE_SIDE_H
#define TESTS_UNIT_ODE_SIDE_H

#include "ode_case.h"

enum { N_ASIDE = 16 };

struct side {
    struct model model;
    struct engine_pool *pool;
    struct engine *engine;
};

static inline void side_init(struct side *s, const struct engine_table *table, const struct stiffit_model *abi,
                      const struct stiffit_lanes *functions, double rtol, size_t n_worker)
{
    struct ode_options options = {.rtol = rtol, .atol = 0, .linear_solver = LINEAR_AUTO};
    struct error error = {0};
    *s = (struct side){.model.abi = *abi};
    s->model.abi.lanes = functions;
    s->pool = table->pool_new(table, &s->model, &options, table->capacity * n_worker + N_ASIDE, n_worker, &error);
    if (!s->pool)
        fail_msg("%s", error.message);
    s->pool->table = table;
    s->engine = engine_new(s->pool, &error);
    assert_non_null(s->engine);
}

static inline void side_fini(struct side *s)
{
    engine_free(s->engine);
    engine_pool_free(s->pool);
}

#endif
