/* What a fit with random parameters says of the population, once it has ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/pass.h"

/* Second derivatives of the objective at the best estimates, by those that are not held, to two
 * or three digits, in mixed->second: by differences, but for those that passes of the exact
 * likelihood's last stage observe. */
enum asked mixed_differ(struct mixed *mixed);
/* The latter, from such a pass. If the second derivatives are a minimum's, they become the
 * search's curvature. False: out of memory. */
bool mixed_observe(struct mixed *mixed);
/* Fills mixed->result: estimates, their errors, and the likelihood. */
enum asked mixed_conclude(struct mixed *mixed, enum outcome outcome);
