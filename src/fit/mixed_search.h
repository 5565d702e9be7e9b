/* The search of a fit with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed.h"

/* Goes on from the pooled fit to the end, or from where another process was. */
enum outcome mixed_search(struct joint *joint, enum stop_test *stop);
