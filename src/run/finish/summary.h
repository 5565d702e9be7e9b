/* Counting how a run went, fit by fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/journal.h"
#include "run/plan/run_options.h"
#include "run/run.h"

void summary_add(struct run_summary *summary, const char *id, const struct fit_record *record,
                 size_t n_parameter);

/* Counts the results of a row's refits; n_replicate were requested. */
void summary_add_refits(struct run_summary *summary, const struct fit_record *record,
                        size_t n_parameter, uint64_t n_replicate);

struct result_population;
void summary_add_population(struct run_summary *summary,
                            const struct result_population *population);

/* Looks whether the result is there already. Not there (or to be overwritten): OK. The result of
 * the same run: OK, and the summary says already_complete and counts it; so does a
 * --retry-failed that has nothing to do. Another run's, no result at all, or what must never be
 * overwritten (the problem itself): an error that says what to do. */
enum status summary_look(const struct run_paths *paths, const struct run_identity *identity,
                         struct run_summary *summary, struct error *error);

/* Gives a result file that was found complete the present time, so that make(1) does not ask for
 * it again after its problem file was written anew with the same contents. Where this is not
 * allowed, the file keeps its time. */
void summary_touch(const struct run_paths *paths);
