/* Sets up what one dataset needs in a pass of a fit over many, and what it keeps from pass to pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/alone.h"
#include "base/memory.h"
#include "fit/joint/internal.h"
#include "fit/joint/kinks.h"
#include "fit/objective/prepare.h"
#include "fit/objective/start.h"
#include "fit/objective/unit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fowler, Noll and Vo's hash, FNV-1a. */
static const uint64_t FNV_OFFSET = UINT64_C(14695981039346656037),
                      FNV_PRIME = UINT64_C(1099511628211);

void joint_block_fail(struct joint *joint, size_t i, enum outcome outcome, bool has_crashed,
                      const char *reason)
{
    joint->block[i].has_crashed = has_crashed;
    joint->block[i].n_no_sigma = joint->block[i].is_made ? joint->block[i].n_no_sigma : -1;
    joint_block_end(&joint->block[i], outcome, reason);
}

/* How many free parameters a level has in the list of those above a block. */
static size_t count_level(const struct joint *joint, const struct fit_map *map,
                          const uint32_t *above, size_t level)
{
    size_t n = 0;
    for (size_t k = 0; k < joint->above.s_block; k++)
        n += joint->levels.level[map->file_index[above[k]]] == level;
    return n;
}

/* What is the same for all blocks, by the first one: the s parameters above it are the entries
 * `above` of this map. */
static bool begin(struct joint *joint, const struct fit_map *map, const uint32_t *above,
                  size_t s_block)
{
    struct arena *arena = joint->arena;
    const struct joint_levels *levels = &joint->levels;
    joint->above.s_block = s_block;
    assert(!joint->saved.bytes || joint->above.n_group == count_level(joint, map, above, 2));
    joint->above.n_group = count_level(joint, map, above, 2);
    joint->above.n_of = arena_calloc(arena, levels->n_column + 1, sizeof *joint->above.n_of);
    joint->above.base = arena_calloc(arena, levels->n_column + 1, sizeof *joint->above.base);
    joint->above.column = arena_calloc(arena, s_block + 1, sizeof *joint->above.column);
    joint->above.list = arena_calloc(arena, s_block + 1, sizeof *joint->above.list);
    if (!joint->above.n_of || !joint->above.base || !joint->above.column || !joint->above.list)
        return false;
    for (size_t k = 0; k < s_block; k++) {
        uint32_t j = above[k];
        /* A mean that is fixed: the blocks' own values are free (fit/mixed). */
        bool is_fixed = joint->agreement.fixed[map->file_index[j]];
        joint->above.list[k] = (struct joint_above){
            map->file_index[j], map->scale[j], map->start[j], map->size[j],
            is_fixed ? map->start[j] : map->lower[j], is_fixed ? map->start[j] : map->upper[j]};
    }
    size_t s = count_level(joint, map, above, 1), n_shared = s, place = joint->above.n_group + s,
           k = n_shared;
    for (size_t c = 1; c < levels->n_column; c++) {
        joint->above.base[c] = s;
        joint->above.n_of[c] = count_level(joint, map, above, 2 + c);
        s += joint->above.n_of[c] * levels->n_group[c];
    }
    assert(!joint->saved.bytes || joint->above.s == s);
    joint->above.s = s;
    size_t n_above = s + (levels->n_column ? levels->n_group[0] : 0) * joint->above.n_group;
    uint32_t *order = arena_calloc(arena, s + 1, sizeof *order);
    for (size_t j = 0; order && j < n_shared; j++)
        order[j] = above[joint->above.n_group + j];
    for (size_t c = 1; order && c < levels->n_column; place += joint->above.n_of[c++])
        for (size_t g = 0; g < levels->n_group[c]; g++)
            for (size_t j = 0; j < joint->above.n_of[c]; j++)
                order[k++] = above[place + j];
    if (!order ||
        !ARENA_DOUBLES(arena, {&joint->above.theta, s, 1}, {&joint->above.trial, s, 1},
                       {&joint->above.length, n_above, 1}, {&joint->point.gradient, s, 1},
                       {&joint->line.theta, n_above, 1}, {&joint->line.scale, n_above, 1},
                       {&joint->line.kept, s, 1}) ||
        !joint_take_map(&joint->asker.map, map, order, s, arena) ||
        !trust_model_init(&joint->search.model, &joint->asker, arena) ||
        !joint_groups_init(joint, map, above))
        return false;
    for (k = 0; k < n_shared; k++) {
        joint->asker.map.lower[k] = joint->above.list[joint->above.n_group + k].lower;
        joint->asker.map.upper[k] = joint->above.list[joint->above.n_group + k].upper;
    }
    memcpy(joint->above.theta, joint->asker.map.start, s * sizeof(double));
    joint->point.theta = joint->above.theta;
    if (joint->saved.bytes)
        joint_restore_shared(joint);
    return true;
}

