/* Mean and covariance of parameters over a population, from estimates with known covariances of
 * their errors: the global two-stage method (Steimer, Mallet, Golmard & Boisvieux 1984; Davidian
 * & Giltinan 1995, section 5.3.2) with restricted maximum likelihood, which does not
 * underestimate the covariance of few fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TWO_STAGE_MOST = 64 }; /* parameters */

/* Estimates y_i ~ normal(mean, V_i + covariance); all on a scale on which they may be normal.
 * Matrices are symmetric, k x k. */
struct two_stage {
    size_t n, k;            /* n >= 2 estimates of k parameters */
    const double *estimate; /* n x k, one after another */
    const double *error;    /* n x k x k: V_i, positive definite */
    /* found; the arrays are the caller's: */
    double *mean;             /* k */
    double *covariance;       /* k x k, of the parameters over the population; may be singular */
    double *mean_covariance;  /* k x k, of the errors of `mean`, for that covariance */
    double log_likelihood;    /* restricted */
    size_t n_pass;            /* over the estimates */
    bool is_converged;
};

/* The maximum that EM finds in the limit (Steimer et al.), by damped Newton steps, to about
 * 1e-10 of the variances of the estimates. False: out of memory, or numbers that are not finite
 * or positive definite. */
bool two_stage_fit(struct two_stage *population);

/* The empirical Bayes estimate of fit i: `shrunken` (k), and `variance` (k x k) of its errors,
 * those of the mean included (best linear unbiased prediction). `work`: 3 k k + k. */
void two_stage_shrink(const struct two_stage *population, size_t i, double *shrunken,
                      double *variance, double *work);
