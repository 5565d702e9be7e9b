/* Obsolete journals: a process that is killed between renaming its result and removing its
 * journal leaves both.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/journal.h"

/* The time of the last write to the journal's files, in nanoseconds since 1970; 0: never. */
int64_t obsolete_last_write_ns(const char *journal_path);
/* Whether nothing was written to it after the result: then no run with --overwrite or
 * --retry-failed has begun that should continue. */
bool obsolete_is(const char *result_path, const char *journal_path);
/* Removes an obsolete journal if it is of this run; otherwise, or if it cannot be removed, it
 * stays. */
void obsolete_drop(const char *result_path, const char *journal_path,
                   const struct run_identity *identity);

/* Removes a journal whose fits are all in this result, or that has none: a retry's process was
 * killed just before it could. Others are left. */
enum status obsolete_drop_retried(const char *result_path, const char *journal_path,
                                  struct error *error);
