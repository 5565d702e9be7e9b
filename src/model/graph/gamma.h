/* The logarithm of |Gamma| and the polygamma functions. C has no polygamma functions, and its
 * lgamma writes a global variable.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* log |Gamma(x)|; infinite at 0, -1, -2, ... and at both infinities. */
double gamma_log(double x);
/* The derivative of order n, 0 to 8, of digamma, which is that of gamma_log. */
double gamma_polygamma(double n, double x);
