/* Gauss and Newton's step of one parameter, in natural units even if it is fitted on a logarithmic scale: predictions are
 * linear in an amplitude, not in its logarithm.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/leap.h"

#include "fit/matrix.h"

#include <math.h>
#include <string.h>

/* A change by so many times the size is a leap; smaller ones are a few steps. */
static const double FAR = 100;
/* Only where residuals are no small part of the data: their squares, of the data's. */
static const double LARGE = 1e-2;
/* The least part of the squared residuals that it must explain, and of the predicted decrease that it must give. */
static const double PART = 0.1, GOOD = 0.5;

/* The decrease predicted for parameter j alone, with weighted predictions; *step: the change of theta by linear predictions. */
static double promise_of(const struct fit_asker *asker, const struct fit_point *point, size_t j, double *step)
{
    size_t n_row = asker->objective.n_row;
    const double *column = point->d_prediction + j * n_row;
    double square = 0, slope = matrix_product(n_row, point->weight, column, point->residual) * point->chain[j];
    for (size_t i = 0; i < n_row; i++)
        square += pow(column[i] * point->weight[i] * point->chain[j], 2);
    *step = square > 0 ? -slope / square : 0;
    return square > 0 ? 0.5 * slope * slope / square : 0;
}

/* Whether the way from `natural` to `target` is within the bounds and a leap. */
static bool is_far(const struct fit_map *map, size_t j, double natural, double target)
{
    bool is_linear = map->scale[j] == SCALE_LIN;
    double size = is_linear ? fit_map_size(map, j, natural) : natural;
    if (!(target > map->natural_lower[j] && target < map->natural_upper[j]) || !(is_linear || target > 0))
        return false;
    return size > 0 && fabs(target - natural) > FAR * size; /* a start at 0 says nothing of the size */
}

bool fit_leap_init(struct fit_leap *leap, const struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    *leap = (struct fit_leap){.n_left = 3 * n};
    if (!ARENA_DOUBLES(arena, {&leap->theta, n, 1}, {&leap->part, n, 1}))
        return false;
    for (size_t j = 0; j < n; j++)
        leap->part[j] = 1;
    return true;
}

bool fit_leap_find(struct fit_leap *leap, const struct fit_asker *asker, const struct fit_point *point)
{
    const struct fit_map *map = &asker->map;
    double squares = 0.5 * matrix_squares(asker->objective.n_row, point->residual), goal = 0;
    leap->promise = 0;
    leap->j = map->n_free;
    if (leap->n_left == 0 || !(squares > LARGE * fit_point_scale(asker, point)))
        return false;
    leap->n_left--;
    for (size_t j = 0; j < map->n_free; j++) {
        double step, gain = promise_of(asker, point, j, &step), natural = point->p[map->file_index[j]];
        double target = natural + leap->part[j] * step * point->chain[j];
        if (leap->part[j] == 0 || !(gain >= PART * squares) || !(gain > leap->promise) || !is_far(map, j, natural, target))
            continue;
        leap->promise = gain;
        leap->j = j;
        goal = fit_scale_from_natural(map->scale[j], target);
    }
    memcpy(leap->theta, point->theta, map->n_free * sizeof *leap->theta);
    if (leap->j < map->n_free)
        leap->theta[leap->j] = goal;
    return leap->j < map->n_free;
}

bool fit_leap_is_good(struct fit_leap *leap, double before, double after)
{
    bool is_good = before - after >= GOOD * leap->promise;
    if (!is_good)
        leap->part[leap->j] = leap->part[leap->j] == 1 ? 0.5 : 0;
    return is_good;
}
