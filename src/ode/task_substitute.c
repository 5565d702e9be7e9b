/* Phases and variants of a task: the times at which parameters change, and the rows that have
 * some of their own.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The substitutes of one row, by parameter. */
struct list {
    const struct substitute **substitute;
    size_t n;
};

static int compare_times(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int compare_rows(const void *left, const void *right)
{
    const struct substitute *a = *(const struct substitute *const *)left,
                            *b = *(const struct substitute *const *)right;
    return a->row != b->row ? (a->row < b->row ? -1 : 1)
                            : (a->parameter > b->parameter) - (a->parameter < b->parameter);
}

static int compare_lists(const void *left, const void *right)
{
    const struct list *a = left, *b = right;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t i = 0; i < a->n; i++) {
        const struct substitute *s = a->substitute[i], *t = b->substitute[i];
        if (s->parameter != t->parameter)
            return s->parameter < t->parameter ? -1 : 1;
        if (s->by != t->by)
            return s->by < t->by ? -1 : 1;
        if (s->by == EXPERIMENT_NUMBER && s->value != t->value)
            return s->value < t->value ? -1 : 1;
    }
    return 0;
}

static bool find_phases(struct ode_task *task, size_t n, const struct substitute *substitute,
                        struct arena *arena)
{
    size_t n_time = 0;
    double *time = arena_alloc(arena, (n + 1) * sizeof *time);
    if (!time)
        return false;
    for (size_t i = 0; i < n; i++)
        if (substitute[i].time > -INFINITY)
            time[n_time++] = substitute[i].time;
    qsort(time, n_time, sizeof *time, compare_times);
    for (size_t i = 0; i < n_time; i++)
        if (task->n_phase == 0 || time[task->n_phase - 1] < time[i])
            time[task->n_phase++] = time[i];
    task->phase = time;
    return true;
}

/* Rows with the same substitutes are one variant. `own`: those of single rows, n. */
static bool find_variants(struct ode_task *task, const struct substitute *substitute, size_t n,
                          const struct substitute **own, size_t n_row, struct arena *arena)
{
    struct list *list = arena_alloc(arena, (n + 1) * sizeof *list);
    size_t *first = arena_alloc(arena, (n + 1) * sizeof *first), n_list = 0, n_variant = 0,
           n_entry = 0;
    uint32_t *parameter = arena_alloc(arena, (n + 1) * sizeof *parameter),
             *index = arena_alloc(arena, (n + 1) * sizeof *index);
    uint32_t *row_variant = arena_alloc(arena, (n_row + 1) * sizeof *row_variant);
    if (!list || !first || !parameter || !index || !row_variant)
        return false;
    memset(row_variant, 0xff, n_row * sizeof *row_variant); /* EXPERIMENT_NONE */
    qsort(own, n, sizeof(struct substitute *), compare_rows);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || own[i - 1]->row != own[i]->row)
            list[n_list++] = (struct list){.substitute = &own[i]};
        list[n_list - 1].n++;
    }
    qsort(list, n_list, sizeof *list, compare_lists);
    first[0] = 0;
    for (size_t k = 0; k < n_list; k++) {
        bool is_new = k == 0 || compare_lists(&list[k - 1], &list[k]) != 0;
        for (size_t i = 0; is_new && i < list[k].n; i++, n_entry++) {
            parameter[n_entry] = list[k].substitute[i]->parameter;
            index[n_entry] = (uint32_t)(list[k].substitute[i] - substitute);
        }
        if (is_new)
            first[++n_variant] = n_entry;
        row_variant[list[k].substitute[0]->row] = (uint32_t)(n_variant - 1);
    }
    task->n_variant = n_variant;
    task->first_variant = first;
    task->variant_parameter = parameter;
    task->variant_substitute = index;
    task->row_variant = row_variant;
    return true;
}

bool ode_task_substitute(struct ode_task *task, size_t n_row, struct arena *arena)
{
    const struct substitute *substitute = task->experiment.substitute;
    const size_t n = task->experiment.n_substitute;
    bool has_times = false;
    size_t n_own = 0;
    for (size_t i = 0; i < n; i++) {
        has_times = has_times || substitute[i].time > -INFINITY;
        n_own += substitute[i].row < n_row;
    }
    if (has_times && !find_phases(task, n, substitute, arena))
        return false;
    if (n_own == 0)
        return true;
    const struct substitute **own = arena_alloc(arena, n_own * sizeof(struct substitute *));
    size_t k = 0;
    for (size_t i = 0; own && i < n; i++)
        if (substitute[i].row < n_row)
            own[k++] = &substitute[i];
    return own && find_variants(task, substitute, n_own, own, n_row, arena);
}
