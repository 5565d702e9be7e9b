/* The search for a step of a fit over many datasets whose objective is far from a sum of squares.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"

/* The best inner step, and what it promises, take the place of the model's. ASKED_END with
 * joint->line.has_fewer: blocks have left, and the best point is not that of the others. */
enum asked joint_line_look(struct joint *joint);
/* It becomes the trial of the parameters above the blocks. */
void joint_line_target(struct joint *joint);
/* After a trial that decreased the objective by this ratio of what was promised. */
void joint_line_adapt(struct joint *joint, double ratio);
