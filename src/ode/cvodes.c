/* CVODES as an integrator: one evaluation at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine_batch.h"

#include "ode/drive.h"
#include "ode/positive.h"
#include "ode/steady.h"
#include "ode/tolerance.h"
#include "ode/workspace.h"

#include <float.h>
#include <math.h>
#include <string.h>

static struct workspace *workspace_of(struct batch *batch) { return (struct workspace *)batch->seat[0]; }

static void *plan_new(const struct stiffit_model *abi, const struct ode_options *options, struct error *error)
{
    return linear_plan_new(abi, options->linear_solver, error);
}

static void plan_free(void *plan) { linear_plan_free(plan); }

static const char *linear_solver(const void *plan) { return linear_solver_word[linear_plan_kind(plan)]; }

static struct simulation *simulation_new(const void *plan, const struct stiffit_model *abi, const struct ode_options *options)
{
    struct workspace *workspace = workspace_new(abi, options, plan);
    return workspace ? &workspace->o : NULL;
}

static void simulation_free(struct simulation *sim) { workspace_free((struct workspace *)sim); }

static bool prepare(struct simulation *sim)
{
    struct workspace *ws = (struct workspace *)sim;
    workspace_prepare(ws);
    return !sim->evaluation->adjoint || adjoint_begin(ws) || adjoint_fail_memory(ws);
}

static int initial(struct simulation *sim) { return workspace_initial((struct workspace *)sim); }

static bool begin_adjoint(struct simulation *sim) { return adjoint_pass_begin((struct workspace *)sim); }

static bool start(struct simulation *sim) { return workspace_start((struct workspace *)sim); }

static struct integrator_events attempt(struct batch *b)
{
    struct workspace *ws = workspace_of(b);
    struct simulation *sim = &ws->o;
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    if (evaluation->adjoint) {
        bool goes_on = adjoint_pass_step(ws);
        b->live = goes_on && !sim->begins_anew;
        return (struct integrator_events){.finished = !goes_on};
    }
    if (!workspace_step(ws))
        return (struct integrator_events){.failed = 1};
    bool is_plain = !sim->has_stops && positive_is_plain(sim, sim->y);
    if (is_plain)
        sim->evaluation->t_reached = sim->t;
    return (struct integrator_events){.moved = 1, .fell = !is_plain, .spent = evaluation->n_step >= evaluation->max_steps,
                                      .measured = sim->rows.i_time < task->n_time && task->time[sim->rows.i_time] <= sim->t};
}

static const double *inside(struct batch *b, int k, double t)
{
    (void)k;
    return workspace_inside(workspace_of(b), t);
}

static bool state_at(struct simulation *sim, double t) { return workspace_go_to((struct workspace *)sim, t); }

struct look {
    struct workspace *ws;
    N_Vector f, ahead, weights;
};

static bool rhs(void *context, double *ydot)
{
    struct look *look = context;
    size_t n_number = look->ws->o.n_state * (1 + look->ws->o.blocks.n);
    look->ws->factor_gamma = 0; /* the corrector's factors are gone */
    bool good = newton_rhs(look->ws->o.t, look->ws->y, look->f, look->ws) == 0;
    memcpy(ydot, vector_data(look->f), n_number * sizeof *ydot);
    return good;
}

static bool look_for_steady_state(struct batch *b, int k)
{
    struct workspace *ws = workspace_of(b);
    struct look look = {.ws = ws, .f = vector_new(ws->bank), .ahead = vector_new(ws->bank), .weights = vector_new(ws->bank)};
    const struct steady_solver solver = {.linear = ws->linear, .rhs = rhs, .context = &look, .is_sparse = ws->sparse,
                                         .change = vector_data(look.ahead), .weight = vector_data(look.weights)};
    bool has_arrived = steady_look(b->seat[k], ws->o.y, &solver);
    N_VDestroy(look.f);
    N_VDestroy(look.ahead);
    N_VDestroy(look.weights);
    return has_arrived;
}

static bool may_be_sizes(struct batch *b, int k)
{
    (void)k;
    return workspace_may_be_sizes(workspace_of(b));
}

static bool fail(struct batch *b, int k)
{
    (void)k;
    return workspace_fail(workspace_of(b));
}

static const struct integrator cvodes = {
    .name = "cvodes", .width = 1, .plan_new = plan_new, .plan_free = plan_free, .linear_solver = linear_solver,
    .simulation_new = simulation_new, .simulation_free = simulation_free, .prepare = prepare, .initial = initial,
    .begin_adjoint = begin_adjoint, .start = start, .attempt = attempt, .state_at = state_at, .inside = inside,
    .look_for_steady_state = look_for_steady_state, .may_be_sizes = may_be_sizes, .fail = fail};
const struct engine_table engine_cvodes = ENGINE_OF_BATCHES(&cvodes, 1, NULL, NULL, NULL);
