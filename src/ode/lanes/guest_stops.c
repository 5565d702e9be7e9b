/* Lanes and what happens during an evaluation: its stops, jumps of its inputs in between, and the steady state.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/guest.h"

#include "ode/steady.h"

#include <math.h>
#include <string.h>

/* A guest's latest step, in its lane; `end`: of the step. */
struct step_of {
    struct guest *guest;
    const struct lanes_room *room;
    int k;
    double end;
};

/* The dense output, as the kernel's `inside`. */
static const double *state_at(void *context, double t)
{
    const struct step_of *step = context;
    const struct lanes_room *room = step->room;
    int k = step->k;
    double *y = step->guest->y, s = t >= step->end ? 1 : (t - room->t_before[k]) / room->h_used[k], weight[METHOD_STAGES];
    for (int j = 0; j < lanes_method.n_stage; j++) {
        double inner = 0;
        for (int d = lanes_method.n_dense; d-- > 0;)
            inner = inner * s + lanes_method.dense[d][j];
        weight[j] = s * (1 - s) * inner;
    }
    for (size_t i = 0; i < step->guest->o.n_state; i++) {
        y[i] = (1 - s) * room->y_before[i][k] + s * room->y[i][k];
        for (int j = 0; j < lanes_method.n_stage && s < 1; j++)
            y[i] += weight[j] * room->stage[j][i][k];
    }
    return y;
}

bool guest_meets_stop(struct guest *guest, struct lanes_room *room, int k, bool *is_root)
{
    struct observer *ob = &guest->o;
    struct step_of own = {.guest = guest, .room = room, .k = k, .end = room->t[k]};
    const struct latest_step step = {.state_at = state_at, .context = &own};
    ob->t = room->t[k];
    *is_root = ob->has_stops && root_find(ob, &step, room->t_before[k]);
    room->t[k] = ob->t;
    return *is_root || (ob->has_stops && ob->t >= ob->stops->next);
}

/* The right-hand side of state and sensitivities. */
struct look {
    struct guest *guest;
    struct linear *linear;
};

static bool rhs(void *context, double *change)
{
    struct look *look = context;
    struct observer *ob = &look->guest->o;
    struct derivatives *model = &ob->model;
    const double *y = look->guest->y;
    size_t n = ob->n_state;
    if (derivatives_rhs(model, ob->t, y, change) != STIFFIT_OK ||
        derivatives_jacobian(model, ob->t, y, NULL, false, linear_jacobian(look->linear)) != STIFFIT_OK ||
        (ob->n_block && derivatives_rhs_parameter(model, ob->t, y, ob->columns) != STIFFIT_OK))
        return false;
    linear_multiply(look->linear, y + n, change + n, ob->n_block);
    for (size_t b = 0; b < ob->n_block; b++)
        for (size_t i = 0; i < n && ob->block_rhs[b]; i++)
            change[(1 + b) * n + i] += ob->columns[ob->block_parameter[b] * n + i];
    return true;
}

/* False: finished. */
static bool look_for_steady_state(struct guest *guest, struct lanes_room *room, int k, const int32_t *column,
                                  struct linear *linear, double *scratch)
{
    struct observer *ob = &guest->o;
    struct look look = {.guest = guest, .linear = linear};
    const struct steady_solver solver = {.linear = linear, .rhs = rhs, .context = &look, .change = scratch,
                                         .weight = scratch + ob->n_state * (1 + ob->n_block)};
    guest_store(guest, room, k, column);
    linear_begin(linear);
    if (!steady_look(ob, guest->y, &solver))
        return true;
    guest_count(guest, room, k);
    return observer_answer_until(ob, INFINITY, 1, guest->y, false);
}

bool guest_attend(struct guest *guest, struct lanes_room *room, int k, const int32_t *column, struct linear *linear,
                  double *scratch)
{
    struct observer *ob = &guest->o;
    guest_follow(guest, room, k);
    if (ob->forcing) {
        guest->bound = forcing_bound(ob, room->h[k]);
        for (size_t i = 0; i < ob->n_state; i++) {
            room->guess[i][k] = ob->sizes[i + ob->n_state];
            room->reach[i][k] = ob->reach[i];
            room->noise[i][k] = ob->noise[i];
            room->born[i][k] = ob->born[i];
        }
        room->at_rest[k] = ob->at_rest;
        room->t_stop[k] = guest_stop_time(guest);
    }
    if (stops_await_steady_state(ob) && steady_is_lost(ob)) {
        guest_count(guest, room, k);
        return false;
    }
    return !stops_await_steady_state(ob) || !steady_is_due(ob) ||
           look_for_steady_state(guest, room, k, column, linear, scratch);
}
