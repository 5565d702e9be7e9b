/* Turns measurements in any order into an evaluation's task. The only place that sorts them, so
 * fits and predictions agree.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error_kind.h"
#include "base/measurements.h"
#include "ode/evaluation.h"

/* The rows that have a value (all n without a column `value`), in order of time, then of side,
 * then of number. */
struct ode_rows {
    unsigned columns;             /* the given ones except the line */
    struct measurements measured; /* task->n_row of these columns */
    size_t *number;               /* task->n_row: index among the n rows */
};

/* Fills the task's times and rows; the caller fills the experiment. `error`: of each
 * observable of the model; used only with sigmas. Memory comes from the arena. False: out of
 * memory. */
bool ode_task_sort(struct ode_task *task, struct ode_rows *rows, const struct measurements *given,
                   size_t n, const enum error_kind *error, struct arena *arena);
/* Before the task is sorted: its phases and variants, from the substitutes of its experiment,
 * which has n_row rows; those of rows from n_row on are left out. False: out of memory. */
bool ode_task_substitute(struct ode_task *task, size_t n_row, struct arena *arena);
/* Makes a sorted task go on to a steady state, at time +infinity, where other evaluations may
 * begin. False: out of memory. */
bool ode_task_add_steady(struct ode_task *task, struct arena *arena);
