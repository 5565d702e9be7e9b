/* Lanes and what happens during an evaluation: its stops, jumps of its inputs in between, and the steady state.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/guest.h"

#include "ode/forcing.h"
#include "ode/steady.h"

#include <math.h>
#include <string.h>

const double *guest_inside(struct guest *guest, const struct lanes_room *room, int k, double t)
{
    double *y = guest->y, s = t >= room->t[k] ? 1 : (t - room->t_before[k]) / room->h_used[k], weight[METHOD_STAGES];
    for (int j = 0; j < lanes_method.n_stage; j++) {
        double inner = 0;
        for (int d = lanes_method.n_dense; d-- > 0;)
            inner = inner * s + lanes_method.dense[d][j];
        weight[j] = s * (1 - s) * inner;
    }
    for (size_t i = 0; i < guest->o.n_state; i++) {
        y[i] = (1 - s) * room->y_before[i][k] + s * room->y[i][k];
        for (int j = 0; j < lanes_method.n_stage && s < 1; j++)
            y[i] += weight[j] * room->scratch.stage[j][i][k];
    }
    return y;
}

/* The right-hand side of state and sensitivities. */
struct look {
    struct guest *guest;
    struct linear *linear;
};

static bool rhs(void *context, double *change)
{
    struct look *look = context;
    struct simulation *sim = &look->guest->o;
    struct derivatives *model = &sim->model;
    const double *y = look->guest->y;
    size_t n = sim->n_state;
    if (derivatives_rhs(model, sim->t, y, change) != STIFFIT_OK ||
        derivatives_jacobian(model, sim->t, y, NULL, false, linear_jacobian(look->linear)) != STIFFIT_OK ||
        (sim->blocks.n && derivatives_rhs_parameter(model, sim->t, y, sim->columns) != STIFFIT_OK))
        return false;
    linear_multiply(look->linear, y + n, change + n, sim->blocks.n);
    for (size_t b = 0; b < sim->blocks.n; b++)
        for (size_t i = 0; i < n && sim->blocks.in_rhs[b]; i++)
            change[(1 + b) * n + i] += sim->columns[sim->blocks.parameter[b] * n + i];
    return true;
}

bool guest_look_for_steady_state(struct guest *guest, struct linear *linear, double *scratch)
{
    struct look look = {.guest = guest, .linear = linear};
    const struct steady_solver solver = {.linear = linear, .rhs = rhs, .context = &look, .change = scratch,
                                         .weight = scratch + guest->o.n_state * (1 + guest->o.blocks.n)};
    linear_begin(linear);
    return steady_look(&guest->o, guest->y, &solver);
}

void guest_attend(struct guest *guest, struct lanes_room *room, int k)
{
    struct simulation *sim = &guest->o;
    guest_follow(guest, room, k);
    if (!sim->forcing)
        return;
    guest->bound = forcing_bound(sim, room->h[k]);
    for (size_t i = 0; i < sim->n_state; i++) {
        room->tolerance.guess[i][k] = sim->tolerance.sizes[i + sim->n_state];
        room->tolerance.reach[i][k] = sim->tolerance.reach[i];
        room->tolerance.noise[i][k] = sim->tolerance.noise[i];
        room->tolerance.born[i][k] = sim->tolerance.born[i];
    }
    room->tolerance.at_rest[k] = sim->tolerance.at_rest;
    room->t_stop[k] = guest_stop_time(guest);
}
