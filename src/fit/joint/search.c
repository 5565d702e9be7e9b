/* The search of a fit over many datasets. The shared parameters' steps are those of a trust
 * region on the sums over blocks (fit/search/search.h); every evaluation is a pass over all blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/alone.h"
#include "base/memory.h"
#include "fit/joint/internal.h"
#include "fit/joint/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A decrease of more than so many of the errors that the tolerances allow is no noise, whatever the
 * slopes at the ends of a step say that is long for some block. */
static const double NOISE_ERRORS = 10;
/* How often leaps of shared and own parameters take turns. */
enum { MAX_LEAPING = 3 };
/* Evaluations of a block that the first steps leave for others. */
enum { KEPT = 4 };
/* The sample of the first steps is left if they promise less than this part of the mean square
 * of a residual. */
static const double SAMPLE_ENDS = 0.1;

static struct joint *joint_of(struct fit_search *search) { return (struct joint *)search; }

bool joint_init(struct joint *joint, const struct fit_options *options, const struct model *model,
                size_t n_block, size_t n_parameter, const struct joint_levels *levels,
                const enum parameter_scale *scale, struct arena *arena)
{
    bool descends = options->optimizer == OPTIMIZER_lbfgs;
    enum gradient_method gradient = options->gradient;
    if (gradient != GRADIENT_differences && !(descends && gradient == GRADIENT_adjoint))
        gradient = GRADIENT_forward;
    *joint = (struct joint){.options = options,
                            .model = model, .n_block = n_block, .n_parameter = n_parameter,
                            .levels = *levels, .scale = scale, .descends = descends,
                            .end = {.culprit = n_block},
                            .ranks = {.n = 1, .n_block = n_block}};
    joint->asker =
        (struct fit_asker){.options = options, .start_f = NAN, .prediction_error = NAN,
                           .accuracy = {.tighter = 1,
                                        .engine = options->engine,
                                        .gradient = gradient},
                           .is_near = options->is_near || options->evaluates || descends,
                           .is_exact = model->abi.n_state == 0};
    joint->arena = arena ? arena : &joint->own;
    joint->search.asker = &joint->asker;
    joint->search.best = &joint->point;
    joint->confirm.goal = INFINITY;
    joint->confirm.certificate = (struct fit_certificate){.change = NAN, .decrease = NAN};
    joint->search.requested = joint->asker.accuracy;
    joint->block = joint_calloc(joint, n_block ? n_block : 1, sizeof *joint->block);
    joint->agreement.fixed = arena_calloc(joint->arena, n_parameter + 1, 1);
    joint->part.active = arena_calloc(joint->arena, n_block + 1, sizeof *joint->part.active);
    size_t n_group = 1;
    for (size_t c = 0; c < levels->n_column; c++)
        n_group += levels->n_group[c];
    joint->part.first = arena_calloc(joint->arena, n_group, sizeof *joint->part.first);
    if (joint->part.active && joint->block && joint->part.first)
        joint_activate(joint);
    joint->part.n_all = joint->part.n_active;
    return monitor_init(&joint->agreement.lock) && joint->block && joint->agreement.fixed &&
           joint->part.active && joint->part.first && joint_pilot_init(joint) &&
           ARENA_DOUBLES(joint->arena, {&joint->agreement.start, n_parameter, 1},
                         {&joint->agreement.lower, n_parameter, 1},
                         {&joint->agreement.upper, n_parameter, 1});
}

static double decrease_of(const struct joint_block *block) { return block->decrease; }
static double noise_of(const struct joint_block *block)
{
    return block->best.noise + block->trial.noise;
}
static double slopes_of(const struct joint_block *block) { return block->by_slopes; }
static double slope_of(const struct joint_block *block) { return block->slope; }
static double promise_of(const struct joint_block *block) { return block->promise; }
static double trial_of(const struct joint_block *block) { return block->trial.f; }

/* The parameters above the blocks, at their starts, once these are known. */
static void take_start(struct joint *joint)
{
    struct joint_shared *above = &joint->above;
    if (!joint->agreement.is_begun)
        return;
    memcpy(above->theta, joint->asker.map.start, above->s * sizeof *above->theta);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        memcpy(above->group[g].reduced.theta, above->group_region->asker.map.start,
               above->n_group * sizeof(double));
}

