/* How a fit was made, which test ended it, and what confidence limits from profiles are: the
 * numbers that /fits holds. They never change.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Which stopping test was met. */
#define STOP_LIST(X) \
    X(0, none, "no test was met") \
    X(1, gradient, "the projected gradient is small") \
    X(2, decrease, "the predicted decrease is small") \
    X(3, step, "the latest iterations gained next to nothing") \
    X(4, exact, "the residuals are zero to rounding") \
    X(5, noise, "the predicted decrease cannot be distinguished from the integrator's errors")

#define STOP_TEST_NUMBER(number, name, meaning) STOP_##name = number,
enum stop_test { STOP_LIST(STOP_TEST_NUMBER) N_STOP };

/* The optimiser, and the source of the derivatives. */
#define OPTIMIZER_LIST(X) \
    X(0, none, "no optimiser ran") \
    X(1, trf, "a trust region, with the derivatives of all residuals") \
    X(2, lbfgs, "L-BFGS, with gradients only")
#define GRADIENT_LIST(X) \
    X(0, none, "no derivatives were used") \
    X(1, forward, "forward sensitivities") \
    X(2, adjoint, "adjoint integration") \
    X(3, differences, "difference quotients")

#define OPTIMIZER_NUMBER(number, name, meaning) OPTIMIZER_##name = number,
enum optimizer { OPTIMIZER_LIST(OPTIMIZER_NUMBER) N_OPTIMIZER };

#define GRADIENT_METHOD_NUMBER(number, name, meaning) GRADIENT_##name = number,
enum gradient_method { GRADIENT_LIST(GRADIENT_METHOD_NUMBER) N_GRADIENT };

/* What became of one side of a profile. */
#define LIMIT_LIST(X) \
    X(0, none, "no profile was requested") \
    X(1, found, "the profile crosses the threshold there") \
    X(2, bound, "the parameter's bound comes before the threshold: the limit is the bound") \
    X(3, infinite, "the profile stays below the threshold as far as it was followed: there is no " \
      "limit on this side") \
    X(4, better, "a better fit was found on the way, so the best fit is not the optimum: try " \
      "more starts") \
    X(5, failed, "the model could not be fitted on the way, or the budget was used up") \
    X(6, not_fitted, "the parameter is fixed") \
    X(7, no_fit, "there is no successful best fit to begin from") \
    X(8, freedom, "no degrees of freedom are left to estimate the measurement error from") \
    X(9, held, "the profile crosses the threshold there while a bound holds another parameter: " \
      "without that bound there " \
      "might be no limit")

#define LIMIT_NUMBER(number, name, meaning) LIMIT_##name = number,
enum limit { LIMIT_LIST(LIMIT_NUMBER) N_LIMIT };

/* NULL beyond the last one. */
const char *stop_name(int number);
const char *stop_meaning(int number);
const char *optimizer_name(int number);
const char *optimizer_meaning(int number);
const char *gradient_name(int number);
const char *gradient_meaning(int number);
const char *limit_name(int number);
const char *limit_meaning(int number);
