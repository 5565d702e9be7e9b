/* Objective, gradient and Gauss-Newton matrix from predictions and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective.h"

#include <math.h>

static const double HALF_LOG_2PI = 0.918938533204672741780;

/* Whether a row's standard deviation comes from the noise function, so that it has derivatives. */
static bool is_modelled(const struct fit_objective *objective, size_t i)
{
    return objective->likelihood && !(objective->sigma && !isnan(objective->sigma[i]));
}

double fit_objective_value(const struct fit_objective *objective, const struct fit_answer *answer)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double own = objective->sigma ? objective->sigma[i] : NAN;
        double sigma = !isnan(own) ? own : objective->likelihood ? answer->noise[i] : 1;
        double weight = 1 / sigma, r = (answer->prediction[i] - objective->value[i]) * weight;
        answer->weight[i] = weight;
        answer->residual[i] = r;
        sum += 0.5 * r * r;
        if (objective->likelihood)
            sum += log(sigma) + HALF_LOG_2PI;
    }
    return sum;
}

void fit_objective_gradient(const struct fit_objective *objective, const struct fit_answer *answer, double *gradient)
{
    const double *w = answer->weight, *r = answer->residual;
    for (size_t j = 0; j < answer->n; j++) {
        const double *dm = answer->d_prediction + j * objective->n_row;
        double sum = 0;
        for (size_t i = 0; i < objective->n_row; i++)
            sum += r[i] * (dm[i] * w[i]);
        if (objective->likelihood) {
            const double *ds = answer->d_noise + j * objective->n_row;
            for (size_t i = 0; i < objective->n_row; i++)
                if (is_modelled(objective, i))
                    sum += (1 - r[i] * r[i]) * (ds[i] * w[i]);
        }
        gradient[j] = sum * answer->chain[j];
    }
}

static double noise_product(const struct fit_objective *objective, const struct fit_answer *answer, size_t j, size_t k)
{
    const double *w = answer->weight;
    const double *sj = answer->d_noise + j * objective->n_row, *sk = answer->d_noise + k * objective->n_row;
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++)
        if (is_modelled(objective, i))
            sum += 2 * (sj[i] * w[i]) * (sk[i] * w[i]);
    return sum;
}

/* Four sums side by side, because one would wait for itself. */
static double weighted_product(const double *x, const double *y, const double *w, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            sum[lane] += (x[i + lane] * w[i + lane]) * (y[i + lane] * w[i + lane]);
    for (; i < n; i++)
        sum[0] += (x[i] * w[i]) * (y[i] * w[i]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void fit_objective_curvature(const struct fit_objective *objective, const struct fit_answer *answer, double *matrix)
{
    size_t n = answer->n, n_row = objective->n_row;
    const double *w = answer->weight;
    for (size_t k = 0; k < n; k++)
        for (size_t j = k; j < n; j++) {
            const double *mj = answer->d_prediction + j * n_row, *mk = answer->d_prediction + k * n_row;
            double sum = weighted_product(mj, mk, w, n_row);
            if (objective->likelihood)
                sum += noise_product(objective, answer, j, k);
            sum *= answer->chain[j] * answer->chain[k];
            matrix[j + k * n] = matrix[k + j * n] = sum;
        }
}

double fit_objective_unit(const struct fit_objective *objective)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double sigma = objective->sigma && !isnan(objective->sigma[i]) ? objective->sigma[i] : 1;
        sum += 0.5 / (sigma * sigma);
    }
    return sum;
}

double fit_objective_scale(const struct fit_objective *objective)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double sigma = objective->sigma && !isnan(objective->sigma[i]) ? objective->sigma[i] : 1;
        double r = objective->value[i] / sigma;
        sum += 0.5 * r * r;
    }
    return sum;
}