static bool begin_as_others(struct joint *joint, const struct joint_above *message, size_t s)
{
    struct fit_map map = {.n_free = s};
    uint32_t *order = memory_calloc(2 * s + 1, sizeof *order);
    double *numbers = memory_calloc(4 * s + 1, sizeof *numbers);
    map.scale = memory_calloc(s + 1, sizeof *map.scale);
    map.file_index = order + s;
    map.start = numbers;
    map.lower = numbers + s;
    map.upper = numbers + 2 * s;
    map.size = numbers + 3 * s;
    bool is_good = order && numbers && map.scale;
    for (size_t k = 0; is_good && k < s; k++) {
        order[k] = (uint32_t)k;
        map.file_index[k] = message[k].file_index;
        map.scale[k] = message[k].scale;
        map.start[k] = message[k].start;
        map.size[k] = message[k].size;
        map.lower[k] = message[k].lower;
        map.upper[k] = message[k].upper;
    }
    is_good = is_good && begin(joint, &map, order, s);
    free(order);
    free(numbers);
    free(map.scale);
    return is_good;
}

void joint_make_common(struct joint *joint)
{
    const struct joint_ranks *ranks = joint->copies.gather ? &joint->copies : &joint->ranks;
    struct joint_facts facts = {.any = joint->agreement.is_begun,
                                .least = joint->agreement.is_begun ? ranks->rank : ranks->n};
    if (!ranks->gather || joint->agreement.is_common)
        return;
    joint_agree_among(ranks, &facts);
    if (!facts.any)
        return;
    size_t n = facts.least == ranks->rank ? joint->above.s_block : 0, n_byte;
    const unsigned char *all =
        ranks->gather(ranks->context, joint->above.list, n * sizeof *joint->above.list, &n_byte);
    if (all && !joint->agreement.is_begun) {
        struct joint_above *others = memory_alloc(n_byte + 1);
        if (others)
            memcpy(others, all, n_byte);
        joint->agreement.is_begun =
            others && begin_as_others(joint, others, n_byte / sizeof *others);
        free(others);
    }
    joint->agreement.is_short = joint->agreement.is_short || !joint->agreement.is_begun;
    joint->agreement.is_common = true;
}

/* The first block to arrive says what the shared parameters are; the others must agree. */
static bool agree(struct joint *joint, struct joint_work *work, const struct fit_problem *problem)
{
    size_t n = joint->n_parameter, bytes = n * sizeof(double);
    bool is_good = true, is_only = joint->ranks.n_block == 1;
    if (is_only && joint->agreement.is_begun)
        return true;
    monitor_enter(&joint->agreement.lock);
    if (!joint->agreement.is_begun) {
        memcpy(joint->agreement.start, problem->start, bytes);
        memcpy(joint->agreement.lower, problem->lower, bytes);
        memcpy(joint->agreement.upper, problem->upper, bytes);
        memcpy(joint->agreement.fixed, problem->fixed, n);
        is_good = joint->agreement.is_begun =
            begin(joint, &work->asker->map, work->order + work->n, work->s);
    }
    monitor_leave(&joint->agreement.lock);
    if (!is_good)
        joint_block_end(work->block, OUTCOME_out_of_memory, "no memory for the shared parameters");
    work->block->agreement = FNV_OFFSET;
    work->block->disagrees = false;
    for (size_t i = 0; i < n && is_good && !is_only; i++) {
        if (joint->levels.level[i] == 0)
            continue;
        const double here[] = {problem->start[i] + 0.0, problem->lower[i], problem->upper[i],
                               problem->fixed[i] != 0};
        const double there[] =
            {joint->agreement.start[i] + 0.0, joint->agreement.lower[i], joint->agreement.upper[i],
             joint->agreement.fixed[i] != 0};
        for (size_t k = 0; k < sizeof here; k++)
            work->block->agreement =
                (work->block->agreement ^ ((const unsigned char *)here)[k]) * FNV_PRIME;
        work->block->disagrees |= memcmp(here, there, sizeof here) != 0;
    }
    return is_good && !work->block->disagrees;
}

