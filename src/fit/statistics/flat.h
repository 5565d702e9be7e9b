/* Flat directions, which the data do not determine: the parameters in them, and groups of
 * directions with parameters in common. Separate from the statistics, which cover everything
 * else.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/spectrum.h"

/* Censored measurements at a point, among n_row of all: slopes by theta (n_row x n_free), 0 for
 * those that are not censored; the factor that turns a change into standard deviations; the
 * curvature of the loss. */
struct fit_censored {
    size_t n_row;
    double *slope, *factor, *curvature;
};

/* Writes the arrays. n_row is 0 if none is censored. */
void fit_censored_fill(const struct fit_censored *censored, const struct fit_asker *asker,
                       const struct fit_point *point);

/* Of entries whose sizes differ by less than this factor, as those of a difference of two
 * parameters, rounding would choose the largest one: the first one counts as such. */
#define FIT_FLAT_LARGER (1 + 1e-6)

/* n is the number of the spectrum's parameters. */
struct fit_flat {
    struct fit_spectrum *spectrum;
    /* n x n: onto the directions without influence, with parameters scaled by the spectrum's
     * scale */
    double *projector;
    uint8_t *is_flat;   /* n: which of the spectrum's directions are flat */
    /* n: for a parameter that a known direction leaves almost free, 1 + that direction;
     * otherwise 0 */
    uint32_t *through;
    uint32_t *group;    /* n: the group of each parameter, from 1; 0: in no flat direction */
    bool is_one_sided;  /* fit_flat_open found a direction */
    size_t n_flat, n_group;
    /* the least share of a direction without influence that makes a parameter part of it */
    double part;
};

/* For n <= n_free. False: out of memory. */
bool fit_flat_init(struct fit_flat *flat, size_t n_free, struct arena *arena);
/* Takes the directions without influence. */
void fit_flat_take(struct fit_flat *flat, struct fit_spectrum *spectrum);
/* Adds known directions along which the uncertainty of a parameter is too large to mean
 * anything. Parameters in directions without influence are skipped: they are undetermined along
 * these already. `covariance`: n x n, optimiser's scale, to be multiplied by factor^2. May call
 * fit_spectrum_directions. */
void fit_flat_widen(struct fit_flat *flat, const struct fit_map *map, const double *covariance,
                    double factor);
/* Adds directions that only censored measurements determine, when the predictions are so far
 * within the limits that these bound nothing: the optimum is at infinity, or anywhere between
 * two limits. `covariance` as above; `scratch`: n x n. Changes the spectrum's known directions
 * and destroys its rows, of which there are at least n and those that are censored. */
void fit_flat_open(struct fit_flat *flat, const struct fit_censored *censored,
                   const struct fit_map *map, const double *theta, const double *covariance,
                   double *scratch);
/* After all of these: finds the groups. */
void fit_flat_group(struct fit_flat *flat);
/* After that, if n_flat > 0: the sum of one direction of each group, all of equal length and
 * with their largest entry positive. The sum has length 1 on the optimiser's scale. n each. */
void fit_flat_direction(const struct fit_flat *flat, double *direction, double *scratch);
