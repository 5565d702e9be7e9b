/* What is kept of the evaluations of a fit of one block, and what the search learns from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/internal.h"

void joint_session_drop(struct joint_session *session)
{
    session->has_lowest = session->has_missed = false;
}

static bool is_in_use(const struct joint_session *session, const double *theta)
{
    return theta == session->best.theta || theta == session->looser.theta ||
           (session->has_missed && theta == session->missed.theta) ||
           (session->has_lowest && theta == session->lowest.theta);
}

/* Arrays for the next evaluation: at most four others are in use. */
static void free_trial(struct joint_session *session)
{
    size_t k = 0;
    while (k + 1 < JOINT_POINTS && is_in_use(session, session->points[k].theta))
        k++;
    session->work.at = session->points[k];
}

void joint_session_forget(struct joint_session *session)
{
    session->has_looser = false;
    trust_probe_forget(&session->probe);
    session->far.n_back = 0;
}

/* As bytes: the whole evaluation of a point; and what an asker knows from its evaluations, so that
 * another process makes the next ones as this one would. */
static void pass_point(struct cursor *cursor, const struct fit_asker *asker,
                       struct fit_point *point)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    FIELD(point->f);
    FIELD(point->n_step);
    ARRAY(point->theta, n);
    ARRAY(point->gradient, n);
    ARRAY(point->chain, n);
    ARRAY(point->p, asker->map.n_parameter);
    ARRAY(point->prediction, n_row);
    ARRAY(point->weight, n_row);
    ARRAY(point->residual, n_row);
    ARRAY(point->noise, point->noise ? n_row : 0);
    ARRAY(point->d_prediction, point->d_prediction ? n_row * n : 0);
    ARRAY(point->d_noise, point->d_noise ? n_row * n : 0);
}

static void pass_asker(struct cursor *cursor, struct fit_asker *asker)
{
    FIELD(asker->start_f);
    FIELD(asker->start_tighter);
    FIELD(asker->prediction_error);
    FIELD(asker->meets_jump);
    FIELD(asker->lanes);
    FIELD(asker->n_unsaved);
    FIELD(asker->notes);
    FIELD(asker->used);
    FIELD(asker->outcome);
    FIELD(asker->failure);
    FIELD(asker->reason);
    ARRAY(asker->course, asker->problem->n_experiment);
}

void joint_session_pass(struct cursor *cursor, struct joint_session *session)
{
    struct joint_work *work = &session->work;
    struct joint_block *block = work->block;
    pass_asker(cursor, work->asker);
    FIELD(block->memory.is_swapped);
    FIELD(block->best);
    joint_block_place(work->joint, block);
    ARRAY(block->memory.numbers, block->memory.n);
    FIELD(session->has_missed);
    FIELD(session->has_lowest);
    FIELD(session->has_looser);
    FIELD(session->measured);
    FIELD(session->far);
    FIELD(session->ratio);
    pass_point(cursor, work->asker, &session->best);
    if (session->has_missed)
        pass_point(cursor, work->asker, &session->missed);
    if (session->has_lowest)
        pass_point(cursor, work->asker, &session->lowest);
    if (session->has_looser || session->measured > 0)
        pass_point(cursor, work->asker, &session->looser);
    trust_probe_pass(cursor, &session->probe);
}

void joint_session_take(struct joint_session *session, bool has_landed)
{
    struct joint_work *work = &session->work;
    const struct fit_point lowest = session->has_lowest ? session->lowest : session->best;
    if (has_landed && work->block->gradient != GRADIENT_adjoint) {
        session->looser = session->best;
        session->has_looser = true;
    }
    session->has_lowest = lowest.f < work->at.f;
    session->lowest = lowest;
    session->best = work->at;
    free_trial(session);
    trust_probe_move(&session->probe, work->joint->pass == JOINT_STEP);
    work->joint->search.model.is_current = false;
}

void joint_session_renew(struct joint_session *session)
{
    session->best = session->work.at;
    session->has_looser = false;
    session->measured = 0;
    joint_session_drop(session);
    free_trial(session);
    trust_probe_move(&session->probe, false);
    session->work.joint->search.model.is_current = false;
}

enum asked joint_session_look_up(struct joint *joint, struct fit_search_trial *trial)
{
    struct joint_session *session = joint->session;
    struct trust_model *model = &joint->search.model;
    const struct fit_asker *asker = session->work.asker;
    const struct fit_point *best = &session->best, *missed = &session->missed;
    if (fit_asker_is_same(asker, joint->above.trial, best->theta)) {
        stopping_give_up(&joint->search.stopping);
        return ASKED_FAILED;
    }
    trial->is_known =
        session->has_missed && fit_asker_is_same(asker, joint->above.trial, missed->theta);
    if (!trial->is_known)
        return ASKED_OK;
    trial->f = missed->f;
    trial->decrease = joint->form == JOINT_KINKS
                        ? best->f - missed->f
                        : stopping_decrease(&joint->search.stopping, model, best, missed);
    for (size_t j = 0; j < model->n; j++)
        trial->slope += best->gradient[j] * model->step[j];
    trust_probe_note(&session->probe, best, NULL);
    return ASKED_OK;
}

void joint_session_leave(struct joint_session *session)
{
    const struct fit_point *at = &session->work.at;
    session->missed = *at;
    session->has_missed = true;
    if (at->f < (session->has_lowest ? session->lowest.f : session->best.f)) {
        session->lowest = *at;
        session->has_lowest = true;
    }
    free_trial(session);
}

enum asked joint_session_probe(struct joint *joint)
{
    struct joint_session *session = joint->session;
    struct joint_work *work = &session->work;
    if (joint->form != JOINT_NEAR)
        return ASKED_OK;
    enum asked asked =
        trust_probe_step(&session->probe, &joint->search.model, &session->best, &work->at);
    work->block->used = work->asker->used;
    work->block->engine.lanes = work->asker->lanes;
    if (asked == ASKED_END && work->asker->lanes.leaves) { /* once the step fails, too */
        session->probe.is_needed = false;
        trust_probe_move(&session->probe, false);
        trust_model_step(&joint->search.model, &session->best);
        return ASKED_OK;
    }
    if (asked == ASKED_END)
        joint_block_end(work->block, work->asker->outcome, work->asker->reason);
    return asked;
}

bool joint_session_is_far(struct joint *joint)
{
    struct joint_session *session = joint->session;
    return trust_far_went(&session->far, &joint->search.model, session->work.asker, &session->best,
                          &session->work.at);
}

bool joint_session_learn(struct joint *joint, double decrease)
{
    struct joint_session *session = joint->session;
    const struct joint_work *work = &session->work;
    bool is_failed = work->block->has_failed;
    trust_probe_note(&session->probe, &session->best, is_failed ? NULL : &work->at);
    if (is_failed || joint_takes_line(joint))
        return false;
    bool is_far = decrease > 0 && joint_session_is_far(joint);
    if (joint->form == JOINT_NEAR)
        fit_search_learn(&joint->search, work->asker, &session->best, &work->at, decrease > 0);
    return is_far;
}
