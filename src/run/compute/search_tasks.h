/* What a search does: the starts and refits of its component, one after another.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/search.h"

/* On the search's coroutine: all tasks. Also OK if it was stopped. */
enum status search_run_tasks(struct search *search, struct error *error);
/* Whether an earlier process has written all records of that task of a component, by this process's
 * journal. */
bool search_is_written(const struct compute *compute, size_t component, uint32_t task);
