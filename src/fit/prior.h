/* Priors of parameters: each is a term of the objective, with a residual and a row.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_PRIOR_H
#define FIT_PRIOR_H

#include "fit/loss.h"

#include <stdbool.h>
#include <stddef.h>

/* A uniform prior is PRIOR_NONE with tightened bounds. */
enum fit_prior_kind { PRIOR_NONE, PRIOR_NORMAL, PRIOR_LOG_NORMAL, PRIOR_LAPLACE };

/* The prior of one parameter. It refers to x: the parameter or, if on_optimizer, its value on the optimiser's scale. */
struct fit_prior {
    enum fit_prior_kind kind;
    bool on_optimizer;
    double location, scale; /* scale > 0; log-normal: mean and standard deviation of log x */
};

/* The prior of a free parameter, with its indices. */
struct fit_prior_term {
    struct fit_prior prior;
    size_t j, i_model;      /* index in theta and in p */
};

/* f = -log of the prior's density, up to a constant; the row by theta_j and its right-hand side: row rhs = df/dtheta_j. The
 * density is that of x, so a log-normal one has its mode at exp(location - scale^2). With r = (x - location) / scale,
 *   normal      r^2 / 2
 *   log-normal  log x + (log x - location)^2 / (2 scale^2) = (log x - location + scale^2)^2 / (2 scale^2) + a constant
 *   Laplace     |r|, its kink rounded as fit_loss_laplace does
 * Not finite if a log-normal x is not positive. The row is the square root of the requested curvature, as for the data
 * (Laplace, expected: 1 / scale). */
struct prior_terms {
    double f, row, rhs;
};
struct prior_terms fit_prior_at(const struct fit_prior *prior, double theta, double p, double chain,
                                enum fit_curvature curvature);

#endif
