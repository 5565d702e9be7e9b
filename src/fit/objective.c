/* Objective, gradient and Gauss-Newton matrix from predictions and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective.h"

#include <math.h>
#include <string.h>

static const double HALF_LOG_2PI = 0.918938533204672741780;

struct row {
    double sigma;
    bool from_model; /* sigma comes from the noise function, so it has derivatives */
};

static struct row row_sigma(const struct fit_objective *objective, const struct fit_answer *answer, size_t i)
{
    double own = objective->sigma ? objective->sigma[i] : NAN;
    if (!isnan(own))
        return (struct row){own, false};
    if (objective->likelihood)
        return (struct row){answer->noise[i], true};
    return (struct row){1, false};
}

double fit_objective_value(const struct fit_objective *objective, const struct fit_answer *answer)
{
    double sum = 0;
    for (size_t i = 0; i < objective->n_row; i++) {
        double sigma = row_sigma(objective, answer, i).sigma;
        double r = (answer->prediction[i] - objective->value[i]) / sigma;
        sum += 0.5 * r * r;
        if (objective->likelihood)
            sum += log(sigma) + HALF_LOG_2PI;
    }
    return sum;
}

void fit_objective_gradient(const struct fit_objective *objective, const struct fit_answer *answer, double *gradient)
{
    memset(gradient, 0, answer->n * sizeof *gradient);
    for (size_t j = 0; j < answer->n; j++) {
        const double *dm = answer->d_prediction + j * objective->n_row;
        const double *ds = objective->likelihood ? answer->d_noise + j * objective->n_row : NULL;
        double sum = 0;
        for (size_t i = 0; i < objective->n_row; i++) {
            struct row row = row_sigma(objective, answer, i);
            double r = (answer->prediction[i] - objective->value[i]) / row.sigma;
            sum += r * (dm[i] / row.sigma);
            if (row.from_model)
                sum += (1 - r * r) * (ds[i] / row.sigma);
        }
        gradient[j] = sum * answer->chain[j];
    }
}

void fit_objective_curvature(const struct fit_objective *objective, const struct fit_answer *answer, double *matrix)
{
    size_t n = answer->n, n_row = objective->n_row;
    for (size_t k = 0; k < n; k++)
        for (size_t j = k; j < n; j++) {
            const double *mj = answer->d_prediction + j * n_row, *mk = answer->d_prediction + k * n_row;
            double sum = 0;
            for (size_t i = 0; i < n_row; i++) {
                struct row row = row_sigma(objective, answer, i);
                sum += (mj[i] / row.sigma) * (mk[i] / row.sigma);
                if (row.from_model)
                    sum += 2 * (answer->d_noise[i + j * n_row] / row.sigma) * (answer->d_noise[i + k * n_row] / row.sigma);
            }
            sum *= answer->chain[j] * answer->chain[k];
            matrix[j + k * n] = matrix[k + j * n] = sum;
        }
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
