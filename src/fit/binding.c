/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/binding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAME = UINT32_MAX - 1 }; /* as in the phase before */

struct pair {
    uint32_t parameter, column;
    bool is_later; /* the parameter has this column in a later phase or a row only */
};

static int compare(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->is_later != b->is_later)
        return a->is_later ? 1 : -1;
    if (a->parameter != b->parameter)
        return a->parameter < b->parameter ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* Index of the phase that begins at this time, from 1; 0: the beginning. */
static size_t part_of(const struct ode_task *task, double time)
{
    size_t low = 0, high = task->n_phase;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (task->phase[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void set(struct fit_binding *binding, size_t i, const struct substitute *substitute)
{
    binding->from[i] = substitute->by;
    binding->number[i] = substitute->value;
}

static void fill(struct fit_binding *binding, const struct stiffit_model *model, size_t n_parameter, const uint32_t *to_model,
                 const struct ode_task *task, size_t n_substitute, const struct substitute *substitute)
{
    size_t n = binding->n_model, n_all = binding->n_part * n;
    for (size_t i = 0; i < n_all; i++)
        binding->from[i] = i < n ? EXPERIMENT_NUMBER : SAME;
    for (size_t k = 0; k < n; k++)
        binding->number[k] = model->parameter_start ? model->parameter_start[k] : (double)NAN;
    for (size_t i = 0; i < n_parameter; i++)
        if (to_model[i] != FIT_NO_MODEL)
            binding->from[to_model[i]] = (uint32_t)i;
    for (size_t s = 0; s < n_substitute; s++)
        if (substitute[s].row == EXPERIMENT_NONE)
            set(binding, part_of(task, substitute[s].time) * n + substitute[s].parameter, &substitute[s]);
    for (size_t i = n; i < n_all; i++)
        if (binding->from[i] == SAME) {
            binding->from[i] = binding->from[i - n];
            binding->number[i] = binding->number[i - n];
        }
    for (size_t i = 0; i < binding->n_own; i++)
        set(binding, n_all + i, &substitute[task->variant_substitute[i]]);
}

static uint32_t column_from(const uint32_t *column_of, uint32_t from)
{
    return from == EXPERIMENT_NUMBER ? FIT_NO_COLUMN : column_of[from];
}

static struct pair pair_of(const struct fit_binding *binding, const uint32_t *column_of, uint32_t parameter, uint32_t from)
{
    uint32_t column = column_from(column_of, from);
    return (struct pair){parameter, column, column_from(column_of, binding->from[parameter]) != column};
}

/* All pairs, sorted; most of the model's parameters have one. */
static size_t find_pairs(const struct fit_binding *binding, const uint32_t *column_of, const struct ode_task *task,
                         struct pair *pair)
{
    size_t n = binding->n_model, n_all = binding->n_part * n, n_pair = 0, n_distinct = 0;
    for (size_t i = 0; i < n_all + binding->n_own; i++) {
        uint32_t parameter = i < n_all ? (uint32_t)(i % n) : task->variant_parameter[i - n_all];
        bool is_new = i < n || i >= n_all || binding->from[i] != binding->from[i - n];
        if (is_new && column_from(column_of, binding->from[i]) != FIT_NO_COLUMN)
            pair[n_pair++] = pair_of(binding, column_of, parameter, binding->from[i]);
    }
    if (n_all + binding->n_own > n)
        qsort(pair, n_pair, sizeof *pair, compare);
    for (size_t k = 0; k < n_pair; k++)
        if (n_distinct == 0 || compare(&pair[n_distinct - 1], &pair[k]) != 0)
            pair[n_distinct++] = pair[k];
    return n_distinct;
}

bool fit_binding_init(struct fit_binding *binding, const struct stiffit_model *model, size_t n_parameter,
                      const uint32_t *to_model, const uint32_t *column_of, const struct ode_task *task,
                      size_t n_substitute, const struct substitute *substitute, struct arena *arena)
{
    size_t n = model->n_parameter, n_part = 1 + task->n_phase, n_own = ode_task_n_own(task), n_all = n_part * n;
    *binding = (struct fit_binding){.n_model = n, .n_part = n_part, .n_own = n_own};
    binding->from = arena_alloc(arena, (n_all + n_own) * sizeof *binding->from);
    binding->number = arena_calloc(arena, n_all + n_own, sizeof *binding->number);
    struct pair *pair = arena_alloc(arena, (n_all + n_own) * sizeof *pair);
    if (!binding->from || !binding->number || !pair)
        return false;
    fill(binding, model, n_parameter, to_model, task, n_substitute, substitute);
    size_t n_sens = binding->n_sens = find_pairs(binding, column_of, task, pair);
    binding->sens = arena_alloc(arena, (n_part * n_sens + 1) * sizeof *binding->sens);
    binding->column = arena_alloc(arena, (n_sens + 1) * sizeof *binding->column);
    binding->own_sens = arena_alloc(arena, (n_own + 1) * sizeof *binding->own_sens);
    if (!binding->sens || !binding->column || !binding->own_sens)
        return false;
    for (size_t j = 0; j < n_sens; j++) {
        binding->column[j] = pair[j].column;
        for (size_t r = 0; r < n_part; r++) {
            uint32_t now = column_from(column_of, binding->from[r * n + pair[j].parameter]);
            binding->sens[r * n_sens + j] = now == pair[j].column ? pair[j].parameter : ODE_NONE;
        }
    }
    for (size_t i = 0; i < n_own; i++) {
        struct pair own = pair_of(binding, column_of, task->variant_parameter[i], binding->from[n_all + i]);
        const struct pair *found = n_sens ? bsearch(&own, pair, n_sens, sizeof *pair, compare) : NULL;
        binding->own_sens[i] = found ? (uint32_t)(found - pair) : ODE_NONE;
    }
    return true;
}

void fit_binding_numbers(const struct fit_binding *binding, const double *p, double *number)
{
    for (size_t i = 0; i < fit_binding_n_number(binding); i++)
        number[i] = binding->from[i] == EXPERIMENT_NUMBER ? binding->number[i] : p[binding->from[i]];
}

void fit_model_parameters(const struct stiffit_model *model, size_t n_parameter, const uint32_t *to_model, const double *p,
                          size_t n_substitute, const struct substitute *substitute, double *of_model)
{
    for (size_t k = 0; k < model->n_parameter; k++)
        of_model[k] = model->parameter_start ? model->parameter_start[k] : (double)NAN;
    for (size_t i = 0; i < n_parameter; i++)
        if (to_model[i] != FIT_NO_MODEL)
            of_model[to_model[i]] = p[i];
    for (const struct substitute *s = substitute; s < substitute + n_substitute; s++)
        if (s->row == EXPERIMENT_NONE && s->time == -INFINITY)
            of_model[s->parameter] = s->by == EXPERIMENT_NUMBER ? s->value : p[s->by];
}
