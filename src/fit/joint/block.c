/* What one dataset does in a pass of a fit over many: evaluates, reduces its derivatives, and
 * makes its own steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/alone.h"
#include "fit/joint/internal.h"
#include "fit/joint/kinks.h"

#include "fit/search/leap.h"
#include "fit/objective/matrix.h"
#include "fit/objective/prepare.h"
#include "fit/search/trust_curvature.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a block tries a shorter step of its own where a trial cannot be evaluated (the last
 * one is none at all), and where it misses most of what it promised. */
enum { MAX_TRY = 4, MAX_POOR = 2 };
static const double SHORTER = 0.25, POOR = 0.75, GOOD = 0.25;
/* A block whose residuals stay large, where Gauss and Newton's model is poor, crawls: its radius
 * bounds one short step after the other, and as long as it promises more than most, all others wait
 * for it. After so many such steps it gets second derivatives. It loses them where they are too
 * large, twice the true ones or more along a step (the negative part is left out): the decrease is
 * then 2 - 1/2 times the promise. */
enum { MAX_BOUNDED = 4 };
static const double BOUNDED = 0.9, TOO_CURVED = 1.5;

/* Second derivatives of a block whose residuals stay large. A fit of one dataset estimates them
 * from its steps; a block has few steps of its own, as each costs a pass over all blocks, and so
 * takes an evaluation for each of its parameters instead. Adds to the triangle, which is of
 * work->at, what Gauss and Newton omit, as far as it is positive. ASKED_FAILED: it cannot be
 * evaluated; nothing is added. */
static enum asked curve(struct joint_work *work, struct joint_reduced *reduced)
{
    struct trust_curvature curvature;
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block)), *metric;
    if (!trust_curvature_init(&curvature, work->asker, work->arena)
        || !ARENA_DOUBLES(work->arena, {&metric, work->n + work->s, 1}))
        return ASKED_FAILED;
    enum asked asked = trust_curvature_ask(&curvature, work->asker, &work->at, work->order, weight,
                                           reduced->triangle, work->arena);
    if (asked == ASKED_OK)
        trust_curvature_add(&curvature, metric, reduced->triangle, reduced->rhs);
    return asked;
}

/* With adjoint gradients: rows of a unit matrix that have the gradient of work->at. */
static void reduce_gradient(const struct joint_work *work, double *triangle, double *rhs)
{
    size_t all = work->n + work->s;
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block));
    memset(triangle, 0, all * all * sizeof *triangle);
    for (size_t k = 0; k < all; k++) {
        triangle[k + k * all] = 1;
        rhs[k] = weight * work->at.gradient[work->order[k]];
    }
}

/* Evaluates at own and shared parameters, and reduces the derivatives to `reduced`. */
static enum asked evaluate(struct joint_work *work, const double *own, const double *shared,
                           struct joint_reduced *reduced)
{
    for (size_t k = 0; k < work->n; k++)
        work->at.theta[work->order[k]] = own[k];
    for (size_t k = 0; k < work->s; k++)
        work->at.theta[work->order[work->n + k]] = shared[k];
    if (!work->joint->session)
        fit_asker_forget(work->asker); /* a resumed fit repeats this alone, without the others */
    enum asked asked = fit_ask(work->asker, work->asker->accuracy, &work->at, true);
    if (asked == ASKED_OK && own != reduced->theta)
        memcpy(reduced->theta, own, work->n * sizeof *own);
    return asked == ASKED_OK ? joint_block_take(work, reduced) : asked;
}

