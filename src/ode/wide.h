/* Macros for the inner loops of ode/: compile for this CPU's registers, and declare elementwise
 * loops independent.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* On x86-64 a function marked WIDE is compiled with and without AVX2, and the loader chooses
 * one. Neither version fuses multiply-adds or reorders sums, so both give the same bits. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Elementwise loops: a result may be the same array as an argument, but must not overlap it
 * otherwise. */
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)") for
#elif defined(__GNUC__)
#define EACH _Pragma("GCC ivdep") for
#else
#define EACH for
#endif
