/* The journal of a traced run: in a temporary folder, which is removed when the run ends. A trace resumes nothing and leaves
 * nothing behind, but its passes and crashes need a journal like those of any run.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_TRACE_JOURNAL_H
#define RUN_TRACE_JOURNAL_H

#include "base/error.h"

/* Supervisor: makes the folder, and the environment entry through which its children find it. */
enum status trace_journal_make(struct error *error);
void trace_journal_remove(void);
/* The journal's path; NULL: there is none. */
const char *trace_journal_path(void);

#endif
