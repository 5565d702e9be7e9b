/* A pass over all blocks of a fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/ranks.h"

/* COUNTS: all that take part have done their part. FEWER: some are left out from now on, and
 * what the others found does not count, as a sum over other blocks. FAILED: some cannot be
 * evaluated there, and the search may go back to an earlier point. RENEWED: what was known of
 * the best point does not count. ENDED: the fit has ended, or it is stopped. */
enum joint_went { JOINT_COUNTS, JOINT_FEWER, JOINT_FAILED, JOINT_RENEWED, JOINT_ENDED };

enum joint_went joint_run_pass(struct joint *joint, enum joint_pass pass);
/* Of joint->pass, without running it: for blocks that have crashed in an earlier process. */
enum joint_went joint_account(struct joint *joint);
/* Blocks that were left out because they could not be evaluated take part in the next pass. False:
 * there are none. After that pass those that could not be evaluated leave again. */
bool joint_try_left_out(struct joint *joint);
void joint_leave_again(struct joint *joint);
/* Counts the measurements of the blocks that take part. */
void joint_count_rows(struct joint *joint);
/* Whether what was done last was cut short by a budget, which does not undo what was known before:
 * the fit goes on as if it had not been done. */
bool joint_forgive(struct joint *joint);
/* The fit ends before a stopping test is met. ASKED_END. */
enum asked joint_end(struct joint *joint, enum outcome outcome);
/* The same because there is no memory for the shared parameters. */
enum asked joint_end_short(struct joint *joint);
/* Whether some block could not be evaluated; and the same, and the first one is the culprit. */
bool joint_some_failed(const struct joint *joint);
bool joint_find_failed(struct joint *joint);
