/* The passes of an evaluation with an adjoint, a step at a time: forward, with answers and a record of the steps; backward; and
 * forward again over a chunk whose record was dropped. It has no stops.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"
#include "ode/tolerance.h"
#include "ode/workspace.h"

#include <math.h>

/* Answers the rows of all times until t_now: from the initial state in y or, after a step, by interpolation. False: it is
 * finished. If begins_anew is set, the rest is not answered. */
static bool answer_until(struct workspace *ws, double t_now, bool initial)
{
    struct observer *ob = &ws->o;
    const struct ode_task *task = ob->evaluation->task;
    while (ob->i_time < task->n_time && !ob->begins_anew) {
        double t = task->time[ob->i_time];
        if (t > t_now)
            break;
        if (!initial && !workspace_go_to(ws, t))
            return false;
        if (!adjoint_keep(ws, ob->i_time, initial))
            return adjoint_fail_memory(ws);
        if (ws->pass == PASS_FORWARD && !observer_answer(ob, ob->n_state ? ob->y : NULL, initial))
            return observer_fail(ob);
        ob->i_time += !ob->begins_anew;
        if (!initial && ob->grows)
            tolerance_look(ob, ob->y);
    }
    return ob->begins_anew || ws->pass == PASS_REPLAY || ob->i_time < task->n_time || adjoint_turn(ws);
}

bool adjoint_pass_begin(struct workspace *ws)
{
    struct observer *ob = &ws->o;
    if (ob->n_state > 0 && ws->y_at)
        root_look_begin(ob, ob->y);
    if (!answer_until(ws, ob->n_state > 0 ? ob->t : INFINITY, true))
        return false;
    return ws->pass == PASS_BACKWARD || workspace_start(ws);
}

static bool end_chunk(struct workspace *ws)
{
    if (!workspace_go_to(ws, ws->o.t) || !adjoint_close(ws))
        return false;
    if (ws->pass == PASS_FORWARD)
        return workspace_start(ws);
    ws->pass = PASS_BACKWARD;
    return true;
}

static bool step_backward(struct workspace *ws)
{
    if (!adjoint_step(ws, &ws->o.t))
        return false;
    return ws->pass == PASS_BACKWARD || workspace_start(ws);
}

/* Completes a recorded step. */
static bool record(struct workspace *ws)
{
    if (!adjoint_record(ws) || !answer_until(ws, ws->o.t, false))
        return false;
    if (ws->pass == PASS_BACKWARD)
        return true;
    if (adjoint_is_full(ws))
        return end_chunk(ws);
    tape_next(ws->tape);
    return true;
}

static const double *inside(void *context, double t) { return workspace_inside(context, t); }

/* Whether the states allow the step to stand. */
static bool look_at_step(struct workspace *ws)
{
    struct observer *ob = &ws->o;
    const struct latest_step step = {.state_at = inside, .context = ws};
    if (ws->y_at)
        root_look(ob, &step, ob->t_before);
    ob->evaluation->t_reached = ob->t;
    if (positive_crosses(ob, ob->y)) {
        const double *before = workspace_before(ws);
        if (before)
            positive_fall(ob, ob->t_before, before, ob->y);
    }
    size_t fallen = positive_look(ob, ob->y);
    return fallen == ob->n_state || observer_fall(ob, fallen);
}

bool adjoint_pass_step(struct workspace *ws)
{
    struct observer *ob = &ws->o;
    if (ws->pass == PASS_BACKWARD)
        return step_backward(ws);
    if (ob->evaluation->n_step >= ob->evaluation->max_steps)
        return observer_spent(ob);
    if (!workspace_step(ws))
        return workspace_fail(ws) && workspace_start(ws);
    if (ws->pass == PASS_FORWARD && !look_at_step(ws))
        return false;
    return ws->tape ? record(ws) : answer_until(ws, ob->t, false);
}
