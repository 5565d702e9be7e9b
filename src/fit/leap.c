/* Gauss and Newton's step of one parameter, in natural units even if it is fitted on a logarithmic scale: predictions are
 * linear in an amplitude, not in its logarithm. For one of the noise, the size of the residuals: the most likely value of a
 * standard deviation.
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
static bool is_far(const struct fit_leap *leap, const struct fit_map *map, size_t j, double natural, double target)
{
    bool is_linear = map->scale[j] == SCALE_LIN;
    double size = is_linear ? fit_map_size(map, j, natural) : natural;
    if (!(target > map->natural_lower[j] && target < map->natural_upper[j]) || !(is_linear || target > 0))
        return false;
    /* a start at 0 says nothing of the size */
    return size > 0 && (fabs(target - natural) > FAR * size || (leap->shrinks && FAR * fabs(target) < size));
}

bool fit_leap_init(struct fit_leap *leap, const struct fit_asker *asker, bool by_slopes, struct arena *arena)
{
    size_t n = asker->map.n_free;
    *leap = (struct fit_leap){.n_left = 3 * n, .shrinks = by_slopes || asker->accuracy.gradient == GRADIENT_differences};
    if (!ARENA_DOUBLES(arena, {&leap->theta, n, 1}, {&leap->part, n, 1}))
        return false;
    for (size_t j = 0; j < n; j++)
        leap->part[j] = 1;
    return true;
}

/* The decrease of the objective if parameter j of the noise alone makes the standard deviations as large as the residuals are;
 * *factor: of the parameter. `elasticity` is the relative change of a row's standard deviation per relative change of the
 * parameter. */
static double promise_of_noise(const struct fit_asker *asker, const struct fit_point *point, size_t j, double *factor)
{
    const struct fit_objective *objective = &asker->objective;
    struct fit_answer answer = fit_point_answer(asker, point);
    size_t n_row = objective->n_row;
    double natural = point->p[asker->map.file_index[j]], squares = 0, sum = 0, gain = 0;
    for (int is_known = 0; is_known <= 1; is_known++) {
        for (size_t i = 0; i < n_row; i++) {
            double r, weight, value, elasticity = natural * point->d_noise[i + j * n_row] / point->noise[i];
            bool is_own = objective->measured.sigma && !isnan(objective->measured.sigma[i]);
            if (is_own || elasticity == 0 || !fit_objective_plain(objective, &answer, i, &r, &weight, &value))
                continue;
            squares += elasticity * elasticity * r * r;
            sum += elasticity * elasticity;
            if (!is_known)
                continue;
            double larger = 1 + elasticity * (*factor - 1);
            const struct fit_loss *loss = fit_objective_loss(objective, i);
            gain += larger > 0 ? fit_loss_at(loss, r).rho - fit_loss_at(loss, r / larger).rho - log(larger) : -INFINITY;
        }
        if (!is_known)
            *factor = sqrt(squares / sum);
    }
    return gain;
}

/* The best leap of all parameters of the predictions, or of the noise alone; `least`: what it must promise. */
static void find(struct fit_leap *leap, const struct fit_asker *asker, const struct fit_point *point, bool of_noise,
                 double least)
{
    const struct fit_map *map = &asker->map;
    double goal = 0;
    for (size_t j = 0; j < map->n_free; j++) {
        double step = 0, natural = point->p[map->file_index[j]], gain = promise_of(asker, point, j, &step);
        step *= point->chain[j];
        if (of_noise && gain == 0) {
            gain = promise_of_noise(asker, point, j, &step);
            step = (step - 1) * natural;
        } else if (of_noise)
            continue;
        double target = natural + leap->part[j] * step;
        if (leap->part[j] == 0 || !(gain >= least) || !(gain > leap->promise) || !is_far(leap, map, j, natural, target))
            continue;
        leap->promise = gain;
        leap->j = j;
        goal = fit_scale_from_natural(map->scale[j], target);
    }
    memcpy(leap->theta, point->theta, map->n_free * sizeof *leap->theta);
    if (leap->j < map->n_free)
        leap->theta[leap->j] = goal;
}

bool fit_leap_find(struct fit_leap *leap, const struct fit_asker *asker, const struct fit_point *point)
{
    size_t n = asker->map.n_free;
    double squares = 0.5 * matrix_squares(asker->objective.n_row, point->residual);
    leap->promise = 0;
    leap->j = n;
    if (leap->n_left == 0)
        return false;
    if (squares > LARGE * fit_point_scale(asker, point))
        find(leap, asker, point, false, PART * squares);
    if (leap->j == n && asker->objective.has_noise)
        find(leap, asker, point, true, 0);
    leap->n_left -= leap->j < n;
    return leap->j < n;
}

bool fit_leap_is_good(struct fit_leap *leap, struct fit_asker *asker, double before, double after)
{
    bool is_good = before - after >= GOOD * leap->promise;
    if (is_good)
        asker->map.size[leap->j] = fabs(leap->theta[leap->j]);
    else
        leap->part[leap->j] = leap->part[leap->j] == 1 ? 0.5 : 0;
    return is_good;
}

enum asked fit_leap_try(struct fit_leap *leap, struct fit_asker *asker, const struct fit_point *point, double f,
                        struct fit_point *trial, bool *is_good)
{
    *is_good = false;
    if (!fit_leap_find(leap, asker, point))
        return ASKED_FAILED;
    memcpy(trial->theta, leap->theta, asker->map.n_free * sizeof *trial->theta);
    enum asked asked = fit_ask(asker, asker->accuracy, trial, true);
    if (asked == ASKED_END)
        return ASKED_END;
    *is_good = fit_leap_is_good(leap, asker, f, asked == ASKED_OK ? trial->f : (double)NAN);
    return ASKED_OK;
}
