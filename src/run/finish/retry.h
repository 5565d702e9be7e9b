/* --retry-failed: which datasets failed in a result, and whether what has changed since allows to fit them anew: options may
 * differ; the problem, the model, the seed, what is minimised and the selection may not.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_RETRY_H
#define RUN_RETRY_H

#include "io/result.h"
#include "run/plan/selection.h"

/* Narrows the selection (which is as selection_open made it) to what failed in the result, none perhaps, and adds
 * "retry=N:HASH" to its text; the hash is of the result's identity, its earlier retries and the datasets. `now`: this run. */
enum status retry_select(struct selection *selection, const char *result_path, const struct run_identity *now,
                         struct error *error);

/* How often rows of this result have been retried. */
unsigned retry_count(const struct result_info *info);

/* Removes a journal whose fits are all in this result: its process was killed just before it could. Others are left. */
enum status retry_drop_spent_journal(const char *result_path, const char *journal_path, struct error *error);

/* Adds what the result is to say of this retry to what it said before. The texts belong to the two results, or to the retry:
 * retry_provenance_fini. `now`: of the skeleton. */
struct retry_provenance {
    struct provenance provenance;
    const char **name, **value;
    char own_name[4][40];
};
enum status retry_provenance_init(struct retry_provenance *retry, const struct result_info *before,
                                  const struct result_info *now, struct error *error);
void retry_provenance_fini(struct retry_provenance *retry);

#endif
