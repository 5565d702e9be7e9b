/* Quantiles of the distributions used for intervals and tests, with relative errors below 1e-9
 * for probabilities from 1e-6 to 1 - 1e-6 and 1 to 1e6 degrees of freedom; and confidence
 * intervals from bootstrap replicates, one parameter at a time. Pure functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

double distribution_normal(double x);             /* P(X <= x), standard normal */
double distribution_normal_quantile(double p);    /* -inf and inf at 0 and 1; NaN outside */
double distribution_t(double x, double freedom);  /* Student's t */
double distribution_t_quantile(double p, double freedom);
double distribution_f(double x, double freedom, double freedom_below);
double distribution_f_quantile(double p, double freedom, double freedom_below);
double distribution_chi_square(double x, double freedom);
double distribution_chi_square_quantile(double p, double freedom);

/* log of gamma(x), x > 0; lgamma would write a global variable. */
double distribution_log_gamma(double x);

struct fit_interval {
    double lower, upper; /* NaN: there are too few replicates for the tails */
};

/* With fewer replicates a 2.5 % quantile lies beyond the least of them. */
enum { FIT_INTERVAL_REPLICATES = 39 };

/* Order statistic (n + 1) p of n sorted numbers, linear between neighbours; NaN if p is outside
 * their range. */
double fit_interval_quantile(const double *sorted, size_t n, double p);

/* From the replicates' n estimates, which are sorted here. Davison & Hinkley 1997, eq. 5.18.
 * Tends to be too short. */
struct fit_interval fit_interval_percentile(double *estimate, size_t n, double confidence);

/* Bootstrap-t (Efron 1982; Davison & Hinkley 1997, eq. 2.10), from t = (estimate_b - estimate) /
 * error_b. Replicates without a standard error are skipped; if these are more than a tenth, the
 * interval is NaN. `error` is the estimate's standard error. All numbers are on the same scale.
 * `scratch`: n. */
struct fit_interval fit_interval_studentised(double estimate, double error, const double *estimates,
                                             const double *errors, size_t n, double confidence,
                                             double *scratch);

/* Standard deviation, with n - 1; NaN for n < 2. */
double fit_interval_deviation(const double *numbers, size_t n);