/* All but joint, block, asker and arena; false: out of memory. */
static bool make_work(struct joint_work *work)
{
    struct arena *arena = work->arena;
    const struct fit_map *map = &work->asker->map;
    const struct joint_levels *levels = &work->joint->levels;
    size_t all = map->n_free, n_row = fit_objective_n_row(&work->asker->objective);
    work->order = arena_calloc(arena, all + 1, sizeof *work->order);
    work->column = arena_calloc(arena, all + 1, sizeof *work->column);
    if (!work->order || !work->column)
        return false;
    for (uint32_t j = 0; j < all; j++)
        if (levels->level[map->file_index[j]] == 0)
            work->order[work->n++] = j;
    for (size_t k = 0; k < levels->n_column + 2; k++) {
        /* level 2, those of the eliminated groups, comes before 1 */
        size_t level = k == 0 ? 2 : k == 1 ? 1 : k + 1;
        for (uint32_t j = 0; j < all; j++)
            if (levels->level[map->file_index[j]] == level)
                work->order[work->n + work->s++] = j;
    }
    enum gradient_method gradient = work->asker->accuracy.gradient;
    if (joint_needs_rows(work->joint->pass))
        gradient = gradient == GRADIENT_adjoint ? GRADIENT_forward : gradient;
    return (work->joint->session || fit_point_init(&work->at, work->asker, gradient, arena)) &&
           fit_triangle_init(&work->parts, work->asker, arena) &&
           joint_region_init(&work->region, map, work->order, work->n, work->s, arena) &&
           ARENA_DOUBLES(arena, {&work->rows, n_row, all}, {&work->sorted, n_row, all},
                         {&work->rhs, n_row, 1}, {&work->move, all, 1}, {&work->theta, work->s, 1},
                         {&work->trial, work->s, 1});
}

/* Finds the parameters above block i, at the best point and at the trial. */
static void find_above(struct joint_work *work, size_t i)
{
    const struct joint *joint = work->joint;
    const uint32_t *column = work->column;
    size_t n = joint->above.n_group;
    if (joint->levels.n_column == 0) { /* they are all */
        memcpy(work->theta, joint->above.theta, work->s * sizeof *work->theta);
        memcpy(work->trial, joint->above.trial, work->s * sizeof *work->trial);
        return;
    }
    joint_columns(joint, i, work->column);
    for (size_t k = 0; k < work->s; k++) {
        const struct joint_group *group =
            k < n ? &joint->above.group[joint->levels.group[0][i]] : NULL;
        work->theta[k] = group ? group->reduced.theta[k] : joint->above.theta[column[k] - n];
        work->trial[k] = group ? group->trial[k] : joint->above.trial[column[k] - n];
        if (!group) /* leaps have changed it */
            work->asker->map.size[work->order[work->n + k]] = joint->asker.map.size[column[k] - n];
    }
}

static bool make_block(struct joint_work *work)
{
    struct joint_block *block = work->block;
    size_t n = work->n, all = n + work->s;
    assert(!block->memory.saved || block->n == n);
    block->n = n;
    block->s = work->s;
    block->memory.n_at = block->is_sigma_known ? 0 : work->asker->objective.n_row;
    if (block->form != JOINT_NEAR && !work->joint->descends)
        block->memory.n_at = joint_kinks_n_at(work);
    if (!joint_block_room(work->joint, block))
        return false;
    for (size_t k = 0; work->joint->descends && k < 2 * n; k++)
        block->box[k] =
            (k < n ? work->asker->map.lower : work->asker->map.upper)[work->order[k % n]];
    for (size_t k = 0; k < all; k++) {
        block->file_index[k] = work->asker->map.file_index[work->order[k]];
        block->file_index[all + k] = work->order[k];
    }
    for (size_t k = 0; k < n; k++)
        block->best.theta[k] = work->asker->map.start[work->order[k]];
    block->is_made = true;
    if (block->memory.saved) {
        joint_restore_block(work->joint, block);
        return true;
    }
    block->n_row = (size_t)joint_weight(work->joint, (size_t)(block - work->joint->block)) *
                   work->asker->objective.n_row;
    block->reach = trust_reach_begin(work->joint->options->is_near);
    return true;
}

