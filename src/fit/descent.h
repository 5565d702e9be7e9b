/* Minimises one fit within its bounds from values and gradients only: for objectives whose gradient comes from an adjoint
 * integration, and for those that are not a sum of squares.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_DESCENT_H
#define FIT_DESCENT_H

#include "fit/asker.h"

/* Minimises from theta; `asker` has its map and objective. Scratch, and end->best, come from `arena`. */
void descent_search(struct fit_asker *asker, struct arena *arena, const double *theta, struct search_end *end);

#endif
