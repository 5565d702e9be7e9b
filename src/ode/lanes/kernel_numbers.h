/* Numbers of the kernel: vectors as wide as the registers that it is compiled for, and functions
 * of them that give the same bits at any width.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/room.h"

#include <float.h>
#include <math.h>
#if defined(__FMA__)
#include <immintrin.h>
#endif

/* The widest vector that is compiled well: a lanes' number is N_PART of them. Everything but the
 * model's functions is done for one part after the other: `h` is the part's number in all
 * functions below. */
#if defined(__AVX512F__)
enum { N_PART = 1 };
#elif defined(__FMA__)
enum { N_PART = 2 };
#else
enum { N_PART = 4 };
#endif
typedef double part __attribute__((vector_size(8 * N_LANE / N_PART)));
typedef int64_t part_mask __attribute__((vector_size(8 * N_LANE / N_PART)));
#define PART(array, e) (((part *)(array))[(size_t)(e) * N_PART + (size_t)h])
#define MASK(array, e) (((part_mask *)(array))[(size_t)(e) * N_PART + (size_t)h])
/* The parts of a room that are in use. */
#define IS_PART(room, h) (N_PART == 1 ? (h) < 1 : (h) * (N_LANE / N_PART) < (room)->n_lane)
#define EACH_PART(room) for (int h = 0; IS_PART(room, h); h++)

#define INLINE static inline __attribute__((always_inline))

INLINE part spread(double x) { return x - (part){0}; }
INLINE part pick(part_mask where, part a, part b)
{
    return (part)(((part_mask)a & where) | ((part_mask)b & ~where));
}
INLINE part magnitude(part x) { return (part)((part_mask)x & INT64_MAX); }

/* a * b + c, rounded once (the source says where, not the compiler: all widths do the same); the
 * larger and the smaller one, or b if one of them is NaN. */
#if defined(__AVX512F__)
INLINE part fused(part a, part b, part c) { return _mm512_fmadd_pd(a, b, c); }
INLINE part larger(part a, part b) { return _mm512_max_pd(a, b); }
INLINE part smaller(part a, part b) { return _mm512_min_pd(a, b); }
#elif defined(__FMA__)
INLINE part fused(part a, part b, part c) { return _mm256_fmadd_pd(a, b, c); }
INLINE part larger(part a, part b) { return _mm256_max_pd(a, b); }
INLINE part smaller(part a, part b) { return _mm256_min_pd(a, b); }
#else
INLINE part fused(part a, part b, part c)
{
    for (int k = 0; k < N_LANE / N_PART; k++)
        c[k] = fma(a[k], b[k], c[k]);
    return c;
}
INLINE part larger(part a, part b) { return pick(a > b, a, b); }
INLINE part smaller(part a, part b) { return pick(a < b, a, b); }
#endif

INLINE unsigned bits(part_mask where)
{
    unsigned set = 0;
    for (int k = 0; k < N_LANE / N_PART; k++)
        set |= (unsigned)(where[k] & 1) << k;
    return set;
}

INLINE part linear(double a, double b, part x) { return fused(spread(b), x, spread(a)); }

/* log2 of a positive normal number, off by less than 2e-5: enough for step sizes and tolerances. */
INLINE part log2_of(part x)
{
    part_mask raw = (part_mask)x;
    /* the exponent, made a number by the bits of 2^52 + exponent */
    part exponent = (part)(((raw >> 52) & 0x7ff) | 0x4330000000000000) - (0x1p52 + 1023);
    part z = (part)((raw & 0xfffffffffffff) | 0x3ff0000000000000) - 1.5, q = z * z;
    /* log2(1.5 + z), |z| <= 1/2: interpolated at Chebyshev's points */
    part low = fused(q, linear(-0.3206318784567584, 0.14250802403350074, z),
                     linear(0.5849627591044448, 0.9617965401665187, z));
    part high = fused(q, linear(-0.02511014095222291, 0.01444035250150204, z),
                      linear(-0.07059455402263097, 0.03761046427796303, z));
    return exponent + fused(q * q, high, low);
}

/* 1/x for 0 < x < 1e300, off by less than 3e-4 of it: enough for error tests. */
INLINE part reciprocal_of(part x)
{
    part r = (part)(0x7fde623822fc16e6 - (part_mask)x); /* off by 0.12 */
    r *= fused(-x, r, spread(2));
    return r * fused(-x, r, spread(2));
}

/* The same, off by less than 2 %: enough for the error tests of many numbers. Not finite if x is
 * infinite. */
INLINE part rough_reciprocal_of(part x)
{
    part r = (part)(0x7fde623822fc16e6 - (part_mask)x);
    return r * fused(-x, r, spread(2));
}

/* 2^x for |x| < 1000, off by less than 1e-6 of it. */
INLINE part exp2_of(part x)
{
    part shifted = x + 0x1.8p52, f = x - (shifted - 0x1.8p52); /* |f| <= 1/2 */
    part_mask power = ((part_mask)shifted + 1023) << 52;
    f *= 0.6931471805599453;
    part series = linear(1.0 / 120, 1.0 / 720, f);
    static const double factor[] = {1.0 / 24, 1.0 / 6, 0.5, 1, 1};
    for (int k = 0; k < 5; k++)
        series = fused(f, series, spread(factor[k]));
    return series * (part)power;
}
