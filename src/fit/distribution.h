/* Quantiles of the distributions that intervals and tests are made of. Relative errors below 1e-9 for probabilities from
 * 1e-6 to 1 - 1e-6 and 1 to 1e6 degrees of freedom. Pure functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_DISTRIBUTION_H
#define FIT_DISTRIBUTION_H

double distribution_normal(double x);             /* P(X <= x), standard normal */
double distribution_normal_quantile(double p);    /* -inf and inf at 0 and 1; NaN outside */
double distribution_t(double x, double freedom);  /* Student's t */
double distribution_t_quantile(double p, double freedom);
double distribution_f(double x, double freedom, double freedom_below);
double distribution_f_quantile(double p, double freedom, double freedom_below);
double distribution_chi_square(double x, double freedom);
double distribution_chi_square_quantile(double p, double freedom);

#endif
