/* Whether a trajectory crosses a jump of the right-hand side, where sensitivities lack the jump's part.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_CROSSING_H
#define ODE_CROSSING_H

#include <stdbool.h>
#include <stiffit/model.h>

struct workspace;
struct crossing;

/* NULL: out of memory. For models that have switching functions. */
struct crossing *crossing_new(const struct stiffit_model *abi);
void crossing_free(struct crossing *crossing); /* NULL is legal */

/* At the initial state, y. */
void crossing_begin(struct workspace *ws, const double *y);
/* After a step, whose end is in ws->y, which is overwritten: sets evaluation.crosses. */
void crossing_look(struct workspace *ws);

#endif
