/* Detects that a trajectory crosses a jump of the right-hand side. Sensitivities do not include the effect of such a jump.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stiffit/model.h>

struct workspace;
struct crossing;

/* NULL: out of memory. Only for models with switching functions. */
struct crossing *crossing_new(const struct stiffit_model *abi);
void crossing_free(struct crossing *crossing); /* NULL is legal */

/* Call this at the initial state y. */
void crossing_begin(struct workspace *ws, const double *y);
/* Call this after a step, with its end in ws->y, which is overwritten. Sets evaluation.crosses. */
void crossing_look(struct workspace *ws);
