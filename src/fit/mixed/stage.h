/* A search of a likelihood goes to other estimates, and to other points of the integrals.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/mixed.h"

/* The trial's estimates become the best ones, with the sums of the latest pass, which was there. */
void mixed_take(struct mixed *mixed);
/* Starts a stage of the exact likelihood at the best estimates, without the random effects of these
 * columns of the factor: an integral over variables that move nothing needs more points to be as
 * accurate. Datasets choose their levels if the variables, the modes or the stage's first level are
 * new. */
enum asked mixed_begin_points(struct mixed *mixed, enum mixed_level level, uint64_t left_out,
                              bool has_new_modes);
