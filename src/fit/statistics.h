/* What one fit says about its parameters: covariance, intervals, how well the data know which direction, and the usual
 * criteria. Separate from the search: it needs the best point and its derivatives, nothing else.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_STATISTICS_H
#define FIT_STATISTICS_H

#include "fit/point.h"

/* Fills standard errors, intervals, covariance, directions and criteria of a cleared record, n_noise, and what there is to
 * note about them. `point` has derivatives. Scratch from `arena`. False: out of memory.
 *
 * Standard errors are by the delta method where the optimiser's scale is a logarithm; intervals are made on that scale, so that
 * they keep its sign. Eigenvalues are of the parameters that are neither fixed nor held by a bound. The flattest direction has
 * unit length and its largest entry is positive; it is made of one for each number of flat_group. Errors come from the
 * observed information, or from the expected one where that is not positive definite. With an unknown sigma they are scaled by
 * residual_error, or by the integrator's errors where those are larger, and intervals use Student's t, as they do with
 * parameters of the noise alone. Criteria are of the full normal likelihood; an unknown sigma counts as a parameter. */
bool fit_statistics_compute(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point,
                            struct arena *arena);

#endif
