/* Where a traced run keeps its journal: in a temporary folder of its own, which goes when the run ends. A trace resumes nothing
 * and leaves nothing, but its passes and its crashes go through a journal as any run's do.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_TRACE_JOURNAL_H
#define RUN_TRACE_JOURNAL_H

#include "base/error.h"

/* Supervisor: makes the folder and the environment entry by which its children find it. */
enum status trace_journal_make(struct error *error);
void trace_journal_remove(void);
/* The journal's path; NULL: there is none. */
const char *trace_journal_path(void);

#endif
