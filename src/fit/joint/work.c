/* What a block of a fit over many datasets works with, and its rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/internal.h"

#include "base/memory.h"
#include "fit/objective/matrix.h"
#include "fit/objective/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void joint_block_end(struct joint_block *block, enum outcome outcome, const char *reason)
{
    block->outcome = outcome;
    snprintf(block->reason, sizeof block->reason, "%s", reason);
}

void *joint_calloc(const struct joint *joint, size_t count, size_t size)
{
    return joint->arena == &joint->own ? memory_calloc(count, size)
                                       : arena_calloc(joint->arena, count, size);
}

void joint_free(const struct joint *joint, void *memory)
{
    if (joint->arena == &joint->own)
        free(memory);
}

static double *take(double *memory, size_t *used, size_t n)
{
    double *at = memory ? memory + *used : NULL;
    *used += n;
    return at;
}

void joint_block_place(const struct joint *joint, struct joint_block *block)
{
    size_t n = block->n, s = block->s, all = n + s, n_parameter = joint->n_parameter, used = 0;
    bool has_inner = block->form != JOINT_NEAR && !joint->descends;
    struct joint_inner *inner = &block->inner;
    struct joint_reduced *reduced[] = {&block->best, &block->trial, &inner->reduced};
    double *memory = block->memory.numbers;
    for (size_t k = 0; k < (has_inner ? 3 : 2); k++) {
        struct joint_reduced *to = reduced[block->memory.is_swapped && k < 2 ? 1 - k : k];
        to->theta = take(memory, &used, n);
        to->gradient = take(memory, &used, all);
        to->triangle = take(memory, &used, all * all);
        to->rhs = take(memory, &used, all);
        to->scale = take(memory, &used, n);
        to->schur = take(memory, &used, s * s);
        to->schur_rhs = take(memory, &used, s);
    }
    block->kept.p = take(memory, &used, n_parameter);
    block->chain = take(memory, &used, all);
    block->box = take(memory, &used, joint->descends ? 2 * n : 0);
    block->leap = (struct fit_leap_sums *)take(memory, &used,
                                               s * sizeof *block->leap / sizeof(double));
    block->file_index = (uint32_t *)take(memory, &used, all + 1);
    block->kept.at_bound = (int8_t *)take(memory, &used, n_parameter / sizeof(double) + 1);
    inner->scale = take(memory, &used, has_inner ? all : 0);
    inner->step = take(memory, &used, has_inner ? all : 0);
    inner->candidate = take(memory, &used, has_inner ? all : 0);
    inner->hold.by = take(memory, &used, has_inner ? n : 0);
    inner->hold.is_held = (bool *)take(memory, &used, has_inner ? n : 0);
    inner->hold.is_stopped = (bool *)take(memory, &used, has_inner ? n : 0);
    block->memory.n_copied = used;
    for (size_t k = 0; k < 2; k++)
        reduced[block->memory.is_swapped ? 1 - k : k]->at =
            block->memory.n_at ? take(memory, &used, block->memory.n_at) : NULL;
    block->memory.n = used;
}

bool joint_block_room(const struct joint *joint, struct joint_block *block)
{
    joint_block_place(joint, block);
    block->memory.numbers = joint_calloc(joint, block->memory.n + 1, sizeof(double));
    joint_block_place(joint, block);
    return block->memory.numbers != NULL;
}

void joint_block_swap(struct joint_block *block)
{
    struct joint_reduced best = block->best;
    block->best = block->trial;
    block->trial = best;
    block->memory.is_swapped = !block->memory.is_swapped;
}

static void reduce_rows(struct joint_work *work, const struct fit_answer *answer,
                        enum fit_curvature curvature, const double *step, double *triangle,
                        double *rhs)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t all = work->n + work->s, n_row = fit_objective_n_row(objective);
    fit_objective_rows(objective, answer, curvature, work->rows, work->rhs);
    for (size_t k = 0; step && k < all; k++)
        for (size_t i = 0; i < n_row && step[k] != 0; i++)
            work->rhs[i] -= work->rows[i + k * n_row] * step[k];
    for (size_t k = 0; k < all; k++)
        memcpy(work->sorted + k * n_row, work->rows + work->order[k] * n_row,
               n_row * sizeof(double));
    matrix_triangle(n_row, all, work->sorted, work->rhs, triangle, rhs);
}

/* As matrix_triangle of all rows, in the order of a block's parameters, after this step: of a large
 * block, whose parts other workers may reduce. */
static void reduce_parts(struct joint_work *work, const struct fit_answer *answer,
                         const double *step, double *triangle, double *rhs)
{
    size_t all = work->n + work->s;
    double *in_order = work->sorted, *taken = triangle; /* the map's order, at first */
    fit_triangle_take(&work->parts, answer, taken, rhs);
    for (size_t k = 0; step && k < all; k++)
        for (size_t i = 0; i <= k; i++)
            rhs[i] -= taken[i + k * all] * step[k];
    for (size_t k = 0; k < all; k++)
        memcpy(in_order + k * all, taken + work->order[k] * all, all * sizeof *taken);
    memcpy(work->rhs, rhs, all * sizeof *rhs);
    matrix_triangle(all, all, in_order, work->rhs, triangle, rhs);
}

