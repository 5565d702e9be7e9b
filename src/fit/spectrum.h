/* The residuals' derivatives at a point, decomposed into directions that the data determine well, badly or not at all. Separate
 * from the statistics, because the certificate uses the same directions.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/point.h"

#include <stdbool.h>

/* For the n parameters that are neither fixed nor held by a bound, on the optimiser's scale. Matrices are n x n,
 * column-major. */
struct fit_spectrum {
    size_t n;
    uint32_t *loose;   /* n: indices of the free parameters */
    double *triangle;  /* R of the rows A = QR: R'R is the information */
    double *q;         /* n: Q'b along the known directions */
    double *scale;     /* n: lengths of A's columns; 1 for a parameter without influence */
    double *s, *v;     /* only if has_directions: R with columns of length 1 (0 without influence) = U diag(s) v', s decreasing:
                        * how well the data determine the directions v / scale, independent of the parameters' units */
    bool has_directions;
    double *beyond;    /* n: lengths of A's columns in the rows of noise and priors, which are free of integration errors */
    size_t n_idle;     /* parameters without influence */
    size_t n_known;    /* known directions; the other n - n_known cannot be distinguished from directions without influence */
    double least;      /* known directions have s above this */
    double *basis;     /* n x n_known, of the known directions: basis' R'R basis = 1, so that basis basis' is the covariance */
    double *rows, *rhs;
};

/* False: out of memory. */
bool fit_spectrum_init(struct fit_spectrum *spectrum, const struct fit_asker *asker, struct arena *arena);
/* At a point with derivatives. information: from the rows for standard errors (CURVATURE_EXPECTED); q is then meaningless. */
void fit_spectrum_take(struct fit_spectrum *spectrum, const struct fit_asker *asker, const struct fit_point *point,
                       bool information);
/* Whether a spectrum of the same derivatives with other residuals is also that of the information at this point. */
bool fit_spectrum_serves(const struct fit_spectrum *spectrum, const struct fit_asker *asker, const struct fit_point *point);
/* Computes singular values. They cost many times more than the test that all directions are known, so fit_spectrum_take
 * omits them if that test succeeds. Destroys basis. */
void fit_spectrum_directions(struct fit_spectrum *spectrum);
/* After fit_spectrum_take of the information: replaces it by the observed information (fit_objective_excess) in the known
 * directions; triangle is then no longer triangular. If that is not, or hardly, positive definite, nothing changes and
 * *is_definite is false. False: out of memory. */
bool fit_spectrum_observe(struct fit_spectrum *spectrum, const struct fit_asker *asker, const struct fit_point *point,
                          struct arena *arena, bool *is_definite);
/* The decrease of the objective predicted for Gauss-Newton steps along the known directions, each no longer than is valid
 * (trust_model_longest_step): a parameter whose influence fades promises the same decrease for ever, but at infinity. */
double fit_spectrum_decrease(const struct fit_spectrum *spectrum, const struct fit_map *map);
