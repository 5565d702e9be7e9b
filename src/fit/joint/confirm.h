/* What follows a search: the certificate, and other searches where it confirms nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/model.h"

/* A search has ended, at a stopping test or because it is cut short. ASKED_OK: another one goes on
 * from the best point, or from the start, which is lower; ASKED_FAILED: the fit ends like this, and
 * its statistics are known; ASKED_END: it is cut short. */
enum asked joint_confirm(struct joint *joint, enum outcome *outcome, enum stop_test *stop);
/* The best point of a fit that is cut short, for its record; and its statistics, if it was a
 * budget that ended it, or where the best point's derivatives are kept. */
void joint_keep_best(struct joint *joint, enum outcome outcome);
