/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/one.h"

#include "fit/joint/internal.h"
#include "fit/objective/found.h"
#include "fit/objective/prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct one {
    struct joint joint;
    struct joint_session session;
    const struct fit_problem *problem;
    const struct fit_host *host;
    struct fit_host watched;  /* `host`, with a note of whether it has cancelled */
    bool is_cancelled;
    struct arena *arena;
};

static bool ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct one *one = context;
    one->is_cancelled = !one->host->ask(one->host->context, evaluations, n);
    return !one->is_cancelled;
}

static bool share(void *context, void (*work)(void *part), void *parts, size_t size, size_t n)
{
    struct one *one = context;
    one->is_cancelled = !one->host->share(one->host->context, work, parts, size, n);
    return !one->is_cancelled;
}

static int64_t elapsed(void *context)
{
    struct one *one = context;
    return one->host->elapsed_ns(one->host->context);
}

static void judged(void *context, double objective, double gradient_norm)
{
    struct one *one = context;
    one->host->judged(one->host->context, objective, gradient_norm);
}

static bool run_pass(void *context)
{
    struct one *one = context;
    joint_block_run(&one->joint, 0, one->problem, &one->watched, one->arena);
    return !one->is_cancelled;
}

/* Its passes until it has ended. False: it was cancelled. */
static bool search(struct one *one, const struct fit_options *options, uint32_t n_redrawn,
                   const struct joint_levels *levels)
{
    const struct fit_problem *problem = one->problem;
    struct joint *joint = &one->joint;
    const struct joint_host host = {.run_pass = run_pass, .context = one};
    one->session = (struct joint_session){.is_open = false};
    if (!joint_init(joint, options, problem->model, 1, problem->n_parameter, levels,
                    problem->scale)) {
        joint->end = (struct joint_end){.outcome = OUTCOME_out_of_memory, .culprit = 1};
        snprintf(joint->asker.reason, sizeof joint->asker.reason, "no memory for this fit");
        return true;
    }
    joint->seed = problem->seed;
    joint->task = problem->start_number;
    joint->n_redrawn = n_redrawn;
    joint->session = &one->session;
    return joint_search(joint, &host);
}

/* The optimiser and the gradients where the options leave these to the sizes. False: there is no
 * fit, and the record says why. */
static bool choose(const struct fit_problem *problem, const struct fit_host *host,
                   struct arena *arena, struct fit_options *options, struct fit_record *record)
{
    if (!fit_prepare_may_descend(options, problem->n_parameter))
        return true;
    const struct fit_asker *asker = fit_prepare(problem, options, host, arena, record);
    if (!asker)
        return false;
    options->optimizer = asker->optimizer;
    options->gradient = asker->gradient;
    return true;
}

void joint_one_run(const struct fit_problem *problem, const struct fit_options *options,
                   const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    struct fit_options chosen = *options;
    const uint64_t dataset = record->dataset;
    const uint32_t number = record->start;
    struct one *one = arena_calloc(arena, 1, sizeof *one);
    uint8_t *level = arena_alloc(arena, problem->n_parameter + 1);
    struct fit_start start = {.number = problem->start_number, .n_start = problem->n_start};
    bool is_over = true, goes_on = true;
    fit_clear(record, problem->n_parameter, problem->notes);
    if (!one || !level) {
        fit_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
        return;
    }
    if (!choose(problem, host, arena, &chosen, record))
        return;
    memset(level, 1, problem->n_parameter);
    const struct joint_levels levels = {.level = level};
    one->problem = problem;
    one->host = host;
    one->arena = arena;
    one->watched = (struct fit_host){.ask = ask, .share = host->share ? share : NULL,
                                     .elapsed_ns = elapsed,
                                     .judged = host->judged ? judged : NULL, .context = one};
    while (goes_on) {
        is_over = search(one, &chosen, start.n_redrawn, &levels);
        goes_on = is_over && !one->joint.end.has_best
                  && fit_start_redraw(&start, one->joint.end.outcome);
        if (goes_on)
            joint_fini(&one->joint);
    }
    if (is_over)
        joint_record(&one->joint, 0, record);
    joint_fini(&one->joint);
    record->dataset = dataset;
    record->start = number;
}
