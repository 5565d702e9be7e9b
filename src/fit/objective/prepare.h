/* What precedes the search of a fit: its map, objective, method and memory. Used by the fit of
 * one dataset and by that of many.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/point.h"

/* The asker of a problem, from `arena`. NULL: there is none, and the record (cleared first; its
 * arrays may be NULL) says why. */
struct fit_asker *fit_prepare(const struct fit_problem *problem, const struct fit_options *options,
                              const struct fit_host *host, struct arena *arena,
                              struct fit_record *record);
/* Whether the sizes of a problem choose L-BFGS, or its gradients, for a fit: its asker then has the
 * choice. */
bool fit_prepare_may_descend(const struct fit_options *options, size_t n_parameter);
/* NOTE_hidden_pulses, if problem->seeks_pulses. Call it once the model has been evaluated: a
 * model that crashes then crashes in an evaluation, which the run can name. False: out of
 * memory. */
bool fit_seek_pulses(struct fit_asker *asker);
/* Memory for asker->accuracy.gradient, after that has changed. False: out of memory. */
bool fit_prepare_gradient(struct fit_asker *asker, struct arena *arena);
