/* All searches of one fit, until the best point is confirmed.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/certificate.h"
#include "fit/search/search.h"

/* Searches from the fit's start, which it writes to `start` (n_free), until tighter integrator
 * tolerances confirm the optimum; if they do not, continues the search with them. Sets `end` and
 * the last certificate, whose numbers are NaN if there is none; the asker has the method that
 * was used, and its iterations. The point returned has the derivatives of all residuals; NULL if
 * there is none. Memory is from `arena`. */
const struct fit_point *fit_confirm(struct fit_asker *asker, struct arena *arena, double *start,
                                    struct search_end *end, struct fit_certificate *certificate);
