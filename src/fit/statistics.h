/* Statistics of one fit: covariance, intervals, how well the data determine each direction, and the usual criteria. Separate
 * from the search: needs only the best point and its derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/point.h"

/* Fills standard errors, intervals, covariance, directions and criteria of a cleared record, its n_noise, and adds the notes
 * about them. `point` has derivatives. Scratch from `arena`. False: out of memory.
 *
 * Standard errors are by the delta method if the optimiser's scale is a logarithm; intervals are computed on that scale and
 * keep the sign. Eigenvalues are of the parameters that are neither fixed nor held by a bound. The flattest direction has unit
 * length and its largest entry is positive; it combines one direction for each number of flat_group. Errors come from the
 * observed information, or from the expected one if that is not positive definite. If sigma is unknown, they are scaled by
 * residual_error, or by the integrator's errors if those are larger, and intervals use Student's t, as they do with parameters
 * of the noise only. Criteria are of the full normal likelihood; an unknown sigma counts as a parameter. */
/* A converged fit has the note poor_fit if the errors are normal, every sigma is known, and a chi-square this large is less
 * probable than this. */
#define FIT_POOR_PROBABILITY 1e-6

bool fit_statistics_compute(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point,
                            struct arena *arena);
