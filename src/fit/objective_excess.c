/* What the objective's second derivatives by predictions and noise exceed their expectation by. Separate from the rows,
 * because it has no roots: a measurement may take information away.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective_row.h"

#include <math.h>
#include <string.h>

/* Of one measurement: by prediction twice, prediction and noise, noise twice. Logarithms of predictions are predictions
 * here. */
struct excess {
    double mm, ms, ss;
};

/* f = rho(r) + log s with r' = slope m' - r/s s': what the derivatives of r itself add for a modelled s. */
static struct excess by_noise(double slope_of_rho, double r, double slope, double sigma)
{
    return (struct excess){0, -slope_of_rho * slope / sigma, 2 * slope_of_rho * r / (sigma * sigma)};
}

static struct excess excess_at(const struct fit_objective *objective, const struct fit_answer *answer, size_t i)
{
    const struct fit_loss *loss = fit_objective_loss(objective, i);
    if (loss->error == ERROR_LAPLACE)
        return (struct excess){0};
    bool modelled = objective->has_noise && !(objective->measured.sigma && !isnan(objective->measured.sigma[i]));
    double r, root, value, sigma = objective_row_sigma(objective, answer, i);
    bool censored = !objective_row_plain(objective, answer, i, &r, &root, &value);
    double slope = loss->error == ERROR_LOG_NORMAL ? root / answer->prediction[i] : root;
    if (censored) { /* its row has the second derivative by r */
        int side = objective->measured.censored[i];
        double hazard = fit_loss_censored(-side * r).hazard;
        return modelled ? by_noise(side * hazard, r, slope, sigma) : (struct excess){0};
    }
    double bend = fit_loss_second(loss, r), rho_slope = fit_loss_at(loss, r).weight * r;
    struct excess excess = modelled ? by_noise(rho_slope, r, slope, sigma) : (struct excess){0};
    excess.mm = (bend - loss->location_information) * slope * slope;
    if (modelled) {
        excess.ms -= bend * r * slope / sigma;
        excess.ss += (bend * r * r - 1 - loss->scale_information) / (sigma * sigma);
    }
    return excess;
}

bool fit_objective_has_excess(const struct fit_objective *objective)
{
    bool any = false;
    for (size_t i = 0; i < objective->n_row && !any; i++) {
        enum error_kind error = fit_objective_loss(objective, i)->error;
        any = error == ERROR_HUBER || error == ERROR_STUDENT || (objective->has_noise && error != ERROR_LAPLACE);
    }
    return any;
}

void fit_objective_excess(const struct fit_objective *objective, const struct fit_answer *answer, double *excess)
{
    size_t n = answer->n, n_row = objective->n_row;
    memset(excess, 0, n * n * sizeof *excess);
    for (size_t i = 0; i < n_row; i++) {
        struct excess row = excess_at(objective, answer, i);
        for (size_t j = 0; j < n && (row.mm != 0 || row.ms != 0 || row.ss != 0); j++) {
            double m = answer->d_prediction[i + j * n_row] * answer->chain[j];
            double s = objective->has_noise ? answer->d_noise[i + j * n_row] * answer->chain[j] : 0;
            double by_m = row.mm * m + row.ms * s, by_s = row.ms * m + row.ss * s;
            for (size_t k = 0; k <= j; k++) {
                double ds = objective->has_noise ? answer->d_noise[i + k * n_row] : 0;
                excess[k + j * n] += answer->chain[k] * (by_m * answer->d_prediction[i + k * n_row] + by_s * ds);
            }
        }
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < j; k++)
            excess[j + k * n] = excess[k + j * n];
}