bool joint_block_reduce(struct joint_work *work, const struct fit_answer *answer,
                        enum fit_curvature curvature, const double *step, double *triangle,
                        double *rhs)
{
    size_t all = work->n + work->s;
    if (work->parts.n_part > 1 && curvature == CURVATURE_ABOVE)
        reduce_parts(work, answer, step, triangle, rhs);
    else
        reduce_rows(work, answer, curvature, step, triangle, rhs);
    double weight = sqrt(joint_weight(work->joint, (size_t)(work->block - work->joint->block)));
    for (size_t k = 0; k < all * all && weight != 1; k++)
        triangle[k] *= weight;
    bool is_finite = true;
    for (size_t k = 0; k < all && weight != 1; k++)
        rhs[k] *= weight;
    for (size_t k = 0; k < all && is_finite; k++) {
        double squares = rhs[k] * 0;
        for (size_t i = 0; i <= k; i++)
            squares += triangle[i + k * all] * triangle[i + k * all];
        is_finite = isfinite(squares);
    }
    return is_finite;
}

bool joint_session_room(struct joint_session *session)
{
    struct joint_work *work = &session->work;
    struct fit_point *places[JOINT_POINTS] = {&work->at, &session->best, &session->missed,
                                              &session->lowest, &session->looser};
    for (size_t k = 0; k < JOINT_POINTS; k++) {
        enum gradient_method gradient = work->asker->accuracy.gradient;
        if (places[k] == &session->looser && gradient == GRADIENT_adjoint)
            gradient = GRADIENT_forward;
        if (!fit_point_init(&session->points[k], work->asker, gradient, work->arena))
            return false;
        *places[k] = session->points[k];
    }
    session->has_lowest = session->has_missed = false;
    return trust_probe_init(&session->probe, work->asker, work->arena);
}

/* Room for the derivatives of all residuals, if there was none. */
static bool add_rows(struct joint_work *work)
{
    const struct fit_point before = work->at;
    if (before.d_prediction || work->asker->map.n_free == 0)
        return true;
    if (!(work->joint->session
              ? joint_session_room(work->joint->session)
              : fit_point_init(&work->at, work->asker, GRADIENT_differences, work->arena)))
        return false;
    memcpy(work->at.theta, before.theta, work->asker->map.n_free * sizeof *before.theta);
    return true;
}

void joint_leave_lanes(struct joint_block *block)
{
    block->engine = (struct joint_engine){.kind = ENGINE_REFERENCE, .left = block->engine.kind};
    block->notes |= NOTE_changed_engine;
}

bool joint_return_to_lanes(struct joint_block *block, bool stays)
{
    struct joint_engine *engine = &block->engine;
    if (engine->left == ENGINE_REFERENCE)
        return false;
    *engine = (struct joint_engine){.kind = engine->left, .left = ENGINE_REFERENCE,
                                    .lanes = {.stays = stays}};
    block->notes &= ~(uint32_t)NOTE_changed_engine;
    return true;
}

/* Lanes lose an integration that they need, or need second derivatives of the model, which may not
 * be finite where all that CVODES needs is. */
static bool leaves_lanes(const struct joint_work *work, enum asked asked)
{
    const struct fit_asker *asker = work->asker;
    const struct joint *joint = work->joint;
    bool is_start = !joint->end.has_best,
         is_model = is_start && asked == ASKED_FAILED && asker->failure == OUTCOME_model_failed &&
                    asker->accuracy.engine != ENGINE_REFERENCE && !asker->lanes.stays;
    enum outcome outcome = asked == ASKED_END ? asker->outcome : asker->failure;
    /* Another start is cheaper than to let CVODES try this one, unless other blocks have it. */
    bool is_replaced = is_start && joint->part.n_all == 1 &&
                       fit_start_may_redraw(&asker->start, outcome);
    return (asker->lanes.leaves || is_model) && !is_replaced;
}

bool joint_change_method(struct joint_work *work, enum asked asked, struct arena *arena)
{
    struct fit_asker *asker = work->asker;
    struct joint_block *block = work->block;
    if (asked == ASKED_OK)
        return false;
    if (leaves_lanes(work, asked)) {
        joint_leave_lanes(block);
        asker->lanes = block->engine.lanes;
        asker->accuracy.engine = block->engine.kind;
        return true;
    }
    if (!asker->meets_jump || asker->accuracy.gradient == GRADIENT_differences)
        return false;
    struct joint_session *session = work->joint->session;
    asker->meets_jump = false;
    asker->notes |= NOTE_state_jump;
    if (session && session->may_turn && work->joint->descends) {
        session->turns = true;
        return false;
    }
    asker->accuracy.gradient = block->gradient = GRADIENT_differences;
    return fit_prepare_gradient(asker, arena) && add_rows(work);
}