enum asked joint_block_take(struct joint_work *work, struct joint_reduced *reduced)
{
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block));
    reduced->f = weight * work->at.f;
    reduced->misfit = weight * fit_point_misfit(work->asker, &work->at);
    reduced->size = weight * fit_point_scale(work->asker, &work->at);
    reduced->mean_square = fit_point_mean_square(work->asker, &work->at);
    if (!work->joint->session) { /* whose points the stopping tests see themselves */
        reduced->variance = fit_certificate_variance(work->asker, &work->at);
        reduced->noise =
            DBL_EPSILON * (double)work->block->n_row * (fabs(reduced->f) + reduced->misfit) +
            fit_asker_rtol(work->asker, work->asker->accuracy.tighter) *
                fit_point_size(work->asker, &work->at) *
                sqrt(reduced->mean_square * (double)work->block->n_row);
    }
    for (size_t k = 0; k < work->n + work->s; k++)
        reduced->gradient[k] = weight * work->at.gradient[work->order[k]];
    struct fit_answer answer = fit_point_answer(work->asker, &work->at);
    if (reduced->at)
        joint_kinks_keep(work, reduced);
    if (work->asker->accuracy.gradient == GRADIENT_adjoint)
        reduce_gradient(work, reduced->triangle, reduced->rhs);
    else if (!joint_block_reduce(work, &answer, CURVATURE_ABOVE, NULL, reduced->triangle,
                                 reduced->rhs))
        return fit_asker_miss(work->asker, OUTCOME_model_failed,
                              "the derivatives of the residuals are too large to be used");
    enum asked asked = work->block->is_curved ? curve(work, reduced) : ASKED_FAILED;
    reduced->is_curved = asked == ASKED_OK;
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

/* Evaluates the best point by another method. ASKED_FAILED: that failed, and the block goes on by
 * the method before. */
static enum asked renew(struct joint_work *work, struct joint_reduced *best)
{
    enum asked asked = evaluate(work, best->theta, work->theta, best);
    if (asked == ASKED_OK) {
        joint_region_schur(&work->region, best, joint_least(work->joint), &work->block->reach);
        work->block->engine.is_renewed = true;
        if (work->joint->session)
            joint_session_renew(work->joint->session);
    }
    if (asked == ASKED_FAILED && !joint_return_to_lanes(work->block, true))
        asked = ASKED_OK;
    work->block->engine.left = ENGINE_REFERENCE;
    work->asker->lanes = work->block->engine.lanes;
    work->asker->accuracy.engine = work->block->engine.kind;
    return asked;
}

/* Evaluates a block, once more with another method if that is needed. `best`: the best point, which
 * is evaluated again if the method changes; NULL: this is it. */
static enum asked try(struct joint_work *work, struct arena *arena, const double *own,
                      const double *shared, struct joint_reduced *reduced,
                      struct joint_reduced *best)
{
    enum asked asked = evaluate(work, own, shared, reduced);
    while (joint_change_method(work, asked, arena)) {
        asked = best ? renew(work, best) : ASKED_OK;
        if (asked == ASKED_OK)
            asked = evaluate(work, own, shared, reduced);
    }
    if (work->joint->pass != JOINT_ANEW) /* which says itself whether CVODES can take over */
        work->block->engine.left = ENGINE_REFERENCE;
    if (asked == ASKED_END)
        joint_block_end(work->block, work->asker->outcome, work->asker->reason);
    return asked;
}

/* The decrease that the rows at the best point predict for the step in work->move. */
static double promise_of(const struct joint_work *work)
{
    const struct joint_reduced *best = &work->block->best;
    size_t all = work->n + work->s;
    double sum = 0;
    for (size_t i = 0; i < all; i++) {
        double row = 0;
        for (size_t j = i; j < all; j++)
            row += best->triangle[i + j * all] * work->move[j];
        sum -= row * (best->rhs[i] + 0.5 * row);
    }
    return sum;
}

/* Compares trial and best. */
static void compare(struct joint_work *work)
{
    struct joint_block *block = work->block;
    size_t all = work->n + work->s;
    block->decrease = block->best.f - block->trial.f;
    block->by_slopes = block->slope = 0;
    for (size_t k = 0; k < all; k++) {
        double before = block->best.gradient[k], after = block->trial.gradient[k];
        block->slope += before * work->move[k];
        block->by_slopes -= 0.5 * (before + after) * work->move[k];
    }
}

