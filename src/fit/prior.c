/* Priors as rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/prior.h"

#include <math.h>

struct prior_terms fit_prior_at(const struct fit_prior *prior, double theta, double p, double chain,
                                enum fit_curvature curvature)
{
    double x = prior->on_optimizer ? theta : p, slope = prior->on_optimizer ? 1 : chain;
    double scale = prior->scale, location = prior->location;
    if (prior->kind == PRIOR_LOG_NORMAL) {
        slope /= x;
        x = x > 0 ? log(x) : NAN;
        location -= scale * scale;
    }
    double r = (x - location) / scale, row = slope / scale;
    if (prior->kind != PRIOR_LAPLACE)
        return (struct prior_terms){0.5 * r * r, row, r};
    struct loss_terms terms = fit_loss_laplace(r);
    double root = fit_loss_root(curvature, true, terms.weight, 1);
    return (struct prior_terms){terms.rho, root * row, terms.weight * r / root};
}
