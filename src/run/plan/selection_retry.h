/* --retry-failed: the failed datasets of an earlier result.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/result.h"
#include "run/plan/selection.h"

/* --retry-failed: narrows the selection (which is as selection_open made it) to what failed in
 * the result, none perhaps, and adds "retry=N:HASH" to its text; the hash is of the result's
 * identity, its earlier retries and the datasets. `now`: this run, whose options may differ; the
 * problem, the model, the seed, what is minimised and the selection may not. */
enum status selection_by_failure(struct selection *selection, const char *result_path,
                                 const struct run_identity *now, struct error *error);
/* How often rows of this result have been retried. */
unsigned selection_n_retry(const struct result_info *info);
