/* --retry-failed where results are written: what earlier retries have left, and what is to be said of this one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_RETRY_H
#define RUN_RETRY_H

#include "io/result.h"

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
