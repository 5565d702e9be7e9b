/* What a fit with random parameters says of the population, once it has ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed_pass.h"

/* Fills mixed->result: estimates, their errors, and the likelihood. */
enum asked mixed_conclude(struct mixed *mixed, enum outcome outcome);
