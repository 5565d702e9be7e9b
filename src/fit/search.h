/* The minimisation of one fit within its bounds, by either of two methods.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/point.h"

/* How a search ended. best is NULL if not even the start could be evaluated; asker->reason explains a failure. OUTCOME_not_run:
 * cancelled. */
struct search_end {
    enum outcome outcome;
    enum stop_test stop;
    const struct fit_point *best;
    const struct fit_point *forward; /* with adjoint gradients: the same with the derivatives of all residuals; or NULL */
    int64_t n_iteration;
};

/* Both minimise from theta; `asker` has its map and objective. Scratch, and end->best, come from `arena`. By a trust region,
 * with the derivatives of all residuals: */
void trust_region_search(struct fit_asker *asker, struct arena *arena, const double *theta, struct search_end *end);
/* With values and gradients alone, for objectives whose gradient comes from an adjoint integration, and for those that are not
 * a sum of squares: */
void descent_search(struct fit_asker *asker, struct arena *arena, const double *theta, struct search_end *end);
