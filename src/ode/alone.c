/* SPDX-License-Identifier: BSD-3-Clause */
#include "ode/alone.h"

#include "base/process.h"

enum status ode_alone_init(struct ode_alone *alone, const struct model *model,
                           const struct ode_options *options, struct error *error)
{
    *alone = (struct ode_alone){.pool = engine_pool_new(model, options, 1, 1, error)};
    alone->engine = alone->pool ? engine_new(alone->pool, error) : NULL;
    return alone->engine ? STATUS_OK : error->status;
}

void ode_alone_fini(struct ode_alone *alone)
{
    engine_free(alone->engine);
    engine_pool_free(alone->pool);
    *alone = (struct ode_alone){.pool = NULL};
}

/* Between steps: the model's functions have returned. */
static bool set_alarm(void *context)
{
    process_alarm(((struct ode_alone *)context)->alarm_s);
    return false;
}

bool ode_alone_ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct ode_alone *alone = context;
    const struct engine_turn turn = {.over = set_alarm, .context = alone},
                             *watched = alone->alarm_s ? &turn : NULL;
    size_t capacity = engine_capacity(alone->pool), n_given = 0, n_done = 0;
    if (watched)
        set_alarm(alone);
    while (n_done < n) {
        while (n_given < n && n_given - n_done < capacity)
            engine_submit(alone->engine, evaluations[n_given++]);
        for (struct evaluation *done = engine_work(alone->engine, watched); done; done = done->next)
            n_done++;
    }
    if (watched)
        process_alarm(0);
    return true;
}

bool ode_alone_ask_both(void *context, struct evaluation *const *evaluations, size_t n)
{
    ode_alone_ask(context, evaluations, n);
    for (size_t k = 0; k < n; k++)
        if (evaluations[k]->outcome == EVALUATION_ODE_FAILED
            && evaluations[k]->engine != ENGINE_REFERENCE) {
            evaluations[k]->engine = ENGINE_REFERENCE;
            ode_alone_ask(context, &evaluations[k], 1);
        }
    return true;
}
