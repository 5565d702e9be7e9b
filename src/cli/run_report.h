/* The report at the end of a run.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_REPORT_H
#define CLI_RUN_REPORT_H

#include "run/run.h"

/* Text on standard error (unless --quiet), and with --json an object on standard output. */
void run_report(const struct run_summary *summary, const struct run_shown *shown);

#endif
