/* The observed information, level by level. At each one, what the observed information exceeds the
 * expected one by is taken into the metric of the expected one; eliminating the level's parameters
 * leaves an excess for those above, which may be negative where the sum over all datasets is not.
 * So only sums of excesses say whether the whole fit's information is positive definite. In a fit
 * of one dataset there is one level and nothing above it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/spectrum.h"

/* What the observed information exceeds the expected one by, of parameters c and d:
 * number[index[c] + index[d] ld]. */
struct fit_excess {
    const double *number;
    size_t ld;
    const uint32_t *index;
};
/* The rows that eliminating the spectrum's n parameters leaves, `own` (n x (n + m), triangular,
 * beginning with the spectrum's triangle), become those of the observed information in the known
 * directions; excess: of these n parameters and the m others. `left` (m x m) is what is left of it
 * for the others. If the observed information is not, or hardly, positive definite, nothing changes
 * and *is_definite is false. False: out of memory. */
bool fit_observe(const struct fit_spectrum *spectrum, size_t m, double *own,
                 struct fit_excess excess, double *left, bool *is_definite, struct arena *arena);
