/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/model.h"

#include "fit/joint/vector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double f_of(const struct joint_block *block) { return block->best.f; }
static double promise_of(const struct joint_block *block) { return block->best.promise; }
static double best_free_of(const struct joint_block *block) { return block->best.promise_free; }
static double trial_free_of(const struct joint_block *block) { return block->trial.promise_free; }
static double misfit_of(const struct joint_block *block) { return block->best.misfit; }
static double size_of(const struct joint_block *block) { return block->best.size; }
static double squares_of(const struct joint_block *block)
{
    return block->best.mean_square * (double)block->n_row;
}

enum asked joint_set_model(struct joint *joint, enum joint_which which)
{
    struct trust_model *model = &joint->search.model;
    if (!joint_reduce(joint, which, model->triangle, model->rhs))
        return joint_end_short(joint);
    bool is_exact = joint_is_alone(joint) && which != JOINT_INNER; /* but for rounding */
    for (size_t j = 0; j < joint->above.s; j++)
        joint->point.gradient[j] = is_exact
                                     ? joint_reduced_of(joint->block, which)->gradient[j]
                                     : joint_slope(model->triangle, joint->above.s, model->rhs, j);
    if (joint->session && joint->form == JOINT_NEAR && which == JOINT_BEST)
        trust_curvature_add(&model->curvature, model->scale, model->triangle, model->rhs);
    return trust_model_adopt(model, &joint->point) ? ASKED_OK : ASKED_FAILED;
}

double joint_promise_free(struct joint *joint, enum joint_which which)
{
    struct joint_reduced all = {
        .promise_free = joint_total(joint, which == JOINT_BEST ? best_free_of : trial_free_of)};
    joint_groups_look(joint, &all);
    return all.promise_free +
           (joint->above.s > 0 ? trust_model_promise_free(&joint->search.model, &joint->point) : 0);
}

/* What the stopping tests compare changes of the objective with, at the best point. */
static void measure(struct joint *joint)
{
    struct stopping_beyond *beyond = &joint->search.stopping.beyond;
    beyond->is_there = true;
    beyond->misfit = joint_total(joint, misfit_of);
    beyond->scale = joint_total(joint, size_of);
    double n_row = fmax(1, (double)joint->asker.objective.n_row);
    beyond->variance = joint->asker.is_sigma_known ? 1 : joint_total(joint, squares_of) / n_row;
}

bool joint_renew(struct joint *joint)
{
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++)
        facts.any |= joint_active(joint, i)->engine.is_renewed;
    joint_agree(joint, &facts);
    if (!facts.any)
        return false;
    double before = joint->above.f;
    joint->above.f = joint->point.f = joint_total(joint, f_of);
    joint_doubt(joint, before);
    joint->search.has_lowest = false;
    measure(joint);
    return true;
}

void joint_doubt(struct joint *joint, double before)
{
    joint->confirm.doubt += FIT_DOUBT * fabs(joint->above.f - before);
}

static void take_trials(struct joint *joint)
{
    for (size_t i = 0; i < joint->part.n_active; i++)
        joint_block_swap(joint_active(joint, i));
    if (joint->session)
        joint_session_take(joint->session,
                           joint->pass == JOINT_LAND || joint->pass == JOINT_STAY);
    joint->above.f = joint->point.f = joint_total(joint, f_of);
    measure(joint);
}

void joint_take(struct joint *joint)
{
    for (size_t i = 0; i < joint_vector_above(joint); i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        memcpy(part.best, part.trial, part.n * sizeof *part.best);
    }
    take_trials(joint);
}

static void free_reach(struct trust_reach *reach, double least_radius)
{
    reach->part = reach->lost = 1;
    reach->radius = fmax(reach->radius, least_radius);
}

void joint_free_reaches(struct joint *joint, double least_radius)
{
    free_reach(&joint->search.model.reach, least_radius);
    for (size_t i = 0; i < joint->part.n_active; i++)
        free_reach(&joint_active(joint, i)->reach, least_radius);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        free_reach(&joint->above.group[g].reach, least_radius);
}

