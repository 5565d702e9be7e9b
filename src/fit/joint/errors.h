/* What a block keeps of its last evaluation for the statistics.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"

struct joint_arrays {
    struct fit_findings_arrays found;
    /* all x all, own parameters first: as triangle, of the expected information */
    double *information;
    double *left;             /* s x s: what eliminating the own parameters leaves of the excess */
};
/* In joint/findings.c. Of work->at, after the last evaluation. False: out of memory. */
bool joint_findings_take(struct joint_work *work);
/* Where the arrays are. Room for them, and their size. */
struct joint_arrays joint_findings_arrays(const struct joint_block *block);
bool joint_findings_room(const struct joint *joint, struct joint_block *block);
size_t joint_findings_size(const struct joint_block *block);
