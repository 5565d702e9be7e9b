/* Refits of a fit over many datasets: profiles of shared parameters, their reviews, and bootstrap
 * replicates, each of which draws datasets. The best fit is the subject of the code that refits a
 * single dataset (fit/refits/subject.h). Every rank does the same, with the parameters of its own
 * datasets; rank 0 has the journal. On the fit's coroutine.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/shared_fit.h"

/* Sets shared->refits from the journal of rank 0. */
enum status joint_refits_open(struct shared_fit *shared, struct error *error);
void joint_refits_free(struct joint_refits *refits);
/* Whether there is a best fit to refit. */
bool joint_refits_exist(const struct joint_refits *refits);
/* Runs and journals that task, as a record of the fit's first dataset. Also OK if it was
 * stopped: then it has not ended. Only replicates keep a state from which another process
 * continues. */
enum status joint_refits_run(struct shared_fit *shared, uint32_t task, bool *has_ended,
                             struct error *error);