void joint_begin_stopping(struct joint *joint)
{
    struct stopping *stopping = &joint->search.stopping;
    enum { OFFSET = 1, UNKNOWN = 2, KINKS = 4, INNER = 8 };
    struct joint_facts facts = {.any = 0};
    joint->search.has_lowest = false;
    if (joint->session)
        joint_session_drop(joint->session);
    joint->asker.objective = (struct fit_objective){.n_row = 0};
    stopping_init(stopping, &joint->asker);
    joint_count_rows(joint);
    for (size_t i = 0; i < joint->part.n_active; i++)
        facts.any |= (joint_active(joint, i)->has_offset ? OFFSET : 0)
                     | (joint_active(joint, i)->is_sigma_known ? 0 : UNKNOWN)
                     | (joint_active(joint, i)->form == JOINT_KINKS ? KINKS : 0)
                     | (joint_active(joint, i)->form != JOINT_NEAR ? INNER : 0);
    joint_agree(joint, &facts);
    joint->asker.objective.has_offset = facts.any & OFFSET;
    joint->form = facts.any & INNER ? JOINT_FAR : JOINT_NEAR;
    joint->form = facts.any & KINKS ? JOINT_KINKS : joint->form;
    joint->asker.is_sigma_known = !(facts.any & UNKNOWN);
    measure(joint);
}

enum asked joint_ask(struct joint *joint, enum joint_pass pass)
{
    enum joint_went went;
    do
        went = joint_run_pass(joint, pass);
    while (went == JOINT_FEWER);
    if (went != JOINT_COUNTS)
        return went == JOINT_FAILED ? ASKED_FAILED : ASKED_END;
    return joint_find_failed(joint) ? joint_end(joint, OUTCOME_stalled) : ASKED_OK;
}

void joint_take_first(struct joint *joint)
{
    if (joint->pass == JOINT_LAND)
        joint_take(joint);
    else
        take_trials(joint);
    joint->end.has_best = true;
    joint_begin_stopping(joint);
}

enum asked joint_evaluate(struct joint *joint, enum joint_pass pass)
{
    enum asked asked = joint_ask(joint, pass);
    if (asked == ASKED_OK)
        joint_take_first(joint);
    return asked;
}

/* After a pass that needs a best point: where blocks have left, the others evaluate it without
 * them. */
enum asked joint_judge(struct joint *joint, enum joint_went went)
{
    return went == JOINT_FEWER    ? joint_evaluate(joint, JOINT_AGAIN)
           : went == JOINT_COUNTS || went == JOINT_RENEWED ? ASKED_OK
                                                           : ASKED_END;
}

enum asked joint_set_step(struct joint *joint)
{
    struct trust_model *model = &joint->search.model;
    struct stopping_beyond *beyond = &joint->search.stopping.beyond;
    enum asked asked = ASKED_OK;
    /* blocks' rows change with their reach, and over kinks the model has others */
    if (!joint->session || !model->is_current)
        asked = joint_set_model(joint, JOINT_BEST);
    if (asked != ASKED_OK)
        return asked;
    model->promise = model->length = 0;
    model->is_restricted = false;
    if (joint->above.s > 0)
        trust_model_step(model, &joint->point);
    struct joint_reduced all = {.promise = model->promise + joint_total(joint, promise_of),
                                .promise_free = joint_total(joint, best_free_of),
                                .is_restricted = model->is_restricted};
    joint_groups_look(joint, &all);
    model->promise = all.promise;
    beyond->promise = all.promise_free;
    struct joint_facts facts = {.any = all.is_restricted,
                                .most = all.gradient_norm,
                                .single = all.single};
    for (size_t i = 0; i < joint->part.n_active; i++) {
        facts.most = fmax(facts.most, joint_active(joint, i)->best.gradient_norm);
        facts.single = fmax(facts.single, joint_active(joint, i)->best.single);
        facts.any |= joint_active(joint, i)->best.is_restricted;
    }
    joint_agree(joint, &facts);
    beyond->gradient_norm = facts.most;
    beyond->single = facts.single;
    model->is_restricted = facts.any;
    return ASKED_OK;
}
