/* L-BFGS on the sums of a fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint.h"

/* In joint_search.c: the trial becomes the best point. */
void joint_take(struct joint *joint);
/* The decrease predicted for the best point without trust regions. Infinite: the fit has ended. */
double joint_promise(struct joint *joint);

/* joint->descent. False: out of memory. */
bool joint_descent_init(struct joint *joint);
void joint_descent_fini(struct joint *joint);
/* At a best point: sets the next trial of all blocks and returns not_run; or what a search has ended with, and stopping.met. */
enum outcome joint_descent_next(struct joint *joint);
/* After a trial. False: the search has ended; joint_descent_next says how. */
bool joint_descent_judge(struct joint *joint);
