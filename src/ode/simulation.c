/* Makes simulations of the states of their modules.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/simulation.h"

#include "ode/blocks.h"
#include "ode/forcing.h"
#include "ode/observation.h"
#include "ode/period.h"
#include "ode/positive.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <math.h>
#include <stdlib.h>

bool simulation_init(struct simulation *sim, const struct stiffit_model *abi,
                     const struct ode_options *options)
{
    size_t n = abi->n_state, n_parameter = abi->n_parameter + options->n_none;
    sim->abi = abi;
    sim->options = *options;
    sim->max_step = fmin(options->max_step > 0 ? options->max_step : INFINITY,
                         abi->max_step > 0 ? abi->max_step : INFINITY);
    sim->n_state = n;
    sim->f = calloc(n + 1, sizeof(double));
    sim->y_before = calloc(n + 1, sizeof(double));
    sim->columns = calloc(n * n_parameter + 1, sizeof(double));
    sim->forcing = n && abi->n_forcing ? forcing_new(abi) : NULL;
    sim->positive = positive_new(n);
    sim->stops = stops_new(abi, blocks_most(abi, options));
    bool complete = derivatives_init(&sim->model, abi),
         has_forcing = sim->forcing || !n || !abi->n_forcing;
    complete = tolerance_init(&sim->tolerance, abi) && complete;
    complete = blocks_init(&sim->blocks, abi, options) && complete;
    complete = rows_init(&sim->rows, abi, options) && complete;
    sim->model.sizes = sim->tolerance.sizes;
    sim->model.is_kept = sim->positive ? positive_kept(sim->positive) : NULL;
    sim->model.piece = calloc((size_t)abi->n_input + 1, sizeof *sim->model.piece);
    return complete && sim->f && sim->y_before && sim->columns && has_forcing && sim->positive &&
           sim->stops && sim->model.piece;
}

void simulation_fini(struct simulation *sim)
{
    period_free(sim->period);
    forcing_free(sim->forcing);
    stops_free(sim->stops);
    free(sim->model.piece);
    positive_free(sim->positive);
    derivatives_fini(&sim->model);
    tolerance_fini(&sim->tolerance);
    blocks_fini(&sim->blocks);
    rows_fini(&sim->rows);
    free(sim->f);
    free(sim->y_before);
    free(sim->columns);
}
