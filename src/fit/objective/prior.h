/* Priors as terms of the objective: value, slope, curvature and the constant of the density
 * between two bounds.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/prior.h"
#include "fit/objective/loss.h"

#include <stdbool.h>

/* The prior of one parameter. It refers to x: the parameter or, if on_optimizer, its value on
 * the optimiser's scale. */
struct fit_prior {
    enum prior_kind kind;
    bool on_optimizer;
    /* of base/prior.h; scale > 0 where it has one; log-normal and log-laplace: of log x */
    double location, scale;
};

/* f = -log of the prior's density, up to a constant; the row by theta_j and its right-hand side:
 * row rhs = df/dtheta_j. The density is that of x, so a log-normal one has its mode at
 * exp(location - scale^2). With r = (x - location) / scale, and u = log x,
 *   normal       r^2 / 2
 *   log-normal   u + (u - location)^2 / (2 scale^2) = (u - location + scale^2)^2 / (2 scale^2) +
 *                a constant
 *   Laplace      |r|, its kink rounded as fit_loss_at does
 *   log-laplace  u + |u - location| / scale, its kink rounded
 *   Cauchy       log(1 + r^2)
 *   gamma        x / scale - (shape - 1) u; chi-square: shape = location / 2, scale = 2;
 *                exponential: shape = 1
 *   Rayleigh     x^2 / (2 scale^2) - u
 *   uniform      0, log-uniform: u; their ends are bounds
 * Not finite if x is not positive where u is needed. The row is the square root of the requested
 * curvature, as for the data (Laplace, expected: 1 / scale). A prior that is no square has that
 * of a parabola that is nowhere below it or, for those about u, its second derivative by u; the
 * log-uniform prior is linear in u and has 1. */
struct prior_terms {
    double f, row, rhs;
    double rounding; /* the part of f that the rounding of a kink adds */
};
struct prior_terms fit_prior_at(const struct fit_prior *prior, double theta, double p, double chain,
                                enum fit_curvature curvature);
bool fit_prior_has_kink(const struct fit_prior *prior);
/* Whether f changes by a constant with the parameter's unit: it has a term log p. */
bool fit_prior_has_offset(const struct fit_prior *prior);

/* P(X <= x) of the untruncated distribution; of a uniform one x itself, and of a log-uniform one
 * log x. */
double fit_prior_below(const struct fit_prior *prior, double x);

/* What f lacks: f plus this is -log of the density of x, which is 0 outside of [lower, upper].
 * Infinite ends are legal, except for uniform priors. The rounded kink is not considered. */
double fit_prior_constant(const struct fit_prior *prior, double lower, double upper);
