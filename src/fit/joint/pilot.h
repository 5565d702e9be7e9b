/* Pilots: a few datasets, spread evenly, that are fitted first; what follows begins at the
 * medians of their parameters. For many fits of one dataset each, and for one fit of many.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The dataset of pilot k of n_pilot: the middle of its share of the n datasets. n_pilot <= n. */
uint64_t fit_pilot_dataset(uint64_t n, uint64_t n_pilot, uint64_t k);
/* The inverse; n_pilot: the dataset is no pilot. */
uint64_t fit_pilot_number(uint64_t n, uint64_t n_pilot, uint64_t dataset);
/* Sorts the numbers. NaN if there are none. */
double fit_pilot_median(double *number, size_t n);
enum { FIT_PILOT_MOST = 32 }; /* pilots */
/* The median of each of n_parameter over the pilots that have it (found: n_parameter x n_pilot, NaN
 * where there is none). Returns the number of pilots behind the median that has the fewest. */
size_t fit_pilot_medians(size_t n_parameter, size_t n_pilot, const double *found, double *median);
