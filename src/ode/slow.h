/* Whether slow motions have come to rest, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* jacobian: n x n, by columns, its entries accurate to `accuracy` of themselves; y: n states and
 * n_column - 1 columns of sensitivities; f: their right-hand side; weight: 1 / tolerance of
 * each. */
struct slow_point {
    size_t n, n_column;
    const double *jacobian, *y, *f, *weight;
    double accuracy;
};

/* Makes one step of Newton's method from y towards f = 0, in which conserved totals keep their
 * values. True: no number would change by more than its tolerance, or than rounding errors hide.
 * False also without memory. */
bool slow_is_at_rest(const struct slow_point *point);
