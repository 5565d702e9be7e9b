/* Sorts rows by time; most files are already sorted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct timed {
    double time;
    size_t row;
    uint32_t variant;
    int8_t side;
};

static int compare(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->side != b->side)
        return a->side - b->side;
    if (a->variant != b->variant)
        return a->variant < b->variant ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* NULL: out of memory. */
static struct timed *sort(const struct measurements *given, const uint32_t *variant, size_t n,
                          size_t *n_row, struct arena *arena)
{
    struct timed *rows = arena_alloc(arena, (n + 1) * sizeof *rows);
    /* Rows of one time have one of their own. */
    bool is_sorted = true, has_order = variant || given->side;
    *n_row = 0;
    for (size_t i = 0; rows && i < n; i++) {
        if (given->value && isnan(given->value[i]))
            continue;
        struct timed *row = &rows[(*n_row)++];
        *row = (struct timed){given->time[i], i, variant ? variant[i] : 0,
                              given->side ? given->side[i] : 0};
        if (row > rows && is_sorted)
            is_sorted = has_order ? compare(row - 1, row) < 0 : row[-1].time <= row->time;
    }
    if (!is_sorted)
        qsort(rows, *n_row, sizeof *rows, compare);
    return rows;
}

static unsigned columns_of(const struct measurements *given)
{
    unsigned columns = 0;
    for (int c = 0; c < N_MEASUREMENT; c++)
        columns |= (unsigned)(measurements_cell(given, (enum measurement_column)c, 0) != NULL) << c;
    return columns & MEASUREMENT_FITTED;
}

bool ode_task_sort(struct ode_task *task, struct ode_rows *rows, const struct measurements *given,
                   size_t n, const enum error_kind *error, struct arena *arena)
{
    size_t n_row, n_time = 0;
    const struct timed *sorted = sort(given, task->row_variant, n, &n_row, arena);
    unsigned columns = columns_of(given);
    void *block = arena_alloc(arena, measurements_bytes(columns, n_row) + 1);
    size_t *number = arena_alloc(arena, (n_row + 1) * sizeof *number);
    double *time = arena_alloc(arena, (n_row + 1) * sizeof *time);
    uint32_t *row_time = arena_alloc(arena, (n_row + 1) * sizeof *row_time);
    bool *is_log = arena_calloc(arena, n_row + 1, sizeof *is_log), has_sides = false;
    int8_t *side = arena_alloc(arena, n_row + 1);
    uint32_t *variant = arena_alloc(arena, (n_row + 1) * sizeof *variant);
    if (!sorted || !block || !number || !time || !row_time || !is_log || !side || !variant)
        return false;
    *rows = (struct ode_rows){columns, measurements_place(columns, n_row, block), number};
    for (size_t i = 0; i < n_row; i++) {
        number[i] = sorted[i].row;
        variant[i] = sorted[i].variant;
        has_sides = has_sides || sorted[i].side;
        if (n_time == 0 || time[n_time - 1] < sorted[i].time || side[n_time - 1] < sorted[i].side) {
            side[n_time] = sorted[i].side;
            time[n_time++] = sorted[i].time;
        }
        row_time[i] = (uint32_t)(n_time - 1);
    }
    measurements_pick(&rows->measured, given, number, n_row);
    for (size_t i = 0; given->sigma && i < n_row; i++)
        is_log[i] = error_row[error[rows->measured.observable[i]]].is_log;
    task->n_time = n_time;
    task->time = time;
    task->time_side = has_sides ? side : NULL;
    task->row_variant = task->row_variant ? variant : NULL;
    task->n_row = n_row;
    task->row_time = row_time;
    task->row_observable = rows->measured.observable;
    task->row_sigma = rows->measured.sigma;
    task->row_is_log = given->sigma ? is_log : NULL;
    return true;
}

bool ode_task_add_steady(struct ode_task *task, struct arena *arena)
{
    size_t n = task->n_time;
    if (n > 0 && task->time[n - 1] == INFINITY)
        return true;
    double *time = arena_alloc(arena, (n + 1) * sizeof *time);
    int8_t *side = task->time_side ? arena_calloc(arena, n + 1, sizeof *side) : NULL;
    if (!time || (task->time_side && !side))
        return false;
    if (n)
        memcpy(time, task->time, n * sizeof *time);
    if (n && side)
        memcpy(side, task->time_side, n * sizeof *side);
    time[n] = INFINITY;
    task->time = time;
    task->time_side = side;
    task->n_time = n + 1;
    return true;
}
