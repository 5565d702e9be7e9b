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

bool fit_metric_init(struct fit_metric *metric, size_t n, struct arena *arena)
{
    return ARENA_DOUBLES(arena, {&metric->matrix, n, n}, {&metric->factor, n, n},
                         {&metric->step, n, 1});
}

bool fit_metric_damp(struct fit_metric *metric, const struct fit_map *map, const double *theta)
{
    size_t n = map->n_free;
    double largest = 0;
    bool any = false;
    for (size_t j = 0; j < n; j++) {
        double size = fit_map_size(map, j, theta[j]);
        largest = fmax(largest, metric->matrix[j + j * n] * size * size);
        any = any || metric->matrix[j + j * n] > 0;
    }
    for (size_t j = 0; j < n; j++) {
        /* in natural units, so that the units of a parameter do not matter; 0 is none */
        double size = fit_map_size(map, j, theta[j]);
        metric->matrix[j + j * n] += DAMPING * metric->matrix[j + j * n]
                                     + (size > 0 ? DAMPING * DAMPING * largest / (size * size) : 0);
        if (metric->matrix[j + j * n] == 0)
            metric->matrix[j + j * n] = 1; /* nothing moves it */
    }
    return isfinite(largest) && any;
}

bool fit_metric_factor(struct fit_metric *metric, const struct fit_map *map, const double *theta,
                       size_t n_loose, const uint32_t *loose, const double *slope, double shrink)
{
    double *factor = metric->factor, length = 0;
    if (!matrix_factor(map->n_free, metric->matrix, n_loose, loose, factor))
        return false;
    memcpy(metric->step, slope, n_loose * sizeof *slope);
    matrix_solve_lower(n_loose, factor, metric->step);
    matrix_solve_upper(n_loose, factor, metric->step);
    for (size_t k = 0; k < n_loose; k++) {
        size_t j = loose[k];
        double size = fit_map_size(map, j, theta[j]);
        length = fmax(length, size > 0 ? fabs(metric->step[k]) / size : 0);
    }
    metric->unit = sqrt(fmax(length / LONGEST, 1) / shrink);
    for (size_t k = 0; k < n_loose * n_loose; k++)
        factor[k] *= metric->unit;
    return isfinite(length);
}

double fit_metric_promise(struct fit_metric *metric, size_t n_loose, const uint32_t *loose,
                          const double *gradient)
{
    for (size_t k = 0; k < n_loose; k++)
        metric->step[k] = gradient[loose[k]];
    matrix_solve_lower(n_loose, metric->factor, metric->step);
    return 0.5 * metric->unit * metric->unit * matrix_dot(n_loose, metric->step, metric->step);
}
