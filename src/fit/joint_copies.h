/* What processes tell each other of their blocks after a pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint.h"

/* False: memory is out, which agreement.is_short says, or the others are lost. */
bool joint_exchange(struct joint *joint);
