/* Scans time-dependent inputs before the integration, so that the integrator does not step over
 * a pulse between two evaluations of the right-hand side.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stiffit/model.h>

struct simulation;
struct forcing;

/* NULL: out of memory. Only for models with forcing functions. */
struct forcing *forcing_new(const struct stiffit_model *abi);
void forcing_free(struct forcing *forcing); /* NULL is legal */

/* Call this when the integrator has been started at simulation.t; it may pass any later time of
 * the task. */
void forcing_begin(struct simulation *simulation);
/* Call this before a step of about the length `step`: returns the time at which an input jumps
 * or turns, or an earlier one, where the step must end; INFINITY: none is near. */
double forcing_bound(struct simulation *simulation, double step);