/* Some datasets are fitted by themselves. The search goes on from the medians of these fits if
 * these are lower than the start. */
static enum asked try_pilots(struct joint *joint)
{
    joint->has_pilots = false;
    enum joint_went went = joint_run_pass(joint, JOINT_PILOT);
    if (went != JOINT_COUNTS || !joint_pilot_take(joint))
        return joint_judge(joint, went);
    enum asked asked = joint_evaluate(joint, JOINT_MIDDLE);
    if (asked == ASKED_END || (asked == ASKED_OK && joint->above.f < joint->asker.start_f))
        return asked;
    take_start(joint);
    return joint_evaluate(joint, JOINT_BEGIN);
}

/* What the start is worth, at the present accuracy. */
static void note_start(struct joint *joint, double f)
{
    joint->asker.start_f = f;
    joint->asker.start_tighter = joint->asker.accuracy.tighter;
}

static enum asked begin(struct fit_search *search)
{
    struct joint *joint = joint_of(search);
    joint->end.has_best = false;
    joint->asker.start_f = NAN;
    joint->confirm.doubt = 0;
    take_start(joint);
    if (joint->agreement.is_begun)
        trust_model_forget(&joint->search.model);
    if (joint->session)
        joint_session_forget(joint->session);
    enum asked asked = joint_evaluate(joint, JOINT_BEGIN);
    if (asked == ASKED_OK)
        note_start(joint, joint->above.f);
    return asked == ASKED_OK && joint_has_pilots(joint) ? try_pilots(joint) : asked;
}

/* Whether some block has used half of a budget; the other half is for what follows the sample. */
static bool is_tired(const struct joint *joint)
{
    const struct fit_options *options = joint->options;
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        facts.any |= block->used.n_evaluation >= options->max_evaluations / 2
                     || block->used.n_step >= options->max_total_steps / 2;
    }
    joint_agree(joint, &facts);
    return facts.any;
}

/* Whether the steps of the sample have little more to say to the others. */
static bool is_sample_over(const struct joint *joint)
{
    const struct trust_model *model = &joint->search.model;
    const struct stopping_beyond *beyond = &joint->search.stopping.beyond;
    double little = SAMPLE_ENDS * beyond->misfit / fmax(1, (double)joint->asker.objective.n_row);
    return joint->part.stride > 0 &&
           (is_tired(joint) ||
            (model->promise <= little && (!model->is_restricted || beyond->promise <= little)));
}

/* From the sample to all blocks. */
static enum asked grow(struct joint *joint)
{
    joint->part.stride = 0;
    joint->asker.start_f = NAN;
    trust_model_forget(&joint->search.model);
    joint_activate(joint);
    joint_count(joint);
    enum asked asked = joint_evaluate(joint, JOINT_GROW);
    note_start(joint, joint->above.f);
    joint->search.doubt = -INFINITY; /* the sample has gained already */
    return asked == ASKED_FAILED ? begin(&joint->search) : asked;
}

static enum asked look(struct fit_search *search)
{
    struct joint *joint = joint_of(search);
    for (;;) {
        if (joint->host->keep)
            joint->host->keep(joint->host->context);
        enum asked asked = joint_set_step(joint);
        if (asked != ASKED_OK)
            return asked;
        if (is_sample_over(joint)) {
            asked = grow(joint);
            if (asked != ASKED_OK)
                return asked;
            continue;
        }
        joint->line.has_fewer = false;
        if (joint->form != JOINT_NEAR && !joint->descends)
            asked = joint_line_look(joint);
        if (!joint->line.has_fewer)
            return asked;
        asked = joint_evaluate(joint, JOINT_AGAIN);
        if (asked != ASKED_OK)
            return asked;
    }
}

/* The decrease of the trial, by values or, where these are lost in noise, by slopes;
 * stopping_decrease for the sums. */
