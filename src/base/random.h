/* Random numbers as pure functions of (seed, stream, counter), so that a result never depends on
 * the order of the draws. Good enough for sampling, not for cryptography.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

/* 64 random bits. Any change of one argument changes about half of them. */
uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t counter);
/* A stream number from two numbers, such as a dataset and a purpose. */
uint64_t random_stream(uint64_t a, uint64_t b);
/* Uniform in the open interval (0, 1). */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t counter);
/* Standard normal deviate. */
double random_normal(uint64_t seed, uint64_t stream, uint64_t counter);
/* Uniform in 0 .. n-1, n > 0. */
uint64_t random_below(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t n);
/* The image of `index` under a random permutation of 0 .. n-1, without a table. n <= 2^62, index
 * < n. */
uint64_t random_permute(uint64_t seed, uint64_t stream, uint64_t n, uint64_t index);
