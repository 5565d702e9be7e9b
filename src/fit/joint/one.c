/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/one.h"

#include "fit/joint/internal.h"
#include "fit/objective/prepare.h"
#include "fit/objective/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct one {
    struct joint joint;
    struct joint_session session;
    const struct fit_problem *problem;
    struct fit_options *options;
    bool may_turn;            /* they were free to have another optimiser */
    struct joint_levels levels;
    /* of searches before this one, which have found no point, or met a switch */
    struct fit_work used;
    uint32_t notes;
    const struct fit_host *host;
    struct {
        const unsigned char *bytes; /* n, of an earlier process; NULL: none */
        size_t n;
    } state;
    struct arena *arena;
};

static bool is_cancelled(const struct one *one)
{
    const struct fit_asker *asker = one->session.work.asker;
    return asker && asker->is_cancelled;
}

static bool run_pass(void *context)
{
    struct one *one = context;
    joint_block_run(&one->joint, 0, one->problem, one->host, one->arena);
    return !is_cancelled(one) && !one->session.turns;
}

/* Between two steps. */
static void keep(void *context)
{
    struct one *one = context;
    const struct fit_keeper *keeper = one->host->keeper;
    size_t n;
    if (!keeper || !keeper->is_due(keeper->context))
        return;
    unsigned char *bytes = joint_save(&one->joint, &n);
    keeper->keep(keeper->context, bytes, n);
}

static bool make(struct one *one, uint32_t n_redrawn)
{
    const struct fit_problem *problem = one->problem;
    struct joint *joint = &one->joint;
    one->session = (struct joint_session){.may_turn = one->may_turn};
    bool is_good = joint_init(joint, one->options, problem->model, 1, problem->n_parameter,
                              &one->levels, problem->scale, one->arena);
    joint->seed = problem->seed;
    joint->task = problem->start_number;
    joint->start.n_redrawn = n_redrawn;
    joint->start.n_start = problem->n_start;
    joint->session = &one->session;
    if (is_good) {
        joint->block->used = one->used;
        joint->block->notes = one->notes;
    }
    return is_good;
}

/* From the beginning, or where another process was. */
static bool begin(struct one *one, uint32_t *n_redrawn)
{
    bool is_good = make(one, *n_redrawn), is_loaded = one->state.bytes && is_good;
    if (is_loaded && !joint_load(&one->joint, one->state.bytes, one->state.n)) {
        joint_fini(&one->joint);
        is_loaded = false;
        is_good = make(one, *n_redrawn);
    }
    one->state.bytes = NULL;
    *n_redrawn = is_loaded ? one->joint.start.n_redrawn : *n_redrawn;
    return is_good;
}

/* Its passes until it has ended. False: it was cancelled. */
static bool search(struct one *one, uint32_t *n_redrawn)
{
    struct joint *joint = &one->joint;
    const struct joint_host host = {.run_pass = run_pass, .keep = keep, .context = one};
    bool is_good = begin(one, n_redrawn), is_over = !is_good || joint_search(joint, &host);
    if (is_good && joint->saved.is_bad) {
        joint_fini(joint);
        is_good = make(one, *n_redrawn = 0);
        is_over = !is_good || joint_search(joint, &host);
    }
    if (is_good)
        return is_over;
    joint->end = (struct joint_end){.outcome = OUTCOME_out_of_memory, .culprit = 1};
    snprintf(joint->asker.reason, sizeof joint->asker.reason, "no memory for this fit");
    return true;
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

/* Another search begins, from the next start or without adjoint gradients. */
static void begin_again(struct one *one)
{
    const struct joint_block *block = one->joint.block;
    one->used = block->used;
    one->notes = block->notes;
    if (one->session.turns) {
        one->options->optimizer = OPTIMIZER_trf;
        one->options->gradient = GRADIENT_differences;
    }
    joint_fini(&one->joint);
}

/* False: it was cancelled. */
static bool run(struct one *one, struct fit_record *record)
{
    const struct fit_problem *problem = one->problem;
    const uint64_t dataset = record->dataset;
    const uint32_t number = record->start;
    struct fit_start start = {.number = problem->start_number, .n_start = problem->n_start};
    bool is_over = true, goes_on = true;
    while (goes_on) {
        is_over = search(one, &start.n_redrawn);
        goes_on = (one->session.turns && !is_cancelled(one)) ||
                  (is_over && !one->joint.end.has_best &&
                   fit_start_redraw(&start, one->joint.end.outcome));
        if (goes_on)
            begin_again(one);
    }
    if (is_over && one->joint.block)
        joint_record(&one->joint, 0, record);
    else if (is_over)
        fit_record_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    joint_fini(&one->joint);
    record->dataset = dataset;
    record->start = number;
    return is_over;
}

/* As fit_run, with the sigmas that are known. */
static void run_known(const struct fit_problem *problem, const struct fit_options *options,
                      const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    const struct fit_keeper *keeper = host->keeper;
    size_t n = problem->n_parameter;
    struct fit_options chosen = *options;
    struct one *one = arena_alloc(arena, sizeof *one);
    uint8_t *level = arena_alloc(arena, n + 1);
    fit_record_begin(record, n, problem->notes);
    if (!one || !level) {
        fit_record_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
        return;
    }
    memset(level, 1, n);
    one->problem = problem;
    one->host = host;
    one->options = &chosen;
    one->may_turn = options->optimizer == OPTIMIZER_none;
    one->used = (struct fit_work){.n_step = 0};
    one->notes = 0;
    one->levels = (struct joint_levels){.level = level};
    one->state.bytes = NULL;
    one->state.n = 0;
    one->arena = arena;
    if (keeper && keeper->begin(keeper->context, n, record, &one->state.bytes, &one->state.n))
        return;
    if (choose(problem, host, arena, &chosen, record) && run(one, record) && keeper)
        keeper->end(keeper->context, n, record);
}

void fit_run(const struct fit_problem *problem, const struct fit_options *options,
             const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    if (!fit_unit_is_open(problem)) {
        run_known(problem, options, host, arena, record);
    } else if (!fit_unit_find(problem, options, host, arena, record, run_known)) {
        fit_record_begin(record, problem->n_parameter, problem->notes);
        fit_record_fail(record, OUTCOME_out_of_memory, "no memory for this fit");
    }
}
