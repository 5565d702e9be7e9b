/* Minimises one fit within its bounds by a trust-region method on the derivatives of all residuals.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_TRUST_REGION_H
#define FIT_TRUST_REGION_H

#include "fit/asker.h"

/* Minimises from theta; `asker` has its map and objective. Scratch, and end->best, come from `arena`. */
void trust_region_search(struct fit_asker *asker, struct arena *arena, const double *theta, struct search_end *end);

#endif
