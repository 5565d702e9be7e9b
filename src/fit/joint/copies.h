/* What processes tell each other of their blocks after a pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/joint.h"

/* False: out of memory (then agreement.is_short is set), or other processes are lost. */
bool joint_exchange(struct joint *joint);
