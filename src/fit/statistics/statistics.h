/* Statistics of one fit: covariance, intervals, how well the data determine each direction, and
 * the usual criteria. Separate from the search: needs only the best point and its derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/statistics/findings.h"

/* What is known of a whole fit, which may be one over many datasets. */
struct fit_whole {
    const struct fit_options *options;
    /* measurements; parameters that are neither fixed nor held by a bound */
    double n_row, n_fitted;
    double n_noise;           /* those of the latter that affect only the noise */
    struct fit_criteria criteria; /* only chi_square, distances and scaling */
    double prediction_error;  /* as in struct fit_asker */
    bool is_sigma_known;      /* of all measurements */
    bool is_observed;         /* the information is the observed one */
};

/* What is known of a dataset and of the parameters that it depends on. */
struct fit_portion {
    const struct fit_findings *findings;
    /* of these parameters: n_free, file_index, scale, size, lower, upper */
    const struct fit_map *map;
    size_t n_parameter;           /* of the record */
    const double *chain;          /* n_free */
    /* of the information about these parameters if all others are estimated, too, and sums over
     * the datasets that depend on each of its n */
    struct fit_spectrum *spectrum;
    const struct fit_influence *column;
    bool is_small;                /* eigenvalues are wanted */
};
/* Decomposes a spectrum whose n, loose and triangle are known: lengths are its own where no other
 * dataset depends on the parameter. accuracy: as in fit_spectrum_decompose. */
void fit_portion_decompose(const struct fit_portion *part, double accuracy);

/* Fills standard errors, intervals, covariance, directions and criteria of a cleared record, its
 * n_noise, and adds the notes about them. Scratch from `arena`. False: out of memory.
 *
 * Standard errors are by the delta method if the optimiser's scale is a logarithm; intervals are
 * computed on that scale and keep the sign. Eigenvalues are of the parameters that are neither
 * fixed nor held by a bound. The flattest direction has unit length and its largest entry is
 * positive; it combines one direction for each number of flat_group. Errors come from the
 * observed information, or from the expected one if that is not positive definite. If sigma is
 * unknown, they are scaled by residual_error, or by the integrator's errors if those are larger;
 * without degrees of freedom there are none, and the covariance is for a sigma of 1. Intervals
 * then use Student's t, as they do with parameters of the noise only. Criteria are of the full
 * normal likelihood; an unknown sigma counts as a parameter. Those of a dataset among many are
 * its share of the whole fit's: its own deviance, and of the penalty a share by its
 * measurements. */
bool fit_statistics_fill(struct fit_record *record, const struct fit_whole *whole,
                         const struct fit_portion *part, struct arena *arena);

/* The criteria alone, which need no derivatives of predictions. Of values that were not fitted:
 * whole->n_fitted is 0, so that the degrees of freedom are the measurements, and AIC and BIC,
 * which are about a maximum, are missing. */
void fit_statistics_describe(struct fit_record *record, const struct fit_whole *whole,
                             const struct fit_findings *findings, size_t n_parameter);

/* The rise of the objective from the best fit, of n_row measurements, to a confidence limit;
 * fit/refits/profile.h has the formulas. If one sigma is estimated too, n/2 log(1 + F/(n - p)) is
 * exact for a straight line, whose t is then Student's quantile (Bates & Watts 1988, 6.1). */
double fit_statistics_rise(const struct fit_record *best, size_t n_row, double confidence);