static enum asked find_decrease(struct joint *joint, double *decrease)
{
    struct stopping *stopping = &joint->search.stopping;
    struct trust_model *model = &joint->search.model;
    if (joint->session && joint->form != JOINT_KINKS) {
        *decrease = stopping_decrease(stopping, model, &joint->session->best,
                                      &joint->session->work.at);
        return ASKED_OK;
    }
    double by_value = joint_total(joint, decrease_of), by_slopes = joint_total(joint, slopes_of);
    *decrease = by_value;
    if (joint->form == JOINT_KINKS ||
        !stopping_is_hidden(stopping, model->promise, &joint->point, by_value, by_slopes) ||
        by_value > NOISE_ERRORS * joint_total(joint, noise_of))
        return ASKED_OK;
    double before = stopping->beyond.promise, radius = model->reach.radius;
    before += joint->above.s > 0 ? trust_model_promise_free(model, &joint->point) : 0;
    enum asked asked = joint_set_model(joint, JOINT_TRIAL);
    if (asked == ASKED_FAILED)
        *decrease = -INFINITY;
    if (asked != ASKED_OK)
        return asked;
    double after = joint_promise_free(joint, JOINT_TRIAL);
    model->reach.radius = radius;
    *decrease = stopping_by_gradient(stopping, by_value, by_slopes, !(after > 0.5 * before));
    return ASKED_OK;
}

/* The trials of all blocks have been evaluated, or some could not be. */
static enum asked judge_trial(struct joint *joint, struct fit_search_trial *trial)
{
    enum { FAILED = 1, MOVED = 2 };
    struct fit_search *search = &joint->search;
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++)
        facts.any |= (joint_active(joint, i)->has_failed ? FAILED : 0) |
                     (joint_active(joint, i)->has_moved ? MOVED : 0);
    joint_agree(joint, &facts);
    bool has_failed = facts.any & FAILED, has_moved = facts.any & MOVED;
    joint_renew(joint);
    if (!has_failed && !has_moved)
        stopping_give_up(&search->stopping);
    if (!has_failed && !joint->session) /* blocks follow the shared step */
        search->model.promise = joint_total(joint, promise_of);
    if (!has_failed && find_decrease(joint, &trial->decrease) == ASKED_END)
        return ASKED_END;
    trial->f = has_failed ? INFINITY : joint_total(joint, trial_of);
    trial->slope = joint_total(joint, slope_of);
    trial->is_refused = joint->session && joint_session_learn(joint, trial->decrease);
    /* joint/line.c damps its steps */
    trial->keeps_reach = joint_takes_line(joint) || trial->is_refused;
    return ASKED_OK;
}

static enum asked try(struct fit_search *search, struct fit_search_trial *trial)
{
    struct joint *joint = joint_of(search);
    if (joint->session && joint_session_probe(joint) == ASKED_END)
        return joint_judge(joint, joint_account(joint));
    if (joint_takes_line(joint)) {
        joint_line_target(joint);
    } else {
        trust_model_target(&search->model, &joint->point, joint->above.trial);
        joint_groups_step(joint);
    }
    enum asked asked = joint->session ? joint_session_look_up(joint, trial) : ASKED_OK;
    if (asked != ASKED_OK || trial->is_known)
        return asked;
    enum joint_went went = joint_run_pass(joint, JOINT_STEP);
    if (went == JOINT_COUNTS)
        return judge_trial(joint, trial);
    return joint_judge(joint, went) == ASKED_END ? ASKED_END : ASKED_FAILED;
}

static void settle(struct fit_search *search, const struct fit_search_trial *trial, bool is_taken,
                   enum trust_radius radius)
{
    struct joint *joint = joint_of(search);
    if (joint->session && radius == TRUST_RADIUS_SHRINKS)
        trust_probe_poor(&joint->session->probe);
    if (joint->session && is_taken)
        trust_far_relax(&search->model);
    if (joint_takes_line(joint))
        joint_line_adapt(joint, trial->decrease / search->model.promise);
    else
        joint_groups_adapt(joint);
    if (is_taken)
        joint_take(joint);
    else if (joint->session && trial->f < INFINITY && !trial->is_known)
        joint_session_leave(joint->session);
}

