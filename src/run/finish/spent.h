/* A journal whose result is there: whoever was killed between the result's rename and the journal's removal leaves both.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SPENT_H
#define RUN_SPENT_H

#include "io/journal.h"

#include <stdbool.h>
#include <stdint.h>

/* When something was last written to the journal's files, in nanoseconds since 1970; 0: never. */
int64_t spent_last_write_ns(const char *journal_path);
/* Nothing was written to it after the result: no run with --overwrite or --retry-failed has begun, so none is to go on. */
bool spent_is(const char *result_path, const char *journal_path);
/* Removes such a journal if it is of this run; one that is not, or that cannot be removed, stays. */
void spent_drop(const char *result_path, const char *journal_path, const struct run_identity *identity);

/* Removes a journal whose fits are all in this result: a retry's process was killed just before it could. Others are left. */
enum status spent_drop_retried(const char *result_path, const char *journal_path, struct error *error);

#endif
