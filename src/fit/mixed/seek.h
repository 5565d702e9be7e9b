/* The search for the hills of a dataset's integrand: its highest mode, and what else is so high
 * that the curvature there does not explain it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/effects.h"

/* Looks for hills from local->here.b and from points of the prior. Writes them to `numbers`, with
 * room for HILLS_MOST, the highest mode first, whose place becomes local->here.b, and behind
 * several of them the prior. *n: their number, 0 if the derivatives are too large. The latest
 * evaluation is not that of the highest mode. */
enum asked seek_hills(struct effects *local, double *numbers, size_t *n);
