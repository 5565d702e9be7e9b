/* Dense positive-definite linear algebra for the parameters of a fit, and the minimum of a quadratic model in a box. Nothing
 * here allocates. Matrices are column-major.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_QUADRATIC_H
#define FIT_QUADRATIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The Cholesky factor of the rows and columns index[0..k) of an n x n matrix: the lower triangle of `factor`, k x k with
 * leading dimension k. False: a pivot is not positive beyond rounding. */
bool quadratic_factor(size_t n, const double *matrix, size_t k, const uint32_t *index, double *factor);
/* x = L^-1 x and x = L^-T x. */
void quadratic_solve_lower(size_t k, const double *factor, double *x);
void quadratic_solve_upper(size_t k, const double *factor, double *x);

/* The minimum of gradient'd + d'matrix d/2 over low <= d <= high, where low <= 0 <= high. */
struct quadratic_box {
    size_t n;
    const double *matrix, *gradient, *low, *high;
    /* answers; the caller provides room for n (factor: n x n) */
    double *step;       /* entries on the box's border are exactly low or high */
    uint32_t *loose;    /* n_loose indices not held by a bound, increasing */
    size_t n_loose;
    double *factor;     /* of the loose rows and columns, leading dimension n_loose */
    double *scratch;    /* 3n */
};

/* False: the matrix is not positive definite on the loose entries. */
bool quadratic_minimise(struct quadratic_box *box);
/* gradient'd + d'matrix d/2 */
double quadratic_value(size_t n, const double *matrix, const double *gradient, const double *d);

#endif
