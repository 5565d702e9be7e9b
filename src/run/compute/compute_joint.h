/* Fits over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

/* Like compute_single. The records of each fit are journalled at its end. */
enum status compute_joint(struct compute *compute, bool *journal_gone, struct error *error);
/* Main thread, for the display: n fits of which so many had ended before. */
uint64_t compute_n_shared(const struct compute *compute),
    compute_n_shared_before(const struct compute *compute);
