/* The unit of data with Laplace's errors and no sigma. The loss has a kink that is rounded over
 * a part of sigma, and the integrator's errors are compared with sigma, so the size of the
 * residuals must replace an unknown sigma. Separate from the fit, which it calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"

typedef void fit_unit_run(const struct fit_problem *problem, const struct fit_options *options,
                          const struct fit_host *host, struct arena *arena,
                          struct fit_record *record);

/* Whether the problem needs a unit: it has Laplace's errors, and no row with a sigma or a noise. */
bool fit_unit_is_open(const struct fit_problem *problem);
/* Fits with the unit as sigma. The unit is first the size of the data, then the mean size of the
 * residuals until that settles; a last fit uses the full options. If problem->unit > 0, it is
 * used in a single fit. The record is rescaled to sigma 1. `run` finds the unit in
 * problem->unit. False: out of memory, and nothing was run. */
bool fit_unit_find(const struct fit_problem *problem, const struct fit_options *options,
                   const struct fit_host *host, struct arena *arena, struct fit_record *record,
                   fit_unit_run *run);
