/* Makes a compute process the first victim when memory is short, and lets it end quickly.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_EXPENDABLE_H
#define RUN_EXPENDABLE_H

#include "run/supervise/board.h"

/* When memory is short, the kernel should kill this process, not its supervisor. If the model's code calls exit while fits are
 * running, the process ends at once, because cleaning up beside running workers could hang. `board` must live until exit. */
void expendable_become(struct board *board);

#endif
