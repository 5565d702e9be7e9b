/* Inputs that move by themselves as time goes by are looked at ahead of the integrator, so that it does not step over a
 * pulse between two places at which it evaluates the right-hand side.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_FORCING_H
#define ODE_FORCING_H

#include <stdbool.h>
#include <stiffit/model.h>

struct workspace;
struct forcing;

/* NULL: out of memory. For models that have such functions. */
struct forcing *forcing_new(const struct stiffit_model *abi);
void forcing_free(struct forcing *forcing); /* NULL is legal */

/* The integrator has been started at ws->t, and may come by any of the task's times later on. */
void forcing_begin(struct workspace *ws);
/* Before a step: it will not go beyond the next place where an input jumps or turns. */
void forcing_bound(struct workspace *ws);

#endif
