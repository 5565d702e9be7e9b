/* The death of the compute process before this one.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

/* Journals the fits that it was due to. An error if there are too many. Before the workers
 * begin. */
enum status compute_judge(struct compute *compute, struct error *error);