/* Random starts of the shared parameters, the same for all blocks. */
static bool draw_shared(const struct joint *joint, const struct fit_problem *problem,
                        struct fit_map *map, struct arena *arena)
{
    double *theta = arena_calloc(arena, map->n_free + 1, sizeof *theta);
    const struct fit_start start = {.seed = problem->seed,
                                    .dataset = joint->session ? problem->dataset
                                                              : FIT_START_SHARED,
                                    .number = problem->start_number, .n_start = problem->n_start,
                                    .n_redrawn = joint->start.n_redrawn};
    if (!theta)
        return false;
    fit_start_theta(&start, map, problem->prior, theta);
    for (size_t j = 0; j < map->n_free; j++) {
        if (joint->levels.level[map->file_index[j]] != 1 || problem->fixed[map->file_index[j]])
            continue;
        map->start[j] = theta[j];
        map->natural_start[j] = fit_scale_to_natural(map->scale[j], theta[j]);
    }
    return true;
}

/* By the model alone, so that all blocks have one form: a block may lack the measurements or the
 * priors that make the kinks of the sum. */
static enum joint_form form_of(const struct fit_problem *problem)
{
    bool is_far = false, has_kinks = false;
    for (uint32_t k = 0; k < problem->model->abi.n_observable; k++) {
        is_far |= problem->loss[k].is_far_from_square;
        has_kinks |= problem->loss[k].has_kink;
    }
    for (size_t k = 0; problem->prior && k < problem->n_parameter; k++)
        has_kinks |= fit_prior_has_kink(&problem->prior[k]);
    if (has_kinks)
        return JOINT_KINKS;
    return is_far ? JOINT_FAR : JOINT_NEAR;
}

/* Sets up a block's asker with what it has done in earlier passes. */
static bool prepare(struct joint_session *session, size_t i, const struct fit_problem *given,
                    const struct fit_host *host, struct arena *arena)
{
    struct joint_work *work = &session->work;
    struct joint *joint = work->joint;
    struct joint_block *block = work->block;
    struct fit_problem *problem = &session->problem;
    struct fit_options *options = &session->options;
    struct fit_record record = {.dataset = given->dataset, .n_no_sigma = -1};
    bool is_known = block->is_made || block->memory.saved;
    *problem = *given;
    *options = *joint->options;
    block->findings.has_prior = false;
    for (size_t k = 0; problem->prior && k < joint->n_parameter; k++)
        block->findings.has_prior |= problem->prior[k].kind != PRIOR_NONE && !problem->fixed[k]
                                     && problem->lower[k] != problem->upper[k];
    if (problem->prior) { /* those of shared parameters count once */
        struct fit_prior *prior = arena_calloc(arena, joint->n_parameter + 1, sizeof *prior);
        for (size_t k = 0; prior && k < joint->n_parameter; k++)
            if (joint_is_first(joint, i, k))
                prior[k] = problem->prior[k];
        problem->prior = prior;
    }
    problem->seeks_pulses = problem->seeks_pulses && !is_known;
    const struct joint_upper_method *upper = joint->upper.method;
    if (upper && !upper->adapt(joint, problem, options, arena)) {
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
        return false;
    }
    session->max_evaluations = options->max_evaluations;
    session->max_total_steps = options->max_total_steps;
    options->max_seconds -= block->seconds;
    options->gradient = is_known ? block->gradient : joint->asker.accuracy.gradient;
    options->optimizer =
        options->gradient == GRADIENT_adjoint ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
    struct fit_asker *asker = work->asker = fit_prepare(problem, options, host, arena, &record);
    block->n_no_sigma = record.n_no_sigma;
    if (!asker) {
        joint_block_end(block, record.outcome, record.reason);
        return false;
    }
    if (given->start_number > 0 && !draw_shared(joint, given, &asker->map, arena)) {
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for a start");
        return false;
    }
    if (fit_unit_is_open(problem)) {
        joint_block_end(block, OUTCOME_bad_data,
                        "no measurement has a sigma, which Laplace's errors need in a fit "
                        "over all datasets");
        return false;
    }
    if (upper && !upper->accept(work))
        return false;
    asker->used = block->used;
    asker->start.n_redrawn = joint->start.n_redrawn;
    if (!is_known)
        block->engine.kind = asker->accuracy.engine;
    block->gradient = asker->accuracy.gradient;
    block->has_offset = asker->objective.has_offset;
    block->form = form_of(given);
    block->is_sigma_known = asker->is_sigma_known;
    return true;
}

static bool open_session(struct joint_session *session, size_t i, const struct fit_problem *problem,
                         const struct fit_host *host, struct arena *arena)
{
    struct joint_work *work = &session->work;
    struct joint_block *block = work->block;
    if (!prepare(session, i, problem, host, arena))
        return false;
    session->is_open = make_work(work) && (block->is_made || make_block(work)) &&
                       (!work->joint->session || joint_session_room(session));
    if (!session->is_open)
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
    return session->is_open;
}

