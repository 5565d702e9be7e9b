/* The group /population of a result: what a fit with random parameters has left, and its
 * replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/journal.h"
#include "io/result/result.h"
#include "run/finish/summary.h"
#include "run/plan/run_plan.h"
#include "run/plan/share.h"

/* Writes it, if the fit came so far as to leave it, and adds it to the summary. */
enum status finish_population(const struct run_plan *plan, const struct share *share,
                              struct journal_reader *journal,
                              struct result_writer *writer, struct run_summary *summary,
                              struct error *error);
