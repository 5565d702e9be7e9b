/* L-BFGS on the sums of a fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/pass.h"

/* From the best point to where a stopping test is met, or nothing better is found: *outcome, and
 * stopping.met. Other than JOINT_COUNTS: the pass that has ended it. */
enum joint_went joint_descend(struct joint *joint, enum outcome *outcome);