/* Chooses the own radius after a trial whose own step promised `gain`, of what the whole step
 * promised. True: the block missed most of it. */
static bool adapt_radius(struct joint_work *work, double gain)
{
    struct joint_block *block = work->block;
    struct trust_model *model = &work->region.model;
    double missing = block->promise - block->decrease, unit = fmax(gain, fabs(block->promise));
    if (missing > POOR * unit) { /* if nothing was promised, the shared step is to blame */
        if (block->promise > 0)
            block->reach.radius = SHORTER * fmin(block->reach.radius, model->length);
        return block->promise > 0;
    }
    if (trust_model_is_limited(model))
        trust_reach_grow(&block->reach, TRUST_REACH_GROWTH_SHARED);
    if (missing < GOOD * gain || !model->is_restricted)
        block->reach.radius = fmax(block->reach.radius, 2 * model->length);
    return false;
}

/* Puts the own parameters that follow the shared trial into own.rhs. */
static void follow(struct joint_work *work)
{
    struct trust_model *model = &work->region.model;
    struct joint_block *block = work->block;
    double *shared_step = work->move + work->n;
    for (size_t k = 0; k < work->s; k++)
        shared_step[k] = work->trial[k] - work->theta[k];
    joint_region_set(&work->region, &block->best, block->best.theta, shared_step, &block->reach);
    if (work->n == 0)
        return;
    trust_model_step(model, &work->region.point);
    trust_model_target(model, &work->region.point, work->region.rhs);
}

/* After a step, whose length the radius bounded or not. */
static void note_bounded(struct joint_work *work, bool is_bounded)
{
    const struct joint *joint = work->joint;
    struct joint_block *block = work->block;
    block->n_bounded = is_bounded ? block->n_bounded + 1 : 0;
    if (block->best.is_curved && block->promise > 0
        && block->decrease > TOO_CURVED * block->promise)
        block->is_curved = false;
    else if (block->n_bounded >= MAX_BOUNDED && joint->search.loose == 0 &&
             joint->part.stride <= 1 && block->form == JOINT_NEAR &&
             block->best.promise_free * (double)joint->part.n_all > joint->search.model.promise)
        block->is_curved = true;
}

/* Evaluates the end of the shared step and of the own one, model->step, as the trial. */
static enum asked try_step(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    size_t n = work->n;
    double *own = work->region.rhs;
    if (n > 0)
        trust_model_target(&work->region.model, &work->region.point, own);
    block->has_moved = false;
    for (size_t k = 0; k < n + work->s; k++) {
        work->move[k] = k < n ? own[k] - block->best.theta[k]
                              : work->trial[k - n] - work->theta[k - n];
        block->has_moved = block->has_moved || work->move[k] != 0;
    }
    enum asked asked = try(work, arena, own, work->trial, &block->trial, &block->best);
    if (asked == ASKED_OK) {
        block->has_failed = false;
        memcpy(block->trial.scale, block->best.scale, n * sizeof(double));
        compare(work);
    }
    return asked;
}

/* What the trial leaves for the parameters above, or why there is none. */
static void end_step(struct joint_work *work)
{
    struct joint_block *block = work->block;
    if (!block->has_failed)
        joint_region_schur(&work->region, &block->trial, joint_least(work->joint), &block->reach);
    else
        snprintf(block->reason, sizeof block->reason, "%s", work->asker->reason);
}

