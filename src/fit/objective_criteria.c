/* Sums over all measurements once the search is over.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective_criteria.h"

#include "fit/objective_row.h"

#include <math.h>

/* A factor c of all sigmas divides distances by c and squares by its square: distances / c + squares / c^2 = count. */
double objective_scale_of(const struct objective_criteria *criteria, double count)
{
    double half = 0.5 * (criteria->distances / count), squares = criteria->chi_square - criteria->distances;
    return half + hypot(half, sqrt(squares / count));
}

/* Weighted sum of squares about the weighted mean of each observable. */
static double total_squares(const struct fit_objective *objective, const struct fit_answer *answer,
                            const uint32_t *row_observable, uint32_t n_observable)
{
    double total = 0, r, root, value;
    for (uint32_t o = 0; o < n_observable; o++) {
        double weight = 0, sum = 0;
        for (size_t i = 0; i < objective->n_row; i++)
            if (row_observable[i] == o && objective_row_plain(objective, answer, i, &r, &root, &value)) {
                weight += root * root;
                sum += root * root * value;
            }
        for (size_t i = 0; i < objective->n_row; i++)
            if (row_observable[i] == o && objective_row_plain(objective, answer, i, &r, &root, &value)) {
                double deviation = (value - sum / weight) * root;
                total += deviation * deviation;
            }
    }
    return total;
}

struct objective_criteria objective_criteria_of(const struct fit_objective *objective, const struct fit_answer *answer,
                                                const uint32_t *row_observable, uint32_t n_observable)
{
    struct objective_criteria criteria = {.total_squares = total_squares(objective, answer, row_observable, n_observable)};
    struct fit_objective full = *objective;
    double constants = 0, n_row = (double)objective->n_row;
    size_t n_square = 0, n_laplace = 0;
    full.likelihood = true;
    for (size_t i = 0; i < objective->n_row; i++) {
        double r, weight, value, f = objective_row_at(&full, answer, i, CURVATURE_ABOVE).f;
        criteria.deviance += 2 * f;
        const struct fit_loss *loss = fit_objective_loss(objective, i);
        n_square += error_kind_is_square(loss->error);
        n_laplace += loss->error == ERROR_LAPLACE;
        if (!objective_row_plain(objective, answer, i, &r, &weight, &value))
            continue;
        struct loss_terms terms = fit_loss_at(loss, r);
        criteria.chi_square += terms.weight * r * r;
        criteria.distances += loss->error == ERROR_LAPLACE ? terms.weight * r * r : 0;
        criteria.squares += r * r;
        constants += 2 * (f - terms.rho);
    }
    bool is_laplace = n_laplace == objective->n_row;
    criteria.deviance_scaled = (is_laplace ? 2 : 1) * n_row * (log(criteria.chi_square / n_row) + 1) + constants;
    if (!is_laplace && n_square < objective->n_row)
        criteria.deviance_scaled = criteria.deviance;
    return criteria;
}
