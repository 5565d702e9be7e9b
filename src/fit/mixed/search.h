/* The search of a fit with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/mixed.h"

/* After joint_init: makes parameters of the sum random. `levels` is copied, its arrays are not.
 * False: out of memory. */
bool mixed_init(struct joint *joint, const struct mixed_levels *levels);