/* Only here are values of two accuracies compared, with a margin for the errors of the former. */
static enum asked land(struct fit_search *search)
{
    struct joint *joint = joint_of(search);
    double most = joint->above.f + stopping_noise_ceiling(&search->stopping, search->best);
    if (joint->session)
        joint->session->ratio =
            search->stopping.accuracy /
            fit_asker_rtol(&joint->asker, joint->asker.accuracy.tighter);
    trust_model_target(&search->model, &joint->point, joint->above.trial);
    joint_groups_step(joint);
    enum asked asked = joint_ask(joint, JOINT_LAND);
    if (asked == ASKED_END)
        return ASKED_END;
    if (asked == ASKED_FAILED || !(joint_total(joint, trial_of) <= most) ||
        (joint->session && joint_session_is_far(joint)))
        return joint_evaluate(joint, JOINT_STAY);
    joint_take_first(joint);
    search->n_iteration++;
    return ASKED_OK;
}

/* Evaluates the start, and goes there if that is lower. */
static enum asked look_back(struct fit_search *search)
{
    struct joint *joint = joint_of(search);
    struct joint_shared *above = &joint->above;
    joint->asker.start_f = NAN;
    joint->confirm.doubt = 0;
    memcpy(above->trial, joint->asker.map.start, above->s * sizeof *above->trial);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        memcpy(above->group[g].trial, above->group_region->asker.map.start,
               above->n_group * sizeof(double));
    if (joint->session &&
        fit_asker_is_same(joint->session->work.asker, above->trial, above->theta)) {
        note_start(joint, above->f);
        return ASKED_OK;
    }
    enum joint_went went = joint_run_pass(joint, JOINT_BACK);
    if (went != JOINT_COUNTS)
        return joint_judge(joint, went);
    joint_renew(joint);
    if (joint_some_failed(joint))
        return ASKED_OK;
    note_start(joint, joint_total(joint, trial_of));
    if (joint->asker.start_f < above->f)
        joint_take(joint);
    return ASKED_OK;
}

static bool has_budget(const struct fit_search *search)
{
    const struct joint *joint = (const struct joint *)search;
    const struct fit_options *options = joint->options;
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        facts.any |= fit_work_left(options, &block->used).n_evaluation < KEPT
                     || 2 * block->used.n_step > options->max_total_steps
                     || (block->is_made && block->gradient != GRADIENT_forward);
    }
    joint_agree(joint, &facts);
    return !facts.any;
}

/* One block keeps the point. */
static bool go_lowest(struct fit_search *search)
{
    struct joint *joint = joint_of(search);
    if (!joint->session || !joint->session->has_lowest)
        return false;
    struct joint_work *work = &joint->session->work;
    struct joint_block *block = work->block;
    joint->pass = JOINT_GIVEN;
    work->at = joint->session->lowest;
    memcpy(joint->above.trial, work->at.theta, joint->above.s * sizeof(double));
    joint_block_take(work, &block->trial);
    joint_region_schur(&work->region, &block->trial, joint_least(joint), &block->reach);
    joint_take(joint);
    return true;
}

/* From a sample to all blocks; or once to the lowest point, although the step there was taken back
 * because it went too far for some parameter. */
static enum asked go_on(struct fit_search *search, enum outcome outcome)
{
    struct joint *joint = joint_of(search);
    (void)outcome;
    if (joint->part.stride > 0)
        return grow(joint);
    int n_back = joint->session ? joint->session->far.n_back : 0;
    if (!(n_back > 0 && n_back <= TRUST_FAR_MOST) ||
        !stopping_is_lower(&search->stopping, fit_search_lowest(search), search->best) ||
        !go_lowest(search))
        return ASKED_FAILED;
    trust_model_forget(&search->model);
    joint_begin_stopping(joint);
    joint->session->far.n_back = TRUST_FAR_MOST + 1;
    return ASKED_OK;
}

/* Where shared parameters have left their starts, those of blocks may leap from theirs, and then
 * again shared ones. */
static enum asked leap(struct fit_search *search)
{
    struct joint *joint = joint_of(search);
    bool any = true;
    enum asked asked = ASKED_OK;
    for (int i = 0; i < MAX_LEAPING && any && asked == ASKED_OK; i++) {
        asked = joint_judge(joint, joint_leap(joint, &any));
        any = any && !joint->session; /* which has no own parameters */
        if (any && asked == ASKED_OK)
            asked = joint_evaluate(joint, JOINT_OWN);
    }
    return asked;
}

