/* The residuals' derivatives at a point, as directions that the data know well, badly or not at all. Separate from the
 * statistics, because the certificate looks at the same directions.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_SPECTRUM_H
#define FIT_SPECTRUM_H

#include "fit/point.h"

#include <stdbool.h>

/* Of the n parameters that neither are fixed nor held by a bound, on the optimiser's scale. Matrices are n x n,
 * column-major. */
struct fit_spectrum {
    size_t n;
    uint32_t *loose;   /* n: which of the free ones */
    double *triangle;  /* R of the rows A = QR: R'R is the information */
    double *q;         /* n: of Q'b along the known directions */
    double *scale;     /* n: lengths of A's columns; 1 where a parameter has no influence */
    double *s, *v;     /* only if has_directions: R with columns of length 1 (0 without influence) = U diag(s) v', s decreasing:
                        * what the data know of the directions v / scale, whatever the parameters' units */
    bool has_directions;
    double *beyond;    /* n: lengths of A's columns in the rows of noise and priors, which no integrator's error gets into */
    size_t n_idle;     /* parameters without influence */
    size_t n_known;    /* directions; the other n - n_known cannot be told from some without influence */
    double least;      /* s below which that is so */
    double *basis;     /* n x n_known, of the known directions: basis' R'R basis = 1, so that basis basis' is the covariance */
    double *rows, *rhs;
};

/* False: out of memory. */
bool fit_spectrum_init(struct fit_spectrum *spectrum, const struct fit_asker *asker, struct arena *arena);
/* Of a point with derivatives. information: of the rows that standard errors come from (CURVATURE_EXPECTED), whose q means
 * nothing. */
void fit_spectrum_take(struct fit_spectrum *spectrum, const struct fit_asker *asker, const struct fit_point *point,
                       bool information);
/* Singular values cost many times what telling that all directions are known does, so they are left out then; after this they
 * are there, and basis is not. */
void fit_spectrum_directions(struct fit_spectrum *spectrum);
/* After fit_spectrum_take of the information: makes it the observed one (fit_objective_excess) in the directions that the data
 * know; triangle is then no triangle. Where that is not positive definite, or hardly, everything stays and *is_definite is
 * false. False: out of memory. */
bool fit_spectrum_observe(struct fit_spectrum *spectrum, const struct fit_asker *asker, const struct fit_point *point,
                          struct arena *arena, bool *is_definite);
/* The decrease of the objective that a full Gauss-Newton step along the known directions promises. */
double fit_spectrum_decrease(const struct fit_spectrum *spectrum);

#endif