/* The accuracy and the budgets of this pass. */
static void set_pass(struct joint_session *session)
{
    const struct joint *joint = session->work.joint;
    const struct fit_options *options = joint->options;
    struct fit_asker *asker = session->work.asker;
    struct joint_block *block = session->work.block;
    bool is_exact = joint->asker.is_exact,
         is_tight =
             joint->pass == JOINT_CHECK && options->certify && !is_exact && !joint->session,
         is_more = joint->confirm.is_beyond ||
                   (!joint->session &&
                    (joint->pass == JOINT_CHECK || joint->pass == JOINT_DESCRIBE));
    asker->accuracy.tighter = joint->asker.accuracy.tighter * (is_tight ? FIT_TIGHTER : 1);
    asker->accuracy.engine =
        joint->confirm.by_reference && !joint->session ? ENGINE_REFERENCE : block->engine.kind;
    if (block->gradient == GRADIENT_adjoint)
        asker->accuracy.gradient =
            joint_needs_rows(joint->pass) ? GRADIENT_forward : GRADIENT_adjoint;
    asker->accuracy.is_loose = joint->session && joint->asker.accuracy.is_loose;
    asker->lanes = block->engine.lanes;
    /* A block that cannot be evaluated holds up all others: then its first failure ends its time in
     * lanes. */
    asker->start_f = joint->part.n_all == 1 && joint->end.has_best ? joint->above.f : (double)NAN;
    block->engine.is_renewed = false;
    session->options.max_evaluations = session->max_evaluations;
    session->options.max_total_steps = session->max_total_steps;
    if (!is_more) /* one evaluation more than the budget, which may be used up */
        return;
    if (session->options.max_evaluations < block->used.n_evaluation)
        session->options.max_evaluations = block->used.n_evaluation;
    session->options.max_evaluations++;
    if (session->options.max_total_steps < block->used.n_step)
        session->options.max_total_steps = block->used.n_step;
    session->options.max_total_steps += session->options.max_steps;
}

static void run_block(struct joint *joint, size_t i, const struct fit_problem *problem,
                      const struct fit_host *host, struct arena *arena,
                      struct joint_session *session)
{
    struct joint_work *work = &session->work;
    struct joint_block *block = &joint->block[i];
    bool is_known = block->is_made || block->memory.saved,
         has_ended = block->outcome != OUTCOME_not_run;
    if (!joint_wants(joint, i) || (has_ended && !(joint_is_last(joint) && is_known))
        || (joint->pass == JOINT_PILOT && block->is_made && !joint_is_pilot(joint, i)))
        return;
    if (!session->is_open) {
        *work = (struct joint_work){.joint = joint, .block = block, .arena = arena};
        if (!open_session(session, i, problem, host, arena))
            return;
    }
    set_pass(session);
    if (agree(joint, work, problem) && joint->pass != JOINT_PILOT && joint->pass != JOINT_LOOK) {
        find_above(work, i);
        if (joint->pass == JOINT_GROW)
            joint_follow_shared(work, problem, host, arena);
        joint_block_pass(work, arena);
    }
    if (!fit_seek_pulses(work->asker))
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
    session->problem.seeks_pulses = false;
    block->used = work->asker->used;
    block->engine.lanes = work->asker->lanes;
    block->notes |= work->asker->notes;
    if (joint->pass == JOINT_PILOT && joint_is_pilot(joint, i) && block->outcome == OUTCOME_not_run)
        joint_pilot_run(joint, i, problem, &session->options, host, arena);
}

void joint_block_run(struct joint *joint, size_t i, const struct fit_problem *problem,
                     const struct fit_host *host, struct arena *arena)
{
    if (joint->session) {
        run_block(joint, i, problem, host, arena, joint->session);
    } else {
        struct joint_session once = {.is_open = false};
        run_block(joint, i, problem, host, arena, &once);
    }
}

void joint_fini(struct joint *joint)
{
    for (size_t i = 0; joint->block && i < joint->n_block; i++) {
        struct joint_block *block = &joint->block[i];
        joint_free(joint, block->findings.memory);
        free(block->upper);
        joint_free(joint, block->memory.numbers);
    }
    joint_free(joint, joint->block);
    joint_errors_fini(joint);
    if (joint->options)
        monitor_fini(&joint->agreement.lock);
    arena_fini(&joint->own);
}
