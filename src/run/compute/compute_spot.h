/* A spot check of a plugin's derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

/* Refuses a plugin whose derivatives are certainly wrong at the starts of some datasets. Call
 * before there are other threads. */
enum status compute_spot_check(struct compute *compute, struct error *error);
