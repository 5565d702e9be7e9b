/* The trace: every evaluation of a few fits as a row of CSV, for whoever wants to see why a fit went where it went. What is
 * known before an evaluation is written before it begins, so that one that never comes back can be seen too.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_TRACE_H
#define RUN_TRACE_H

#include "io/fit_record.h"
#include "ode/evaluation.h"
#include "run/supervise/board.h"
#include "run/plan/campaign.h"

#include <stdio.h>

struct trace;

/* Opens FILE ("-": `output`, which stays open) for the selected datasets of the campaign. The first process of a run begins
 * it (a file with something in it is replaced only if `overwrite` says so), later ones go on behind what it holds:
 * board->n_process tells. From the thread that reads HDF5. */
enum status trace_open(struct trace **trace, const char *path, bool overwrite, const struct campaign *campaign,
                       struct board *board, FILE *output, struct error *error);
/* STATUS_SYSTEM: not all of it could be written. NULL is legal for both. */
enum status trace_status(const struct trace *trace, struct error *error);
void trace_close(struct trace *trace);

/* The rest: one fit at a time, by one thread. */
bool trace_wants(const struct trace *trace, uint64_t dataset); /* false for NULL */
void trace_begin(struct trace *trace, uint64_t dataset, uint32_t task);
void trace_ask(struct trace *trace, const struct evaluation *evaluation);
void trace_answer(struct trace *trace, const struct evaluation *evaluation);
/* What the optimiser makes of the latest evaluation; NaN: nothing. */
void trace_judge(struct trace *trace, double objective, double gradient_norm);
/* How the fit ended, as its record says it. */
void trace_end(struct trace *trace, const struct fit_record *record);

#endif
