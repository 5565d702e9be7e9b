/* How the inner loops of ode/ are compiled: for this CPU's registers, and told that elementwise loops are independent.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_WIDE_H
#define ODE_WIDE_H

/* On x86-64 a function marked WIDE exists twice, with and without AVX2, and the loader picks. No multiply-add is
 * fused and no sum reordered in either, so both give the same bits. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Elementwise loops: a result may be the very same array as an argument, never one that overlaps it. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for
#elif defined(__GNUC__)
#define EACH _Pragma("GCC ivdep") for
#else
#define EACH for
#endif

#endif
