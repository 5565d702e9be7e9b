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
