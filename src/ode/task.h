/* From measurements in any order to what an evaluation simulates. The only place that sorts them: fits and predictions agree.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_TASK_H
#define ODE_TASK_H

#include "base/arena.h"
#include "base/error_kind.h"
#include "base/measurements.h"
#include "ode/evaluation.h"

/* Those of n rows that have a value (all of them without a column `value`), in order of time and of number at equal times. */
struct ode_rows {
    struct measurements measured; /* task->n_row, of the columns that were given but the line */
    size_t *number;               /* task->n_row: which of the n rows each is */
};

/* Fills what the task has of times and rows; t0 and the covariates are the caller's. `error`: of each observable of the model;
 * looked at where there are sigmas. Everything is in the arena. False: out of memory. */
bool ode_task_sort(struct ode_task *task, struct ode_rows *rows, const struct measurements *given, size_t n,
                   const enum error_kind *error, struct arena *arena);

#endif
