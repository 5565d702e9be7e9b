/* Losses, scales and censoring of one measurement put together.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective_row.h"

#include <math.h>

/* Whether a row's standard deviation comes from the noise function, so that it has derivatives. */
static bool is_modelled(const struct fit_objective *objective, size_t i)
{
    return objective->has_noise && !(objective->measured.sigma && !isnan(objective->measured.sigma[i]));
}

double objective_row_sigma(const struct fit_objective *objective, const struct fit_answer *answer, size_t i)
{
    double own = objective->measured.sigma ? objective->measured.sigma[i] : NAN;
    return !isnan(own) ? own : objective->has_noise ? answer->noise[i] : 1;
}

/* side: 1 below the value, -1 above it. With z = -side r: f = -log Phi(z), f' = side h r', curvature h (z + h) of r. */
static struct objective_row censored_row(double r, double slope, double sigma, int side, bool modelled)
{
    struct censored_terms terms = fit_loss_censored(-side * r);
    double root = sqrt(fmax(terms.curvature, 0));
    struct objective_row row = {.f = terms.loss, .weight = root * slope};
    row.residual = root > 0 ? side * (terms.hazard / root) : 0;
    row.cross = modelled ? -root * r / sigma : 0;
    return row;
}

struct objective_row objective_row_at(const struct fit_objective *objective, const struct fit_answer *answer, size_t i,
                                      enum fit_curvature curvature)
{
    const struct fit_loss *loss = fit_objective_loss(objective, i);
    bool is_log = loss->error == ERROR_LOG_NORMAL, modelled = is_modelled(objective, i);
    double sigma = objective_row_sigma(objective, answer, i), m = answer->prediction[i], y = objective->measured.value[i];
    double slope = 1 / sigma, r = (m - y) * slope;
    if (is_log) {
        r = m > 0 ? log(m / y) * slope : NAN;
        slope /= m;
    }
    int side = objective->measured.censored ? objective->measured.censored[i] : 0;
    if (side)
        return censored_row(r, slope, sigma, side, modelled);
    struct loss_terms terms = fit_loss_at(loss, r);
    double root = fit_loss_root(curvature, loss->error == ERROR_LAPLACE, terms.weight, loss->location_information);
    struct objective_row row = {.f = terms.rho, .weight = root * slope, .residual = terms.weight * r / root};
    if (objective->likelihood)
        row.f += log(sigma) + loss->log_constant + (is_log ? log(y) : 0);
    if (modelled) {
        double scale_root = sqrt(loss->scale_information);
        row.noise_weight = scale_root / sigma;
        row.noise_residual = (1 - terms.weight * r * r) / scale_root;
    }
    return row;
}

bool objective_row_plain(const struct fit_objective *objective, const struct fit_answer *answer, size_t i, double *r,
                         double *weight, double *value)
{
    bool is_log = fit_objective_loss(objective, i)->error == ERROR_LOG_NORMAL;
    double y = objective->measured.value[i], m = answer->prediction[i];
    *weight = 1 / objective_row_sigma(objective, answer, i);
    *r = (is_log ? log(m / y) : m - y) * *weight;
    *value = is_log ? log(y) : y;
    return !(objective->measured.censored && objective->measured.censored[i]);
}
