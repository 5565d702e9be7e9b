/* A check that is made of every number that goes into the model or comes out of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether all n numbers are finite. */
static inline bool all_finite(const double *x, size_t n)
{
    /* inf - inf and NaN - NaN are NaN, any other x - x is 0. Four sums: the additions of one would wait for each other. */
    enum { LANES = 4 };
    double sum[LANES] = {0}, rest = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sum[lane] += x[i + lane] - x[i + lane];
    for (; i < n; i++)
        rest += x[i] - x[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest == 0;
}
