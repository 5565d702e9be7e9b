/* The distributions that a parameter's prior may have, one row for each: problem files and fits
 * use these.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* X(identifier, word, numbers that it needs, whether it is about the logarithm of a positive
 * parameter). Numbers: 1 location, 2 scale, 4 lower and upper. The location of gamma is its
 * shape, that of chi-square its degrees of freedom. */
#define PRIOR_LIST(X) \
    X(NONE, "none", 0, false) \
    X(NORMAL, "normal", 3, false) \
    X(LOG_NORMAL, "log-normal", 3, true) \
    X(LAPLACE, "laplace", 3, false) \
    X(UNIFORM, "uniform", 4, false) \
    X(LOG_LAPLACE, "log-laplace", 3, true) \
    X(LOG_UNIFORM, "log-uniform", 4, true) \
    X(CAUCHY, "cauchy", 3, false) \
    X(GAMMA, "gamma", 3, true) \
    X(CHI_SQUARE, "chi-square", 1, true) \
    X(EXPONENTIAL, "exponential", 2, true) \
    X(RAYLEIGH, "rayleigh", 2, true)

#define PRIOR_IDENTIFIER(id, ...) PRIOR_##id,
enum prior_kind { PRIOR_LIST(PRIOR_IDENTIFIER) N_PRIOR_KIND };
