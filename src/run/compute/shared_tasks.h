/* What a shared fit does: the starts and refits of its component, one after another.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/shared_fit.h"

/* On its coroutine: all tasks. Also OK if it was stopped. */
enum status shared_run_tasks(struct shared_fit *shared, struct error *error);
/* Whether an earlier process has written all records of that task of a component, by this process's
 * journal. */
bool shared_is_written(const struct compute *compute, size_t component, uint32_t task);
