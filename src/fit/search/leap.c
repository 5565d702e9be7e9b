/* Gauss and Newton's step of one parameter, in natural units even if it is fitted on a
 * logarithmic scale: predictions are linear in an amplitude, not in its logarithm. For one of
 * the noise, the size of the residuals: the most likely value of a standard deviation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/leap.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* A change by so many times the size is a leap; smaller ones are a few steps. */
static const double FAR = 100;
/* Only where residuals are no small part of the data: their squares, of the data's. */
static const double LARGE = 1e-2;
/* The least part of the squared residuals that it must explain, and of the predicted decrease
 * that it must give. */
static const double PART = 0.1, GOOD = 0.5;

/* Whether the way from `natural` to `target` is within the bounds and a leap. */
static bool is_far(const struct fit_leap *leap, const struct fit_map *map, size_t j, double natural,
                   double target)
{
    bool is_linear = map->scale[j] == SCALE_LIN;
    double size = is_linear ? fit_map_size(map, j, natural) : natural;
    double theta = is_linear || target > 0 ? fit_scale_from_natural(map->scale[j], target)
                                           : (double)NAN;
    if (!(theta > map->lower[j] && theta < map->upper[j]))
        return false;
    /* a start at 0 says nothing of the size */
    return size > 0 &&
           (fabs(target - natural) > FAR * size || (leap->shrinks && FAR * fabs(target) < size));
}

bool fit_leap_init(struct fit_leap *leap, size_t n, bool shrinks, struct arena *arena)
{
    *leap = (struct fit_leap){.n_left = 3 * n, .shrinks = shrinks};
    leap->sums = arena_calloc(arena, n + 1, sizeof *leap->sums);
    leap->unit = arena_calloc(arena, n + 1, sizeof *leap->unit);
    if (!leap->sums || !leap->unit ||
        !ARENA_DOUBLES(arena, {&leap->theta, n, 1}, {&leap->part, n, 1}, {&leap->natural, n, 1},
                       {&leap->chain, n, 1}, {&leap->goal, n, 1}, {&leap->gain, n, 1}))
        return false;
    for (size_t j = 0; j < n; j++) {
        leap->part[j] = 1;
        leap->unit[j] = (uint32_t)j;
    }
    return true;
}

bool fit_leap_init_single(struct fit_leap *leap, const struct fit_asker *asker, bool by_slopes,
                          struct arena *arena)
{
    bool shrinks = by_slopes || asker->accuracy.gradient == GRADIENT_differences ||
                   asker->objective.has_noise;
    return fit_leap_init(leap, asker->map.n_free, shrinks, arena);
}

void fit_leap_sum(const struct fit_asker *asker, const struct fit_point *point, size_t j,
                  struct fit_leap_sums *sums)
{
    const struct fit_objective *objective = &asker->objective;
    size_t n_row = objective->n_row;
    const double *column = point->d_prediction + j * n_row;
    struct fit_answer answer = fit_point_answer(asker, point);
    double slope = matrix_product(n_row, point->weight, column, point->residual);
    *sums = (struct fit_leap_sums){.slope = slope * point->chain[j]};
    for (size_t i = 0; i < n_row; i++)
        sums->square += pow(column[i] * point->weight[i] * point->chain[j], 2);
    for (size_t i = 0; i < n_row && objective->has_noise; i++) {
        double r, weight, value;
        double elasticity = point->p[asker->map.file_index[j]] * point->d_noise[i + j * n_row] /
                            point->noise[i];
        bool is_own = objective->measured.sigma && !isnan(objective->measured.sigma[i]);
        if (is_own || elasticity == 0 ||
            !fit_objective_plain(objective, &answer, i, &r, &weight, &value))
            continue;
        sums->noise_squares += elasticity * elasticity * r * r;
        sums->noise += elasticity * elasticity;
    }
}

/* Sets leap->goal: where parameter j would leap; NaN: it would not. The gain that this promises. */
static double promise_of(struct fit_leap *leap, const struct fit_map *map, size_t j, bool of_noise)
{
    const struct fit_leap_sums *sums = &leap->sums[j];
    double natural = leap->natural[j], part = leap->part[leap->unit[j]], gain = 0, step = 0;
    if (!of_noise && sums->square > 0) {
        gain = 0.5 * sums->slope * sums->slope / sums->square;
        step = -sums->slope / sums->square * leap->chain[j];
    } else if (of_noise && sums->square == 0 && sums->noise > 0) {
        double factor = sqrt(sums->noise_squares / sums->noise);
        gain = sums->noise * fabs(log(factor)); /* at least: by Gauss's density or heavier tails */
        step = (factor - 1) * natural;
    }
    double target = natural + part * step;
    bool may = part > 0 && is_far(leap, map, j, natural, target);
    leap->goal[j] = may ? fit_scale_from_natural(map->scale[j], target) : (double)NAN;
    return may && gain > 0 ? gain : 0;
}

/* The best leap of all parameters of the predictions, or of the noise alone; `least`: what it
 * must promise. */
static void find(struct fit_leap *leap, const struct fit_map *map, bool of_noise, double least)
{
    size_t n = map->n_free;
    memset(leap->gain, 0, n * sizeof *leap->gain);
    for (size_t j = 0; j < n; j++)
        leap->gain[leap->unit[j]] += promise_of(leap, map, j, of_noise);
    for (size_t k = 0; k < n; k++)
        if (leap->gain[k] >= least && leap->gain[k] > leap->promise) {
            leap->promise = leap->gain[k];
            leap->best = k;
        }
}

bool fit_leap_choose(struct fit_leap *leap, const struct fit_map *map, const double *theta,
                     double squares, double scale)
{
    size_t n = map->n_free;
    leap->promise = 0;
    leap->best = n;
    if (leap->n_left == 0)
        return false;
    if (squares > LARGE * scale)
        find(leap, map, false, PART * squares);
    if (leap->best == n)
        find(leap, map, true, 0);
    leap->n_left -= leap->best < n;
    for (size_t j = 0; j < n; j++) {
        leap->goal[j] = leap->unit[j] == leap->best ? leap->goal[j] : (double)NAN;
        leap->theta[j] = isnan(leap->goal[j]) ? theta[j] : leap->goal[j];
    }
    return leap->best < n;
}

bool fit_leap_find(struct fit_leap *leap, const struct fit_asker *asker,
                   const struct fit_point *point)
{
    for (size_t j = 0; j < asker->map.n_free; j++) {
        fit_leap_sum(asker, point, j, &leap->sums[j]);
        leap->natural[j] = point->p[asker->map.file_index[j]];
        leap->chain[j] = point->chain[j];
    }
    double squares = 0.5 * matrix_squares(asker->objective.n_row, point->residual);
    return fit_leap_choose(leap, &asker->map, point->theta, squares, fit_point_scale(asker, point));
}

bool fit_leap_is_good(struct fit_leap *leap, struct fit_map *map, double before, double after)
{
    bool is_good = before - after >= GOOD * leap->promise;
    for (size_t j = 0; j < map->n_free && is_good; j++)
        map->size[j] = isnan(leap->goal[j]) ? map->size[j] : fabs(leap->goal[j]);
    if (!is_good)
        leap->part[leap->best] = leap->part[leap->best] == 1 ? 0.5 : 0;
    return is_good;
}

