/* Leaps of shared parameters (fit/search/leap.h) in a fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/pass.h"

/* From the start, which has been evaluated; each try is a pass. *any: there was a leap. Other
 * than JOINT_COUNTS: what has ended them. */
enum joint_went joint_leap(struct joint *joint, bool *any);
