/* Random starts: rows of a Latin hypercube, each a pure function of (seed, dataset, start number, number of starts).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_STARTS_H
#define FIT_STARTS_H

#include "fit/map.h"

/* Start number 0 is the given start; number k >= 1 is row k-1 of a hypercube with max(n_start - 1, k) rows in the box
 * of the bounds on the optimiser's scale: in every coordinate each of that many equal strata contains one start, at a
 * random place. An infinite side of the box is replaced by a window around the given start: one decade on the
 * logarithmic scales, max(1, |start|) on the linear one.
 * Writes theta (map->n_free). Each parameter has its own random stream, numbered by its index in the model. */
void fit_start_theta(const struct fit_map *map, uint64_t seed, uint64_t dataset, uint32_t start_number,
                     uint32_t n_start, double *theta);

#endif
