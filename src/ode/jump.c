/* What all maps of the sensitivities at a stop have in common.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"
#include "ode/simulation.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool moves(const struct simulation *sim, const double *dt)
{
    for (size_t k = 0; k < sim->blocks.n; k++)
        if (dt[k] != 0)
            return true;
    return false;
}

bool jump_travel(struct simulation *sim, double *y, const double *f, const double *dt, double sign)
{
    size_t n = sim->n_state;
    if (!moves(sim, dt))
        return true;
    if (!f && derivatives_rhs(&sim->model, sim->t, y, sim->stops->jump.f) != STIFFIT_OK)
        return outcome_model_failed(sim);
    f = f ? f : sim->stops->jump.f;
    for (size_t k = 0; k < sim->blocks.n; k++)
        for (size_t i = 0; i < n && dt[k] != 0; i++)
            y[(k + 1) * n + i] += sign * dt[k] * f[i];
    return true;
}

double jump_by_block(const struct simulation *sim, const double *matrix, size_t n_row, size_t row,
                     size_t k)
{
    return sim->blocks.is_pace || sim->blocks.parameter[k] == ODE_NONE
               ? 0
               : matrix[row + sim->blocks.parameter[k] * n_row];
}

bool jump_fixed(struct simulation *sim, const double *y, size_t i, double *dt)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching, n_row = i < n ? n : s->abi->n_event;
    enum point_function which = i < n ? MODEL_SWITCHING_TIME : MODEL_WHEN;
    memset(dt, 0, sim->blocks.n * sizeof(double));
    if (sim->blocks.n == 0 || sim->blocks.is_pace)
        return true;
    if (derivatives_by_parameter(&sim->model, which, sim->evaluation->task->experiment.t0,
                                 i < n ? NULL : y, s->jump.by_parameter) != STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t k = 0; k < sim->blocks.n; k++)
        dt[k] = jump_by_block(sim, s->jump.by_parameter, n_row, i < n ? i : i - n, k);
    return true;
}
