/* Fits of one dataset each.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

/* All passes, each after those whose results it needs. *journal_gone, with an error: another
 * process has removed the journal. */
enum status compute_single(struct compute *compute, bool *journal_gone, struct error *error);
