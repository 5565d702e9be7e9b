/* What is kept of the evaluations of a fit of one block, and what the search learns from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/internal.h"

bool joint_session_room(struct joint_session *session)
{
    const struct joint_work *work = &session->work;
    enum gradient_method gradient = work->asker->accuracy.gradient,
                         with_rows = gradient == GRADIENT_adjoint ? GRADIENT_forward : gradient;
    return fit_point_init(&session->best, work->asker, gradient, work->arena) &&
           fit_point_init(&session->looser, work->asker, with_rows, work->arena) &&
           trust_probe_init(&session->probe, work->asker, work->arena);
}

void joint_session_forget(struct joint_session *session)
{
    session->has_looser = session->probe.is_needed = false;
}

void joint_session_pass(struct cursor *cursor, struct joint_session *session)
{
    struct joint_work *work = &session->work;
    struct joint_block *block = work->block;
    fit_asker_pass(cursor, work->asker);
    FIELD(block->memory.is_swapped);
    FIELD(block->best);
    joint_block_place(work->joint, block);
    ARRAY(block->memory.numbers, block->memory.n);
    FIELD(session->has_looser);
    FIELD(session->measured);
    FIELD(session->far);
    FIELD(session->ratio);
    fit_point_pass(cursor, work->asker, &session->best);
    if (session->has_looser || session->measured > 0)
        fit_point_pass(cursor, work->asker, &session->looser);
    trust_probe_pass(cursor, &session->probe);
}

void joint_session_take(struct joint_session *session, bool has_landed)
{
    struct joint_work *work = &session->work;
    struct fit_point at = work->at;
    has_landed = has_landed && work->block->gradient != GRADIENT_adjoint;
    work->at = has_landed ? session->looser : session->best;
    session->looser = has_landed ? session->best : session->looser;
    session->has_looser = session->has_looser || has_landed;
    session->best = at;
    trust_probe_move(&session->probe, work->joint->pass == JOINT_STEP);
    work->joint->search.model.is_current = false;
}

void joint_session_renew(struct joint_session *session)
{
    struct fit_point at = session->work.at;
    session->work.at = session->best;
    session->best = at;
    session->has_looser = false;
    session->measured = 0;
    trust_probe_move(&session->probe, false);
    session->work.joint->search.model.is_current = false;
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