/* Follows the shared trial by own steps, until one can be evaluated and gives what it promises. */
static void step(struct joint_work *work, struct arena *arena)
{
    struct joint *joint = work->joint;
    struct joint_block *block = work->block;
    struct trust_model *model = &work->region.model;
    double *shared_step = work->move + work->n, radius = block->reach.radius;
    bool is_kept = false, is_bounded = false;
    block->has_failed = true;
    for (size_t k = 0; k < work->s; k++)
        shared_step[k] = work->trial[k] - work->theta[k];
    if (work->n == 0) { /* there are no steps of its own */
        enum asked asked = try_step(work, arena);
        if (asked == ASKED_OK)
            block->promise =
                joint->form == JOINT_NEAR ? promise_of(work) : joint->search.model.promise;
        if (asked != ASKED_END)
            end_step(work);
        return;
    }
    for (int i = 0; i < MAX_TRY; i++) {
        joint_region_set(&work->region, &block->best, block->best.theta, shared_step,
                         &block->reach);
        if (i + 1 < MAX_TRY)
            trust_model_step(model, &work->region.point);
        else
            memset(model->step, 0, work->n * sizeof *model->step);
        model->promise = i + 1 < MAX_TRY ? model->promise : 0;
        is_bounded = is_bounded || (i == 0 && model->length > BOUNDED * radius);
        enum asked asked = try_step(work, arena);
        if (asked == ASKED_END)
            return;
        if (asked == ASKED_FAILED) {
            block->reach.radius = SHORTER * fmin(block->reach.radius, model->length);
            if (is_kept)
                break;
            continue;
        }
        block->promise = joint->form == JOINT_NEAR ? promise_of(work) : joint->search.model.promise;
        bool is_poor = adapt_radius(work, model->promise);
        is_kept = true;
        if (!is_poor || i + 1 >= MAX_POOR || !(model->promise > GOOD * fabs(block->promise))
            || !(model->promise > joint->options->f_tolerance * block->best.misfit))
            break;
    }
    block->reach.radius = block->has_failed ? radius : block->reach.radius;
    note_bounded(work, is_bounded && !block->has_failed);
    if (block->reach.radius != radius)
        joint_region_schur(&work->region, &block->best, joint_least(joint),
                          &block->reach); /* in case that the trial is rejected */
    end_step(work);
}

/* The step of joint/line.c, which the block has found with the others. */
static void step_along(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    joint_kinks_take(work);
    joint_region_set(&work->region, &block->best, block->best.theta, NULL, &block->reach);
    memcpy(work->region.model.step, block->inner.step, work->n * sizeof *block->inner.step);
    block->has_failed = true;
    if (try_step(work, arena) == ASKED_END)
        return;
    block->promise = block->best.f - block->inner.value;
    end_step(work);
}

/* Of the parameters above, at the trial, which work->at is. */
static void sum_leaps(struct joint_work *work)
{
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block));
    for (size_t k = 0; k < work->s && work->asker->accuracy.gradient != GRADIENT_adjoint; k++) {
        struct fit_leap_sums *sums = &work->block->leap[k];
        fit_leap_sum(work->asker, &work->at, work->order[work->n + k], sums);
        *sums = (struct fit_leap_sums){weight * sums->slope, weight * sums->square,
                                       weight * sums->noise_squares,
                                       weight * sums->noise};
    }
}

/* At the start: leaves starts of own parameters that are orders of magnitude off
 * (fit/search/leap.h). The trial becomes the lowest point; the best one is scratch. False: the
 * block has ended. */
static bool leave_start(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    const struct fit_options *options = work->joint->options;
    size_t all = work->n + work->s;
    struct fit_leap leap;
    double before = block->trial.f,
           weight = joint_weight(work->joint, (size_t)(block - work->joint->block));
    enum engine_kind engine = block->engine.kind;
    enum gradient_method gradient = block->gradient;
    if (!fit_leap_init_single(&leap, work->asker, work->joint->descends, arena)) {
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
        return false;
    }
    for (size_t k = work->n; k < all; k++)
        leap.part[work->order[k]] = 0;
    while (fit_work_left(options, &work->asker->used).n_evaluation > 1 &&
           fit_leap_find(&leap, work->asker, &work->at)) {
        for (size_t k = 0; k < work->n; k++)
            work->move[k] = leap.theta[work->order[k]];
        enum asked asked = try(work, arena, work->move, work->theta, &block->best, NULL);
        if (asked == ASKED_END)
            return false;
        if (block->engine.kind != engine ||
            block->gradient != gradient) /* values of two kinds are not compared */
            return try(work, arena, block->trial.theta, work->theta, &block->trial, NULL) ==
                   ASKED_OK;
        double after = asked == ASKED_OK ? block->best.f / weight : (double)NAN;
        if (!fit_leap_is_good(&leap, &work->asker->map, before / weight, after))
            return true; /* work->at is the end of the leap */
        joint_block_swap(block);
        before = block->trial.f;
        sum_leaps(work);
    }
    return true;
}

