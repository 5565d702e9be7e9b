/* The residuals' derivatives at a point, decomposed into directions that the data determine
 * well, badly or not at all. Separate from the statistics, because the certificate uses the same
 * directions.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/point.h"

#include <stdbool.h>

/* For the n parameters that are neither fixed nor held by a bound, on the optimiser's scale.
 * Matrices are n x n, column-major. */
struct fit_spectrum {
    size_t n;
    uint32_t *loose;   /* n: indices of the free parameters */
    double *triangle;  /* R of the rows A = QR: R'R is the information */
    double *q;         /* n: Q'b along the known directions */
    double *scale;     /* n: lengths of A's columns; 1 for a parameter without influence */
    /* only if has_directions: R with columns of length 1 (0 without influence) = U diag(s) v', s
     * decreasing: how well the data determine the directions v / scale, independent of the
     * parameters' units */
    double *s, *v;
    bool has_directions;
    /* n: lengths of A's columns in the rows of noise and priors, which are free of integration
     * errors */
    double *beyond;
    size_t n_idle;     /* parameters without influence */
    /* known directions; the other n - n_known cannot be distinguished from directions without
     * influence */
    size_t n_known;
    double least;      /* known directions have s above this */
    /* n x n_known, of the known directions: basis' R'R basis = 1, so that basis basis' is the
     * covariance */
    double *basis;
    double *rows, *rhs;
};

/* Room for n parameters and n_row rows, or for those of a fit. False: out of memory. */
bool fit_spectrum_room(struct fit_spectrum *spectrum, size_t n, size_t n_row, struct arena *arena);
bool fit_spectrum_init(struct fit_spectrum *spectrum, const struct fit_asker *asker,
                       struct arena *arena);
/* At a point with derivatives. information: from the rows for standard errors
 * (CURVATURE_EXPECTED); q is then meaningless. */
void fit_spectrum_take(struct fit_spectrum *spectrum, const struct fit_asker *asker,
                       struct fit_accuracy accuracy, const struct fit_point *point,
                       bool information);
/* What changes of all predictions are their errors, and of the rows of noise and priors
 * rounding: n_row measurements whose weighted predictions have the norm `size` (fit_point_size). */
struct fit_spectrum_unit {
    double error, rounding;
};
struct fit_spectrum_unit fit_spectrum_unit(const struct fit_asker *asker,
                                           struct fit_accuracy accuracy, double size, double n_row);
/* Whether a change by the parameter's own size or its start's (a logarithm: by 1) moves the
 * predictions by no more than their error; if 0 is all that is known of its size, whether it
 * does not move them at all. The derivatives, of length `norm`, are then errors too, and
 * `beyond` contains almost nothing else. */
bool fit_spectrum_is_idle(const struct fit_map *map, size_t j, double theta,
                          const struct fit_spectrum_unit *unit, double norm, double beyond);
/* Finds the known directions of a spectrum whose n, triangle and scale the caller has written:
 * the lengths of the columns, 0 for a parameter without influence. accuracy: of the derivatives,
 * relative to `scale`. */
void fit_spectrum_decompose(struct fit_spectrum *spectrum, double accuracy);
/* Computes singular values. They cost many times more than the test that all directions are
 * known, so fit_spectrum_take omits them if that test succeeds. Destroys basis. */
void fit_spectrum_directions(struct fit_spectrum *spectrum);
/* The decrease of the objective predicted for Gauss-Newton steps along the known directions,
 * each no longer than is valid (trust_model_longest_step): a parameter whose influence fades
 * promises the same decrease for ever, but at infinity. */
double fit_spectrum_decrease(const struct fit_spectrum *spectrum, const struct fit_map *map);
