/* What is known of a parameter before its data: a term of the objective for each, as a residual of its own.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_PRIOR_H
#define FIT_PRIOR_H

#include "fit/loss.h"

#include <stdbool.h>
#include <stddef.h>

/* A uniform prior is none here: it is bounds. */
enum fit_prior_kind { PRIOR_NONE, PRIOR_NORMAL, PRIOR_LOG_NORMAL, PRIOR_LAPLACE };

/* Of one parameter. It is about x, the parameter itself or, on_optimizer, what the optimiser sees of it. */
struct fit_prior {
    enum fit_prior_kind kind;
    bool on_optimizer;
    double location, scale; /* scale > 0; log-normal: mean and standard deviation of log x */
};

/* The same of a free parameter: which it is. */
struct fit_prior_term {
    struct fit_prior prior;
    size_t j, i_model;      /* index in theta and in p */
};

/* -log of the prior's density but for a constant, f; the row by theta_j and its right-hand side, row rhs = df/dtheta_j. The
 * density is x's, so that a log-normal one has its mode at exp(location - scale^2). With (x - location) / scale = r,
 *   normal      r^2 / 2
 *   log-normal  log x + (log x - location)^2 / (2 scale^2) = (log x - location + scale^2)^2 / (2 scale^2) + a constant
 *   Laplace     |r|, its kink rounded as fit_loss_laplace does
 * Not finite where a log-normal x is not above 0. The row is the root of the curvature that is
 * asked for, as for the data (Laplace, expected: 1 / scale). */
struct prior_terms {
    double f, row, rhs;
};
struct prior_terms fit_prior_at(const struct fit_prior *prior, double theta, double p, double chain,
                                enum fit_curvature curvature);

#endif