/* The best point for the record. */
static void keep(struct joint_work *work)
{
    const struct fit_map *map = &work->asker->map;
    struct joint_block *block = work->block;
    size_t all = work->n + work->s;
    for (size_t k = 0; k < all; k++)
        work->at.theta[work->order[k]] =
            k < work->n ? block->best.theta[k] : work->theta[k - work->n];
    block->kept.is_there = fit_map_natural(map, work->at.theta, block->kept.p);
    fit_map_at_bound(map, block->kept.p, block->kept.at_bound);
}

static void take_findings(struct joint_work *work)
{
    if (joint_findings_take(work))
        return;
    work->block->has_failed = true;
    joint_block_end(work->block, OUTCOME_out_of_memory,
                    "no memory for the statistics of this dataset");
}

/* With adjoint gradients: the derivatives of all residuals at `theta` are session->looser's, which
 * keeps them. */
static enum asked measure_kept(struct joint_work *work, const double *theta)
{
    struct joint_session *session = work->joint->session;
    struct fit_asker *asker = work->asker;
    if (session->measured == asker->accuracy.tighter &&
        fit_asker_is_same(asker, session->looser.theta, theta))
        return ASKED_OK;
    memcpy(session->looser.theta, theta, asker->map.n_free * sizeof *theta);
    enum asked asked = fit_ask(asker, asker->accuracy, &session->looser, true);
    session->measured = asked == ASKED_OK ? asker->accuracy.tighter : 0;
    return asked;
}

/* The derivatives of all residuals at the best point, as the trial's rows. */
static void measure(struct joint_work *work)
{
    struct joint *joint = work->joint;
    struct joint_block *block = work->block;
    const struct fit_point at = work->at;
    enum asked asked;
    for (size_t k = 0; k < work->n + work->s; k++)
        at.theta[work->order[k]] = k < work->n ? block->best.theta[k] : work->theta[k - work->n];
    if (joint->session) {
        asked = measure_kept(work, at.theta);
        work->at = joint->session->looser;
    } else {
        fit_asker_forget(work->asker);
        asked = fit_ask(work->asker, work->asker->accuracy, &work->at, true);
    }
    block->has_failed = asked != ASKED_OK;
    if (asked == ASKED_END)
        joint_block_end(block, work->asker->outcome, work->asker->reason);
    if (asked == ASKED_OK) {
        struct fit_answer answer = fit_point_answer(work->asker, &work->at);
        block->has_failed = !joint_block_reduce(work, &answer, CURVATURE_ABOVE, NULL,
                                                block->trial.triangle, block->trial.rhs);
        sum_leaps(work);
    }
    work->at = at;
}

/* The certificate of the best point, which is kept: without another evaluation if the step to it
 * tells enough. */
