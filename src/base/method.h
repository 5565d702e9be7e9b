/* The methods of a fit and the test that ended it: numbers in /fits. They never change.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_METHOD_H
#define BASE_METHOD_H

/* Which stopping test was met. */
#define STOP_LIST(X) \
    X(0, none, "no test was met") \
    X(1, gradient, "the projected gradient is small") \
    X(2, decrease, "what is left to gain is small") \
    X(3, step, "the latest steps gained next to nothing") \
    X(4, exact, "the residuals are zero to rounding") \
    X(5, noise, "what is left to gain cannot be told from the integrator's errors")

enum stop_test {
#define X(number, name, meaning) STOP_##name = number,
    STOP_LIST(X)
#undef X
    N_STOP
};

/* The optimiser, and the source of the derivatives. */
#define OPTIMIZER_LIST(X) \
    X(0, none, "nothing searched") \
    X(1, trf, "a trust region on the derivatives of all residuals") \
    X(2, lbfgs, "L-BFGS on gradients alone")
#define GRADIENT_LIST(X) \
    X(0, none, "there were none") \
    X(1, forward, "forward sensitivities") \
    X(2, adjoint, "adjoint integration") \
    X(3, differences, "difference quotients")

enum optimizer {
#define X(number, name, meaning) OPTIMIZER_##name = number,
    OPTIMIZER_LIST(X)
#undef X
    N_OPTIMIZER
};

enum gradient_method {
#define X(number, name, meaning) GRADIENT_##name = number,
    GRADIENT_LIST(X)
#undef X
    N_GRADIENT
};

/* NULL beyond the last one. */
const char *stop_name(int number);
const char *stop_meaning(int number);
const char *optimizer_name(int number);
const char *optimizer_meaning(int number);
const char *gradient_name(int number);
const char *gradient_meaning(int number);

#endif
