/* How accurate the integrals of the exact likelihood are, and their correction by finer levels of
 * the rule in samples of the datasets: a sum over levels of what each changes, with fewer datasets
 * for those that cost more and change less (multilevel Monte Carlo, Giles 2008, Oper. Res. 56,
 * 607).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/pass.h"

/* The last passes (JOINT_TELL) at the best estimates, whose value they correct; sets the result's
 * error of -2 log L. */
enum asked mixed_run_last(struct mixed *mixed);