static const struct fit_search_method method = {.begin = begin, .leap = leap, .look = look,
                                                .try = try, .settle = settle,
                                                .land = land,
                                                .look_back = look_back, .has_budget = has_budget,
                                                .go_on = go_on, .go_lowest = go_lowest};

/* L-BFGS in place of the steps of the trust region. */
static enum outcome descend(struct joint *joint, bool is_under_way)
{
    enum asked asked = is_under_way ? ASKED_OK : begin(&joint->search);
    if (!is_under_way && asked == ASKED_OK && !joint->options->is_near)
        asked = leap(&joint->search);
    enum outcome outcome = OUTCOME_not_run;
    while (asked == ASKED_OK) {
        enum joint_went went = joint_descend(joint, &outcome);
        if (went == JOINT_COUNTS)
            return outcome;
        asked = joint_judge(joint, went);
    }
    return joint->asker.outcome;
}

/* In place of a search: what the start is worth. */
static enum outcome describe(struct joint *joint)
{
    enum asked asked = begin(&joint->search);
    if (asked == ASKED_OK && joint->upper.method)
        return joint->upper.method->search(joint, true, &(enum stop_test){STOP_none});
    if (asked == ASKED_OK && !joint_errors_describe(joint))
        asked = joint_end_short(joint);
    return asked == ASKED_OK ? OUTCOME_evaluated : joint->asker.outcome;
}

/* Blocks that have crashed in an earlier process may end the fit before anything is evaluated. A
 * new search of a sample first looks whether the data of all blocks can be used; one that
 * another process has left evaluates its best point again. */
static enum asked prepare(struct joint *joint, bool is_resumed)
{
    if (!is_resumed)
        joint->part.stride = joint_stride(joint);
    bool looks = !is_resumed && joint->part.stride > 1;
    joint->pass = is_resumed ? JOINT_RESUME : looks ? JOINT_LOOK : JOINT_BEGIN;
    joint_activate(joint);
    joint_count(joint);
    enum joint_went went = joint_account(joint);
    if ((went == JOINT_COUNTS || went == JOINT_FEWER) && looks)
        went = joint_run_pass(joint, JOINT_LOOK);
    else if (went == JOINT_COUNTS && is_resumed)
        went = joint_run_pass(joint, JOINT_RESUME);
    if (is_resumed)
        return joint_judge(joint, went);
    joint->pass = JOINT_BEGIN;
    joint_activate(joint);
    joint_count(joint);
    return went == JOINT_ENDED ? ASKED_END : ASKED_OK;
}

static enum outcome run(struct joint *joint, enum stop_test *stop)
{
    bool is_resumed = joint->saved.bytes != NULL, is_under_way = is_resumed;
    enum asked asked = prepare(joint, is_resumed);
    enum outcome outcome = joint->asker.outcome;
    while (asked == ASKED_OK) {
        if (joint->options->evaluates)
            return describe(joint);
        if (joint->upper.method) {
            outcome = joint->upper.method->search(joint, is_under_way, stop);
            break;
        }
        outcome = joint->descends ? descend(joint, is_under_way)
                                  : fit_search_run(&joint->search, is_under_way);
        *stop = outcome == OUTCOME_converged ? joint->search.stopping.met : STOP_none;
        is_under_way = true;
        asked = joint_confirm(joint, &outcome, stop);
    }
    return joint->end.is_cut ? joint->asker.outcome : outcome;
}

bool joint_search(struct joint *joint, const struct joint_host *host)
{
    enum stop_test stop = STOP_none;
    joint->host = host;
    joint->search.method = &method;
    joint->search.reach_growth = joint->session ? TRUST_REACH_GROWTH : TRUST_REACH_GROWTH_SHARED;
    enum outcome outcome = run(joint, &stop);
    if (joint->end.is_stopped)
        return false;
    if (joint->end.is_cut && joint->end.has_best)
        joint_keep_best(joint, outcome);
    joint->end.outcome = outcome;
    joint->end.stop = joint->end.is_cut ? STOP_none : stop;
    return !joint->end.is_stopped;
}