static void certify_kept(struct joint_work *work, const struct fit_point *point,
                         struct arena *arena)
{
    struct joint *joint = work->joint;
    struct joint_session *session = joint->session;
    struct fit_asker *asker = work->asker;
    struct fit_accuracy accuracy = asker->accuracy;
    struct fit_certificate *certificate = &joint->confirm.certificate;
    enum asked asked = ASKED_FAILED;
    if (joint->confirm.by_reference)
        accuracy.engine = ENGINE_REFERENCE;
    else if (session->has_looser)
        asked = fit_certify_landing(asker, &session->best, &session->looser, session->ratio, arena,
                                    certificate);
    if (asked == ASKED_FAILED)
        asked = fit_certify(asker, accuracy, point, session->best.f, arena, certificate);
    joint->confirm.is_missed = asked == ASKED_END;
    if (asked == ASKED_END && asker->outcome == OUTCOME_out_of_memory)
        joint_block_end(work->block, asker->outcome, "no memory for this fit");
}

/* The certificate, or the statistics, of the best point, which is kept. */
static void check_kept(struct joint_work *work, struct arena *arena)
{
    struct joint *joint = work->joint;
    struct joint_session *session = joint->session;
    struct joint_block *block = work->block;
    struct fit_asker *asker = work->asker;
    const struct fit_point *point = &session->best;
    block->has_failed = false;
    bool has_rows = block->gradient != GRADIENT_adjoint ||
                    measure_kept(work, session->best.theta) == ASKED_OK;
    if (block->gradient == GRADIENT_adjoint && has_rows)
        point = &session->looser;
    if (!has_rows && asker->outcome == OUTCOME_out_of_memory)
        joint_block_end(block, asker->outcome, asker->reason);
    if (joint->pass == JOINT_CHECK) {
        if (has_rows)
            certify_kept(work, point, arena);
        return;
    }
    const struct fit_point at = work->at;
    work->at = *point;
    const struct fit_answer answer = fit_point_answer(asker, &work->at);
    size_t all = work->n + work->s;
    bool is_known = point == &session->best && asker->objective.n_prior == 0;
    if (has_rows && is_known) { /* nothing else is asked of the rows */
        memcpy(block->trial.triangle, block->best.triangle, all * all * sizeof(double));
        memcpy(block->trial.rhs, block->best.rhs, all * sizeof(double));
    } else if (has_rows)
        joint_block_reduce(work, &answer, CURVATURE_ABOVE, NULL, block->trial.triangle,
                           block->trial.rhs);
    else
        reduce_gradient(work, block->trial.triangle, block->trial.rhs);
    memcpy(block->trial.scale, block->best.scale, work->n * sizeof(double));
    memcpy(block->trial.gradient, block->best.gradient, all * sizeof(double));
    block->trial.f = block->best.f;
    block->trial.is_curved = block->best.is_curved;
    joint_region_schur(&work->region, &block->trial, joint_least(joint), &block->reach);
    keep(work);
    take_findings(work);
    work->at = at;
}

/* Takes the best point that another process has left, or evaluates it, uncounted. */
static void resume(struct joint_work *work)
{
    struct joint_block *block = work->block;
    if (work->joint->session) {
        work->joint->saved.is_bad = !joint_restore_session(work->joint);
        if (work->joint->saved.is_bad)
            joint_block_end(block, OUTCOME_stalled, "this is no state of this fit");
        return;
    }
    struct fit_asker *asker = work->asker;
    struct fit_work used = asker->used;
    asker->used = (struct fit_work){.n_step = 0};
    bool is_curved = block->is_curved;
    block->is_curved = block->best.is_curved;
    enum asked asked = evaluate(work, block->best.theta, work->theta, &block->best);
    block->is_curved = is_curved;
    asker->used = used;
    /* Where the level above has its own best point, blocks may have come back after the sum's. */
    if (asked == ASKED_FAILED && work->joint->upper.method)
        return;
    if (asked != ASKED_OK) {
        joint_block_end(block, asked == ASKED_END ? asker->outcome : asker->failure, asker->reason);
        return;
    }
    /* The metric halves what it remembers: twice the value gives the same one. */
    for (size_t j = 0; j < work->n; j++)
        block->best.scale[j] *= 2;
    joint_region_schur(&work->region, &block->best, joint_least(work->joint), &block->reach);
}

