/* J'J with a little damping, so that unknown directions are not infinitely long.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/metric.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* Relative to the diagonal: well above the errors of products of derivatives that are accurate
 * to 1e-7. */
static const double DAMPING = 1e-9;
/* The longest first trial: in natural units for logarithms, in values on a linear scale. */
static const double LONGEST = 2;

bool fit_metric_init(struct fit_metric *metric, struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = fit_objective_n_row(&asker->objective);
    bool has_point = fit_point_init(&metric->point, asker, GRADIENT_forward, arena);
    return has_point && ARENA_DOUBLES(arena, {&metric->rows, n_row, n}, {&metric->rhs, n_row, 1},
                                      {&metric->matrix, n, n}, {&metric->step, n, 1});
}

enum asked fit_metric_ask(struct fit_metric *metric, struct fit_asker *asker, const double *theta)
{
    size_t n = asker->map.n_free, n_row = fit_objective_n_row(&asker->objective);
    if (metric->is_taken && fit_asker_is_same(asker, metric->point.theta, theta))
        return metric->taken;
    memcpy(metric->point.theta, theta, n * sizeof *theta);
    metric->is_taken = true;
    metric->taken = ASKED_FAILED; /* until it is known */
    struct fit_accuracy accuracy = asker->accuracy;
    accuracy.gradient = GRADIENT_forward;
    enum asked asked = fit_ask(asker, accuracy, &metric->point, true);
    if (asked != ASKED_OK)
        return asked;
    struct fit_answer answer = fit_point_answer(asker, &metric->point);
    fit_objective_rows(&asker->objective, &answer, CURVATURE_ABOVE, metric->rows, metric->rhs);
    double largest = 0;
    bool any = false;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i <= j; i++)
            metric->matrix[i + j * n] = metric->matrix[j + i * n] =
                matrix_dot(n_row, metric->rows + i * n_row, metric->rows + j * n_row);
        double size = fit_map_size(&asker->map, j, theta[j]);
        largest = fmax(largest, metric->matrix[j + j * n] * size * size);
        any = any || metric->matrix[j + j * n] > 0;
    }
    for (size_t j = 0; j < n; j++) {
        /* in natural units, so that the units of a parameter do not matter; 0 is none */
        double size = fit_map_size(&asker->map, j, theta[j]);
        metric->matrix[j + j * n] += DAMPING * metric->matrix[j + j * n]
                                     + (size > 0 ? DAMPING * DAMPING * largest / (size * size) : 0);
        if (metric->matrix[j + j * n] == 0)
            metric->matrix[j + j * n] = 1; /* nothing moves it */
    }
    metric->taken = isfinite(largest) && any ? ASKED_OK : ASKED_FAILED;
    return metric->taken;
}

bool fit_metric_factor(struct fit_metric *metric, const struct fit_asker *asker, size_t n_loose,
                       const uint32_t *loose, const double *slope, double shrink, double *factor)
{
    const struct fit_map *map = &asker->map;
    if (!matrix_factor(map->n_free, metric->matrix, n_loose, loose, factor))
        return false;
    memcpy(metric->step, slope, n_loose * sizeof *slope);
    matrix_solve_lower(n_loose, factor, metric->step);
    matrix_solve_upper(n_loose, factor, metric->step);
    double length = 0;
    for (size_t k = 0; k < n_loose; k++) {
        size_t j = loose[k];
        double size = fit_map_size(map, j, metric->point.theta[j]);
        length = fmax(length, size > 0 ? fabs(metric->step[k]) / size : 0);
    }
    metric->unit = sqrt(fmax(length / LONGEST, 1) / shrink);
    for (size_t k = 0; k < n_loose * n_loose; k++)
        factor[k] *= metric->unit;
    return isfinite(length);
}

double fit_metric_promise(struct fit_metric *metric, size_t n_loose, const uint32_t *loose,
                          const double *gradient, const double *factor)
{
    for (size_t k = 0; k < n_loose; k++)
        metric->step[k] = gradient[loose[k]];
    matrix_solve_lower(n_loose, factor, metric->step);
    return 0.5 * metric->unit * metric->unit * matrix_dot(n_loose, metric->step, metric->step);
}
