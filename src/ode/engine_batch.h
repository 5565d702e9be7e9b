/* An engine made of an integrator (drive.h): each worker has a batch of its seats.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/engine.h"

struct engine_pool *engine_batch_pool_new(const struct engine_table *table, const struct model *model,
                                          const struct ode_options *options, size_t n_workspace, size_t n_worker,
                                          struct error *error);
void engine_batch_pool_free(struct engine_pool *pool);
const char *engine_batch_linear_solver(const struct engine_pool *pool);
struct engine *engine_batch_new(struct engine_pool *pool, struct error *error);
void engine_batch_free(struct engine *engine);
void engine_batch_submit(struct engine *engine, struct evaluation *evaluation);
struct evaluation *engine_batch_work(struct engine *engine, const struct engine_turn *turn);
bool engine_batch_withdraw(struct engine *engine, struct evaluation *evaluation);
void engine_batch_discard(struct engine_pool *pool, struct evaluation *evaluation);

/* The table of an integrator with so many seats; functions of struct engine_table, or NULL. */
#define ENGINE_OF_BATCHES(own, width, own_refusal, own_takes, own_suits) \
    {.capacity = width, .integrator = own, .refusal = own_refusal, .takes = own_takes, .suits = own_suits, \
     .pool_new = engine_batch_pool_new, .pool_free = engine_batch_pool_free, .linear_solver = engine_batch_linear_solver, \
     .engine_new = engine_batch_new, .engine_free = engine_batch_free, .submit = engine_batch_submit, \
     .work = engine_batch_work, .withdraw = engine_batch_withdraw, .discard = engine_batch_discard}