/* Evaluates the point of a pass without own steps, as the trial. */
static enum asked evaluate_trial(struct joint_work *work, struct arena *arena)
{
    const struct joint *joint = work->joint;
    struct joint_block *block = work->block;
    if (joint->pass == JOINT_BEGIN) {
        block->reach = trust_reach_begin(joint->options->is_near);
        memset(block->best.scale, 0, work->n * sizeof(double));
        for (size_t k = 0; k < work->n; k++)
            block->best.theta[k] = work->region.asker.map.start[k];
    }
    if (joint->pass == JOINT_MIDDLE)
        joint_pilot_begin(work);
    memcpy(block->trial.scale, block->best.scale, work->n * sizeof(double));
    for (size_t k = 0; joint->pass == JOINT_BACK && k < work->n; k++)
        block->trial.theta[k] = work->region.asker.map.start[k];
    if (joint->pass == JOINT_GIVEN || joint->pass == JOINT_BACK || joint->pass == JOINT_LEAP)
        return try(work, arena, block->trial.theta, work->trial, &block->trial, &block->best);
    if (joint->pass == JOINT_LAND) {
        follow(work);
        return try(work, arena, work->region.rhs, work->trial, &block->trial, NULL);
    }
    return try(work, arena, block->best.theta, work->theta, &block->trial, NULL);
}

void joint_block_pass(struct joint_work *work, struct arena *arena)
{
    struct joint *joint = work->joint;
    struct joint_block *block = work->block;
    if (joint->pass == JOINT_ROWS || joint->pass == JOINT_VALUE || joint->pass == JOINT_ALONE) {
        bool is_good = joint->pass == JOINT_ROWS    ? joint_kinks_rows(work, arena)
                       : joint->pass == JOINT_VALUE ? joint_kinks_value(work, arena)
                                                    : joint_kinks_alone(work, arena);
        if (!is_good)
            joint_block_end(block, OUTCOME_out_of_memory, "no memory for a step of this dataset");
        return;
    }
    if (joint->pass == JOINT_STEP) {
        (joint_takes_line(joint) ? step_along : step)(work, arena);
        return;
    }
    if (joint->pass == JOINT_MEASURE) {
        measure(work);
        return;
    }
    if (joint->pass == JOINT_KEEP) {
        keep(work);
        return;
    }
    if (joint_is_upper(joint->pass)) {
        joint->upper.method->run_block(work, arena);
        return;
    }
    if (joint->pass == JOINT_RESUME) {
        resume(work);
        return;
    }
    if (joint->session && (joint->pass == JOINT_CHECK || joint->pass == JOINT_DESCRIBE)) {
        check_kept(work, arena);
        return;
    }
    if (joint->pass == JOINT_DESCRIBE)
        keep(work); /* in case that the evaluation ends */
    enum asked asked = evaluate_trial(work, arena);
    block->has_failed =
        asked == ASKED_FAILED || (asked == ASKED_END && joint->pass == JOINT_DESCRIBE);
    if (asked == ASKED_FAILED) {
        block->failure = work->asker->failure;
        snprintf(block->reason, sizeof block->reason, "%s", work->asker->reason);
    }
    if (asked != ASKED_OK)
        return;
    bool is_own = joint->pass == JOINT_BEGIN || joint->pass == JOINT_OWN;
    if (is_own || joint->pass == JOINT_MIDDLE || joint->pass == JOINT_AGAIN ||
        joint->pass == JOINT_LEAP)
        sum_leaps(work);
    bool may_leap = is_own && work->n > 0 && !joint->options->is_near &&
                    work->asker->accuracy.gradient != GRADIENT_adjoint;
    if (may_leap && !leave_start(work, arena))
        return;
    joint_region_schur(&work->region, &block->trial, joint_least(joint), &block->reach);
    if (joint->pass != JOINT_CHECK && joint->pass != JOINT_DESCRIBE && !joint->options->evaluates)
        return;
    keep(work);
    take_findings(work);
}
