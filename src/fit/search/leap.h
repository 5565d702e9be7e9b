/* Leaps of a start that is orders of magnitude off: an amplitude in other units than the data,
 * such as 1 for counts of 1e7. The trust region lets no parameter change by more than its size
 * at once; twenty doublings of the amplitude on, the others would have been led astray by
 * residuals that they cannot explain. Separate from the searches, which share it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/point.h"

/* Sums over rows of what a parameter alone may gain. */
struct fit_leap_sums {
    double slope, square;        /* of the weighted predictions: the gradient, and the squared
                                  * derivatives */
    double noise_squares, noise; /* over the rows whose standard deviation depends on it: the
                                  * squared relative change of that per relative change of the
                                  * parameter, times the squared residual and without it */
};

struct fit_leap {
    struct fit_leap_sums *sums; /* n_free: at the point */
    double *natural, *chain;    /* n_free: its value there, and the derivative by theta */
    uint32_t *unit;             /* n_free: parameters with the same number, below n_free, leap
                                 * together */
    double *gain, *goal;        /* by unit: what it promises; n_free: theta after the leap, NaN:
                                 * as before */
    double *part;   /* by unit: of its step that a parameter leaps: all, half of it after a bad
                     * try, none after two. The caller sets 0 for those that must not */
    double *theta;  /* n_free: the point after the leap */
    double promise; /* the decrease that linear predictions promise */
    size_t best, n_left; /* the unit; how many more leaps there may be */
    bool shrinks;   /* parameters may also become smaller: a Gauss-Newton step does that by
                     * itself, but L-BFGS and difference quotients need the size, and so does a
                     * noise of that size, which would hide what is left */
};

/* Each of n parameters leaps by itself. False: out of memory. */
bool fit_leap_init(struct fit_leap *leap, size_t n, bool shrinks, struct arena *arena);
/* Of a fit; by_slopes: for L-BFGS. */
bool fit_leap_init_single(struct fit_leap *leap, const struct fit_asker *asker, bool by_slopes,
                          struct arena *arena);
void fit_leap_sum(const struct fit_asker *asker, const struct fit_point *point, size_t j,
                  struct fit_leap_sums *sums);
/* Whether some parameter, alone and by linear predictions, explains a good part of residuals
 * that are no small part of the data, and must change by many times its size for that; or else
 * whether one of the noise alone must, to be of the residuals' size. The point has the
 * derivatives of its predictions. */
bool fit_leap_find(struct fit_leap *leap, const struct fit_asker *asker,
                   const struct fit_point *point);
/* What fit_leap_find does once leap->sums, natural and chain are there; of these parameters:
 * n_free, scale, size and bounds. `squares`: half of the squared residuals; scale:
 * fit_point_scale. */
bool fit_leap_choose(struct fit_leap *leap, const struct fit_map *map, const double *theta,
                     double squares, double scale);
/* Whether the leap was worth it, from the objectives: predictions are about linear that far.
 * NaN: it could not be evaluated. If so, the parameter's size is known from now on. */
bool fit_leap_is_good(struct fit_leap *leap, struct fit_map *map, double before, double after);
