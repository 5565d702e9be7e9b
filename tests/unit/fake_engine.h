/* An engine without mathematics for tests of the scheduler: an evaluation takes `max_steps` looks at the turn and answers its
 * p[0]. It holds several at once and finishes them in no order that could be relied on.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H

#include "ode/engine.h"

#include <stdlib.h>

enum { FAKE_MOST = 8 };

struct fake_engine {
    struct engine base;
    size_t capacity, n;
    struct evaluation *held[FAKE_MOST];
    uint64_t random;
    bool (*may_end)(void *context, struct evaluation *evaluation); /* NULL: always */
    void *context;
};

static void fake_submit(struct engine *base, struct evaluation *evaluation)
{
    struct fake_engine *engine = (struct fake_engine *)base;
    if (engine->n == engine->capacity)
        abort();
    if (!evaluation->state)
        evaluation->n_step = 0;
    evaluation->state = evaluation;
    engine->held[engine->n++] = evaluation;
}

static void fake_take_out(struct fake_engine *engine, size_t i) { engine->held[i] = engine->held[--engine->n]; }

static struct evaluation *fake_work(struct engine *base, const struct engine_turn *turn)
{
    struct fake_engine *engine = (struct fake_engine *)base;
    while (engine->n > 0) {
        engine->random = engine->random * 6364136223846793005u + 1442695040888963407u; /* Knuth, MMIX */
        size_t i = (engine->random >> 33) % engine->n;
        struct evaluation *evaluation = engine->held[i];
        if (++evaluation->n_step >= evaluation->max_steps &&
            (!engine->may_end || engine->may_end(engine->context, evaluation))) {
            fake_take_out(engine, i);
            evaluation->state = NULL;
            evaluation->next = NULL;
            evaluation->prediction[0] = evaluation->p[0];
            return evaluation;
        }
        if (turn->over(turn->context))
            return NULL;
    }
    return NULL;
}

static bool fake_withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct fake_engine *engine = (struct fake_engine *)base;
    for (size_t i = 0; i < engine->n; i++)
        if (engine->held[i] == evaluation) {
            fake_take_out(engine, i);
            return true;
        }
    abort();
}

static const struct engine_table fake_table = {.submit = fake_submit, .work = fake_work,
                                               .withdraw = fake_withdraw};

#endif
