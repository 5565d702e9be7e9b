/* The skeleton: a result file without rows, left by the compute process in the journal's folder. From it the finisher gets
 * names, units, options and provenance without loading a model.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal.h"
#include "io/result.h"
#include "run/plan/campaign.h"

/* Writes (or replaces) it. */
enum status skeleton_write(const struct campaign *campaign, const char *command_line, bool is_model_given,
                           struct error *error);
/* Opens it; result_info of it is the header of the result to be. */
enum status skeleton_open(const char *journal_path, struct result **skeleton, struct error *error);
bool skeleton_is_there(const char *journal_path);
void skeleton_remove(const char *journal_path);

/* A spent journal is one whose result exists: a process killed between renaming the result and removing the journal leaves
 * both. The time of the last write to the journal's files, in nanoseconds since 1970; 0: never. */
int64_t spent_last_write_ns(const char *journal_path);
/* Whether nothing was written to it after the result: then no run with --overwrite or --retry-failed has begun that should
 * continue. */
bool spent_is(const char *result_path, const char *journal_path);
/* Removes a spent journal if it is of this run; otherwise, or if it cannot be removed, it stays. */
void spent_drop(const char *result_path, const char *journal_path, const struct run_identity *identity);

/* Removes a journal whose fits are all in this result: a retry's process was killed just before it could. Others are left. */
enum status spent_drop_retried(const char *result_path, const char *journal_path, struct error *error);
