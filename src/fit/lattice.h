/* Points of a rank-1 lattice with a random shift, for integrals over normal variables. For smooth
 * integrands their error shrinks almost as the inverse square of their number, once the baker's
 * transformation has made them periodic (Hickernell 2002).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LATTICE_MOST = 32 }; /* dimensions */

/* A shifted lattice of n points, a power of two, in r dimensions. */
struct lattice {
    size_t n, r;
    double shift[LATTICE_MOST];
};

/* The shift is a pure function of the numbers given. */
void lattice_init(struct lattice *lattice, size_t n, size_t r, uint64_t seed, uint64_t dataset,
                  uint64_t number);
/* Point k: r coordinates in (0, 1). */
void lattice_point(const struct lattice *lattice, size_t k, double *x);

/* The quantile of a standard normal deviate or, with heavy tails, of Student's t with 4 degrees of
 * freedom; and the logarithm of its density. */
double lattice_deviate(double x, int is_heavy);
double lattice_log_density(double deviate, int is_heavy);
