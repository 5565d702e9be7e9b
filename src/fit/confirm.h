/* All searches of one fit, until the best point is confirmed.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search.h"

/* Searches from the fit's start, which it writes to `start` (n_free), until tighter integrator tolerances confirm the optimum;
 * if they do not, continues the search with them. Sets `end`, and in the record the method that was used, its iterations and
 * the certificate. The point returned has the derivatives of all residuals; NULL if there is none. Memory is from `arena`. */
const struct fit_point *fit_confirm(struct fit_asker *asker, struct arena *arena, double *start, struct fit_record *record,
                                   struct search_end *end);
