/* What a compute process arranges so that it goes when something has to go, and goes quickly.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_EXPENDABLE_H
#define RUN_EXPENDABLE_H

#include "run/supervise/board.h"

/* When memory is short the kernel is to end this process, not its supervisor. And if the model's code calls exit while fits are
 * under way, the process ends at once: clearing up beside running workers could hang. `board` must outlive everything. */
void expendable_become(struct board *board);

#endif
