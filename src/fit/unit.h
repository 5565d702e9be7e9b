/* The unit of data under Laplace's errors without sigma. Separate from the fit, which it calls: the loss has a kink that is
 * rounded over a part of sigma, and the integrator's errors are judged beside it, so that without a sigma the residuals' own
 * size has to take its place.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_UNIT_H
#define FIT_UNIT_H

#include "fit/types.h"

typedef void fit_unit_run(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                          struct arena *arena, struct fit_record *record);

/* Whether the problem's unit has to be found, or is given: Laplace's errors, and no row with a sigma or a noise. */
bool fit_unit_is_open(const struct fit_problem *problem);
/* Fits with sigma a unit, which is first the data's own size, then the residuals' mean size until that settles, and then once
 * more with all that the options ask for. A problem->unit > 0 is used as it is, in one fit. The record is for sigma 1 again.
 * `run` finds the unit in problem->unit. False: out of memory, and nothing was run. */
bool fit_unit_find(const struct fit_problem *problem, const struct fit_options *options, const struct fit_host *host,
                   struct arena *arena, struct fit_record *record, fit_unit_run *run);

#endif
