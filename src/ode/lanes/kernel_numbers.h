/* Numbers of the kernel: vectors as wide as the registers that it is compiled for, and the words
 * in which files step_*.h say what is done with them, which gives the same bits at any width.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/bank.h"

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
/* The parts of a bank that are in use. */
#define IS_PART(bank, h) (N_PART == 1 ? (h) < 1 : (h) * (N_LANE / N_PART) < (bank)->n_lane)
#define EACH_PART(bank) for (int h = 0; IS_PART(bank, h); h++)

#define INLINE static inline __attribute__((always_inline))

/* Of the words for a GPU: the memory of a bank, and lists of a row's terms. */
#define AT
#define N_STATE(bank) ((bank)->plan->n)
#define N_INPUT(bank) ((bank)->plan->abi->n_input)
#define IS_INFUSED(bank) ((bank)->outside.infused)
#define ROW(rows, i) (bank->plan->rows.start[i])
#define TERM(rows, k, member) (bank->plan->rows.term[k].member)
/* stages of n numbers each */
#define STAGES_OF(name) lanes *const *name
/* Coefficients over h, in struct attempt: c_ij / h. */
#define C_TABLE part c[METHOD_STAGES][METHOD_STAGES];
#define C_PER_H(now, i, j) ((now)->c[i][j])
#define UNROLLED _Pragma("GCC unroll 9")
#define IS_LIVE(bank) MASK(&(bank)->live, 0)

/* Truth values are 0 or -1 here, and 0 or 1 on a GPU. */
#define everywhere (~(part_mask){0})
#define opposite(where) (~(where))
/* n where that is so, else 0 */
#define count_of(where, n) ((where) & (n))

INLINE part spread(double x) { return x - (part){0}; }
INLINE part pick(part_mask where, part a, part b)
{
    return (part)(((part_mask)a & where) | ((part_mask)b & ~where));
}
INLINE part_mask bits_of(part x) { return (part_mask)x; }
INLINE part number_of(part_mask x) { return (part)x; }
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

/* A bit for each lane. */
INLINE unsigned bits(part_mask where)
{
#if defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)where);
#elif defined(__FMA__)
    return (unsigned)_mm256_movemask_pd((__m256d)where);
#else
    unsigned set = 0;
    for (int k = 0; k < N_LANE / N_PART; k++)
        set |= (unsigned)(where[k] & 1) << k;
    return set;
#endif
}
/* somewhere in the part */
#define somewhere(where) (bits(where) != 0)
