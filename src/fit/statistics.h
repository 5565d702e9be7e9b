/* Statistics of one fit: covariance, intervals, how well the data determine each direction, and the usual criteria. Separate
 * from the search: needs only the best point and its derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_STATISTICS_H
#define FIT_STATISTICS_H

#include "fit/point.h"

/* Arrays are the caller's; those of n_parameter (P) are in the problem file's order, natural scale unless said. Missing
 * numbers are NaN. */
struct fit_statistics {
    double *standard_error;      /* P; by the delta method if the optimiser's scale is a logarithm */
    double *interval_lower, *interval_upper; /* P: of level `confidence`; keep the sign if the scale is a logarithm */
    double *covariance;          /* P x P, symmetric; or NULL */
    uint8_t *lack;               /* P, enum lack */
    double *eigenvalue;          /* P: of the information matrix on the optimiser's scale, decreasing; the first n_loose */
    double *flattest;            /* P: its last eigenvector, or a flat direction; unit length, on the optimiser's scale,
                                  * largest entry positive */
    int8_t *flat_group;          /* P: parameters of flat directions with parameters in common share a number from 1, and
                                  * flattest combines one direction for each number; 0: in no flat direction; or NULL */
    double confidence;           /* in: 0.95 */
    size_t n_loose;              /* parameters that are neither fixed nor held by a bound */
    size_t n_idle;               /* of these, parameters without influence on the predictions */
    size_t n_noise;              /* of them, parameters of the noise only. If there are any, intervals use Student's t */
    size_t n_row;
    int64_t n_flat;              /* flat directions; -1: there is no best point */
    int64_t n_freedom;           /* n_row - n_loose */
    bool is_observed;            /* false: the observed information is not positive definite, and errors come from the
                                  * expected information */
    bool is_sigma_known;         /* otherwise errors are scaled by residual_error, and intervals use Student's t */
    bool is_one_sided;           /* some flat direction is seen only by censored measurements far within their limits */
    bool is_exact;               /* data of unknown sigma are met up to the integrator's errors, which then set the errors */
    double chi_square;           /* weighted sum of squared residuals */
    double residual_error;       /* sqrt(chi_square / n_freedom) */
    double aic, aicc, bic;       /* of the full normal likelihood; an unknown sigma counts as a parameter */
    double r_squared;            /* against the weighted mean of each observable */
};

/* Sets everything to unknown. */
void fit_statistics_clear(struct fit_statistics *statistics, size_t n_parameter);
/* `point` has derivatives. Scratch from `arena`. False: out of memory. */
bool fit_statistics_compute(struct fit_statistics *statistics, const struct fit_asker *asker, const struct fit_point *point,
                            struct arena *arena);

#endif
