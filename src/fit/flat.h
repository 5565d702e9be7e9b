/* Directions that the data do not know: which parameters they are made of, and which of them have parameters in common.
 * Separate from the statistics, which have numbers for everything else.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_FLAT_H
#define FIT_FLAT_H

#include "fit/spectrum.h"

/* n are the spectrum's parameters. */
struct fit_flat {
    struct fit_spectrum *spectrum;
    double *projector;  /* n x n: onto the directions without influence, parameters measured by their own */
    uint8_t *is_flat;   /* n: which of the spectrum's directions are */
    uint32_t *through;  /* n: for a parameter that a known direction leaves wide open, 1 + that direction; else 0 */
    uint32_t *group;    /* n: 0 no part of any; parameters of directions that have parameters in common share a number from 1 */
    bool is_one_sided;  /* fit_flat_open found a direction */
    size_t n_flat, n_group;
    double part;        /* what a parameter must make of a direction without influence to be part of it */
};

/* For n <= n_free. False: out of memory. */
bool fit_flat_init(struct fit_flat *flat, size_t n_free, struct arena *arena);
/* Those without influence. */
void fit_flat_take(struct fit_flat *flat, struct fit_spectrum *spectrum);
/* And known ones that leave a parameter wider open than means anything. A parameter of the directions without influence is left
 * out: it is open along these, and the known ones that it has a part in are those of other parameters. `covariance`: n x n,
 * optimiser's scale, to be multiplied by factor^2. May call fit_spectrum_directions. */
void fit_flat_widen(struct fit_flat *flat, const struct fit_map *map, const double *covariance, double factor);
/* And those that only censored measurements speak of, from so far within their limits that these bound nothing: the optimum
 * lies at infinity, or anywhere between two limits. `covariance` as above; `scratch`: n x n. After it the
 * spectrum's known directions are others, and its rows are gone. */
void fit_flat_open(struct fit_flat *flat, const struct fit_asker *asker, const struct fit_point *point,
                   const double *covariance, double *scratch);
/* After all of these: which parameters belong together. */
void fit_flat_group(struct fit_flat *flat);
/* After that, where n_flat > 0: a direction of each group, all of one length and with the largest entry positive, added up: of
 * length 1 on the optimiser's scale. n each. */
void fit_flat_direction(const struct fit_flat *flat, double *direction, double *scratch);

#endif
