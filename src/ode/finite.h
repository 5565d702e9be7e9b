/* A check that is made of every number that goes into the model or comes out of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether all n numbers are finite. */
static inline bool all_finite(const double *x, size_t n)
{
    /* The exponent of what is not finite has all bits set: one more carries into the sign's. */
    const uint64_t exponent = UINT64_C(0x7ff) << 52, one = UINT64_C(1) << 52;
    uint64_t carry = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        carry |= (bits & exponent) + one;
    }
    return !(carry >> 63);
}
