/* Scans time-dependent inputs before the integration, so that the integrator does not step over a pulse between two evaluations
 * of the right-hand side.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_FORCING_H
#define ODE_FORCING_H

#include <stdbool.h>
#include <stiffit/model.h>

struct workspace;
struct forcing;

/* NULL: out of memory. Only for models with forcing functions. */
struct forcing *forcing_new(const struct stiffit_model *abi);
void forcing_free(struct forcing *forcing); /* NULL is legal */

/* Call this when the integrator has been started at ws->t; it may pass any later time of the task. */
void forcing_begin(struct workspace *ws);
/* Call this before a step: limits it to the next time at which an input jumps or turns. */
void forcing_bound(struct workspace *ws);

#endif
