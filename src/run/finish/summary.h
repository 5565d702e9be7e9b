/* Counting how a run went, fit by fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SUMMARY_H
#define RUN_SUMMARY_H

#include "io/journal.h"
#include "run/run.h"

void summary_add(struct run_summary *summary, const char *id, const struct fit_record *record);

/* Counts a row that was fitted again. */
void summary_add_retried(struct run_summary *summary, const struct fit_record *record);

/* Counts the results of a row's refits; n_replicate were requested. */
void summary_add_refits(struct run_summary *summary, const struct fit_record *record, size_t n_parameter,
                        uint64_t n_replicate);

/* Checks whether the result exists. No, or it may be overwritten: OK. It is the result of the same run, or --retry-failed
 * has nothing to do: OK, with already_complete and the counts in the summary. It is another run's result, or not a result,
 * or a file that must never be overwritten (the problem itself): an error that says what to do. */
enum status summary_look(const char *result_path, const struct run_options *options,
                         const struct run_identity *identity, struct run_summary *summary, struct error *error);

#endif
