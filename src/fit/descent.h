/* The minimisation of one fit within its bounds: rounds of an active-set method around libLBFGS.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_DESCENT_H
#define FIT_DESCENT_H

#include "fit/asker.h"

struct descent;

/* All scratch comes from `arena`; NULL when memory is out. `asker` has its map and objective. */
struct descent *descent_new(struct fit_asker *asker, struct arena *arena);
/* Minimises from theta; the outcome. OUTCOME_not_run: cancelled. asker->reason says why it is no success. */
enum outcome descent_run(struct descent *descent, const double *theta);
/* The best point seen, or NULL. */
const struct fit_point *descent_best(const struct descent *descent);
/* Largest entry of the projected gradient there, on the optimiser's scale. */
double descent_gradient_norm(const struct descent *descent);
int64_t descent_n_iteration(const struct descent *descent);

#endif
