/* The trace: every evaluation of a few fits as a row of CSV, which shows why a fit went where it
 * went. The parameters are written before the evaluation begins, so that an evaluation that
 * never returns is visible too.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/fit_record.h"
#include "ode/evaluation.h"
#include "run/supervise/board.h"
#include "run/plan/campaign.h"

#include <stdio.h>

struct trace;

/* Opens FILE ("-": `output`, which stays open) for the selected datasets of the campaign. The
 * first process of a run begins the file (a file that is not empty is replaced only with
 * `overwrite`); later ones append (board->n_process says which). Call from the thread that reads
 * HDF5. */
enum status trace_open(struct trace **trace, const char *path, bool overwrite,
                       const struct campaign *campaign, struct board *board, FILE *output,
                       struct error *error);
/* STATUS_SYSTEM: the trace could not be written completely. NULL is legal for both. */
enum status trace_status(const struct trace *trace, struct error *error);
void trace_close(struct trace *trace);

/* The rest: one fit at a time, by one thread. */
bool trace_wants(const struct trace *trace, uint64_t dataset); /* false for NULL */
void trace_begin(struct trace *trace, uint64_t dataset, uint32_t task);
void trace_ask(struct trace *trace, const char *experiment, const struct evaluation *evaluation);
void trace_answer(struct trace *trace, const struct evaluation *evaluation);
/* The optimiser's numbers for the latest evaluation; NaN: none. */
void trace_judge(struct trace *trace, double objective, double gradient_norm);
/* Writes the last row of a fit, from its record. */
void trace_end(struct trace *trace, const struct fit_record *record);
