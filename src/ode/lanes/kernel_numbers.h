/* Numbers of the kernel: vectors as wide as the registers that it is compiled for, and functions of them that give the
 * same bits at any width.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/room.h"

#include <float.h>
#include <math.h>

/* The widest vector that is compiled well: a lanes' number is N_PART of them. Everything but the model's functions is done for
 * one part after the other: `h` is the part's number in all functions below. */
#if defined(__AVX512F__)
enum { N_PART = 1 };
#elif defined(__AVX__)
enum { N_PART = 2 };
#else
enum { N_PART = 4 };
#endif
typedef double part __attribute__((vector_size(8 * N_LANE / N_PART)));
typedef int64_t part_mask __attribute__((vector_size(8 * N_LANE / N_PART)));
#define PART(array, e) (((part *)(array))[(size_t)(e) * N_PART + (size_t)h])
#define MASK(array, e) (((part_mask *)(array))[(size_t)(e) * N_PART + (size_t)h])

#define INLINE static inline __attribute__((always_inline))

INLINE part spread(double x) { return x - (part){0}; }
INLINE part select(part_mask where, part a, part b)
{
    return (part)(((part_mask)a & where) | ((part_mask)b & ~where));
}
INLINE part magnitude(part x) { return (part)((part_mask)x & INT64_MAX); }
INLINE part larger(part a, part b) { return select(a > b, a, b); }
INLINE part smaller(part a, part b) { return select(a < b, a, b); }

INLINE unsigned bits(part_mask where)
{
    unsigned set = 0;
    for (int k = 0; k < N_LANE / N_PART; k++)
        set |= (unsigned)(where[k] & 1) << k;
    return set;
}

/* log2 of a positive normal number, off by less than 2e-5: enough for step sizes and tolerances. */
INLINE part log2_of(part x)
{
    part_mask raw = (part_mask)x;
    /* the exponent, made a number by the bits of 2^52 + exponent */
    part exponent = (part)(((raw >> 52) & 0x7ff) | 0x4330000000000000) - (0x1p52 + 1023);
    part z = (part)((raw & 0xfffffffffffff) | 0x3ff0000000000000) - 1.5, q = z * z;
    /* log2(1.5 + z), |z| <= 1/2: interpolated at Chebyshev's points */
    part low = (0.5849627591044448 + 0.9617965401665187 * z) + q * (-0.3206318784567584 + 0.14250802403350074 * z);
    part high = (-0.07059455402263097 + 0.03761046427796303 * z) + q * (-0.02511014095222291 + 0.01444035250150204 * z);
    return exponent + (low + q * q * high);
}

/* 1/x for 0 < x < 1e300, off by less than 1e-4 of it: enough for error tests. */
INLINE part reciprocal_of(part x)
{
    part r = (part)(0x7fde623822fc16e6 - (part_mask)x); /* off by 0.12 */
    r *= 2 - x * r;
    r *= 2 - x * r;
    return r * (2 - x * r);
}

/* 2^x for |x| < 1000, off by less than 1e-6 of it. */
INLINE part exp2_of(part x)
{
    part shifted = x + 0x1.8p52, f = x - (shifted - 0x1.8p52); /* |f| <= 1/2 */
    part_mask power = ((part_mask)shifted + 1023) << 52;
    f *= 0.6931471805599453;
    part series = 1 + f * (1 + f * (0.5 + f * (1.0 / 6 + f * (1.0 / 24 + f * (1.0 / 120 + f * (1.0 / 720))))));
    return series * (part)power;
}
