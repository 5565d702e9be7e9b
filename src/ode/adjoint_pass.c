/* The passes of an evaluation with an adjoint, a step at a time: forward, with answers and a record of the steps; backward; and
 * forward again over a chunk whose record was dropped. It has no stops.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"

#include "ode/outcome.h"
#include "ode/positive.h"
#include "ode/stops.h"
#include "ode/tolerance.h"
#include "ode/workspace.h"

#include <math.h>

/* Answers the rows of all times until t_now: from the initial state in y or, after a step, by interpolation. False: it is
 * finished. If begins_anew is set, the rest is not answered. */
static bool answer_until(struct workspace *ws, double t_now, bool initial)
{
    struct simulation *sim = &ws->o;
    const struct ode_task *task = sim->evaluation->task;
    while (sim->rows.i_time < task->n_time && !sim->begins_anew) {
        double t = task->time[sim->rows.i_time];
        if (t > t_now)
            break;
        if (!initial && !workspace_go_to(ws, t))
            return false;
        if (!adjoint_keep(ws, sim->rows.i_time, initial))
            return adjoint_fail_memory(ws);
        if (ws->pass == PASS_FORWARD && !observation_answer(sim, sim->n_state ? sim->y : NULL, initial))
            return outcome_model_failed(sim);
        sim->rows.i_time += !sim->begins_anew;
        if (!initial && sim->tolerance.grows)
            tolerance_look(sim, sim->y);
    }
    return sim->begins_anew || ws->pass == PASS_REPLAY || sim->rows.i_time < task->n_time || adjoint_turn(ws);
}

bool adjoint_pass_begin(struct workspace *ws)
{
    struct simulation *sim = &ws->o;
    if (sim->n_state > 0 && ws->y_at)
        root_look_begin(sim, sim->y);
    if (!answer_until(ws, sim->n_state > 0 ? sim->t : INFINITY, true))
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
    struct simulation *sim = &ws->o;
    const struct latest_step step = {.state_at = inside, .context = ws};
    if (ws->y_at)
        root_look(sim, &step, sim->t_before);
    sim->evaluation->t_reached = sim->t;
    if (positive_crosses(sim, sim->y)) {
        const double *before = workspace_before(ws);
        if (before)
            positive_fall(sim, sim->t_before, before, sim->y);
    }
    size_t fallen = positive_look(sim, sim->y);
    return fallen == sim->n_state || outcome_fell(sim, fallen);
}

bool adjoint_pass_step(struct workspace *ws)
{
    struct simulation *sim = &ws->o;
    if (ws->pass == PASS_BACKWARD)
        return step_backward(ws);
    if (sim->evaluation->n_step >= sim->evaluation->max_steps)
        return outcome_fail(sim, EVALUATION_BUDGET, "the budget of integrator steps is used up");
    if (!workspace_step(ws))
        return workspace_fail(ws) && workspace_start(ws);
    if (ws->pass == PASS_FORWARD && !look_at_step(ws))
        return false;
    return ws->tape ? record(ws) : answer_until(ws, sim->t, false);
}
