/* Scales, bounds and fixed parameters: the conversion between fit parameters and the model's, in
 * each experiment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON = 160 };
enum { SAME = UINT32_MAX - 1 }; /* as in the phase before */
static const double LN10 = 2.302585092994045684;

double fit_scale_from_natural(enum parameter_scale scale, double natural)
{
    if (scale == SCALE_LIN)
        return natural;
    if (natural <= 0)
        return -INFINITY;
    return scale == SCALE_LOG ? log(natural) : log10(natural);
}

double fit_scale_to_natural(enum parameter_scale scale, double value)
{
    if (scale == SCALE_LIN)
        return value;
    return scale == SCALE_LOG ? exp(value) : exp(LN10 * value);
}

struct pair {
    uint32_t parameter, column;
    bool is_later; /* the parameter has this column in a later phase or a row only */
};

static int compare_pairs(const void *left, const void *right)
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

static void set_number(struct fit_binding *binding, size_t i, const struct substitute *substitute)
{
    binding->from[i] = substitute->by;
    binding->number[i] = substitute->value;
}

static void fill_numbers(struct fit_binding *binding, const struct stiffit_model *model,
                         size_t n_parameter, const uint32_t *to_model, const struct ode_task *task)
{
    const struct substitute *substitute = task->experiment.substitute;
    size_t n = binding->n_model, n_all = binding->n_part * n;
    for (size_t i = 0; i < n_all; i++)
        binding->from[i] = i < n ? EXPERIMENT_NUMBER : SAME;
    for (size_t k = 0; k < n; k++)
        binding->number[k] = model->parameter_start ? model->parameter_start[k] : (double)NAN;
    for (size_t i = 0; i < n_parameter; i++)
        if (to_model[i] != FIT_NO_MODEL)
            binding->from[to_model[i]] = (uint32_t)i;
    for (size_t s = 0; s < task->experiment.n_substitute; s++)
        if (substitute[s].row == EXPERIMENT_NONE)
            set_number(binding, part_of(task, substitute[s].time) * n + substitute[s].parameter,
                       &substitute[s]);
    for (size_t i = n; i < n_all; i++)
        if (binding->from[i] == SAME) {
            binding->from[i] = binding->from[i - n];
            binding->number[i] = binding->number[i - n];
        }
    for (size_t i = 0; i < binding->n_own; i++)
        set_number(binding, n_all + i, &substitute[task->variant_substitute[i]]);
}

static uint32_t column_from(const uint32_t *column_of, uint32_t from)
{
    return from == EXPERIMENT_NUMBER ? FIT_NO_COLUMN : column_of[from];
}

static struct pair pair_of(const struct fit_binding *binding, const uint32_t *column_of,
                           uint32_t parameter, uint32_t from)
{
    uint32_t column = column_from(column_of, from);
    return (struct pair){parameter, column,
                         column_from(column_of, binding->from[parameter]) != column};
}

/* All pairs, sorted; most of the model's parameters have one. */
static size_t find_pairs(const struct fit_binding *binding, const uint32_t *column_of,
                         const struct ode_task *task, struct pair *pair)
{
    size_t n = binding->n_model, n_all = binding->n_part * n, n_pair = 0, n_distinct = 0;
    for (size_t i = 0; i < n_all + binding->n_own; i++) {
        uint32_t parameter = i < n_all ? (uint32_t)(i % n) : task->variant_parameter[i - n_all];
        bool is_new = i < n || i >= n_all || binding->from[i] != binding->from[i - n];
        if (is_new && column_from(column_of, binding->from[i]) != FIT_NO_COLUMN)
            pair[n_pair++] = pair_of(binding, column_of, parameter, binding->from[i]);
    }
    if (n_all + binding->n_own > n)
        qsort(pair, n_pair, sizeof *pair, compare_pairs);
    for (size_t k = 0; k < n_pair; k++)
        if (n_distinct == 0 || compare_pairs(&pair[n_distinct - 1], &pair[k]) != 0)
            pair[n_distinct++] = pair[k];
    return n_distinct;
}

bool fit_binding_init(struct fit_binding *binding, const struct stiffit_model *model,
                      size_t n_parameter, const uint32_t *to_model, const uint32_t *column_of,
                      const struct ode_task *task, struct arena *arena)
{
    size_t n = model->n_parameter, n_part = 1 + task->n_phase, n_own = ode_task_n_own(task),
           n_all = n_part * n;
    *binding = (struct fit_binding){.n_model = n, .n_part = n_part, .n_own = n_own};
    binding->from = arena_alloc(arena, (n_all + n_own) * sizeof *binding->from);
    binding->number = arena_calloc(arena, n_all + n_own, sizeof *binding->number);
    struct pair *pair = arena_alloc(arena, (n_all + n_own) * sizeof *pair);
    if (!binding->from || !binding->number || !pair)
        return false;
    fill_numbers(binding, model, n_parameter, to_model, task);
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
        struct pair own = pair_of(binding, column_of, task->variant_parameter[i],
                                  binding->from[n_all + i]);
        const struct pair *found = n_sens ? bsearch(&own, pair, n_sens, sizeof *pair, compare_pairs)
                                          : NULL;
        binding->own_sens[i] = found ? (uint32_t)(found - pair) : ODE_NONE;
    }
    return true;
}

void fit_binding_numbers(const struct fit_binding *binding, const double *p, double *number)
{
    for (size_t i = 0; i < fit_binding_n_number(binding); i++)
        number[i] = binding->from[i] == EXPERIMENT_NUMBER ? binding->number[i]
                                                          : p[binding->from[i]];
}

void fit_model_parameters(const struct stiffit_model *model, size_t n_parameter,
                          const uint32_t *to_model, const double *p, size_t n_substitute,
                          const struct substitute *substitute, double *of_model)
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

static bool map_allocate(struct fit_map *map, struct arena *arena)
{
    size_t n = map->n_free + 1; /* avoids allocating zero bytes */
    map->model_index = arena_calloc(arena, n, sizeof *map->model_index);
    map->file_index = arena_calloc(arena, n, sizeof *map->file_index);
    map->scale = arena_calloc(arena, n, sizeof *map->scale);
    return map->model_index && map->file_index && map->scale &&
           ARENA_DOUBLES(arena, {&map->start, n, 1}, {&map->lower, n, 1}, {&map->upper, n, 1},
                         {&map->natural_start, n, 1}, {&map->size, n, 1},
                         {&map->natural_lower, n, 1}, {&map->natural_upper, n, 1},
                         {&map->base, map->n_parameter, 1});
}

static const char *parameter_name(const struct fit_problem *problem, size_t i)
{
    bool has_name = problem->model->abi.parameter_name && problem->to_model[i] != FIT_NO_MODEL;
    return problem->parameter_name ? problem->parameter_name[i]
           : has_name              ? problem->model->abi.parameter_name[problem->to_model[i]]
                                   : "?";
}

/* Clips a start onto its bounds, unless it is kept. False, with a reason: impossible. */
static bool clip_start(const struct fit_problem *problem, size_t i, bool is_kept, double *start,
                       uint32_t *notes, char *reason)
{
    double lower = problem->lower[i], upper = problem->upper[i];
    const char *name = parameter_name(problem, i);
    *start = problem->start[i];
    if (!isfinite(*start)) {
        snprintf(reason, REASON, "the start of parameter %s is not a finite number", name);
        return false;
    }
    if (problem->fixed && problem->fixed[i])
        return true;
    if (!(lower <= upper) || lower == INFINITY || upper == -INFINITY) {
        snprintf(reason, REASON, "the bounds of parameter %s contain no value: lower %g, upper %g",
                 name, lower, upper);
        return false;
    }
    double clipped = *start < lower ? lower : *start > upper ? upper : *start;
    if (clipped != *start && !is_kept) {
        *start = clipped;
        *notes |= NOTE_start_moved;
    }
    if (problem->scale[i] != SCALE_LIN && !(*start > 0)) {
        snprintf(reason, REASON,
                 "parameter %s is fitted on a logarithmic scale but cannot start at %g", name,
                 *start);
        return false;
    }
    return true;
}

static bool is_free(const struct fit_problem *problem, size_t i)
{
    return !(problem->fixed && problem->fixed[i]) && problem->lower[i] != problem->upper[i];
}

static void add_free(struct fit_map *map, const struct fit_problem *problem, size_t i,
                     size_t i_model)
{
    size_t j = map->n_free++;
    enum parameter_scale scale = problem->scale[i];
    map->model_index[j] = (uint32_t)i_model;
    map->file_index[j] = (uint32_t)i;
    map->scale[j] = scale;
    map->natural_start[j] = map->base[i];
    map->natural_lower[j] = fmin(problem->lower[i], map->base[i]);
    map->natural_upper[j] = fmax(problem->upper[i], map->base[i]);
    map->start[j] = fit_scale_from_natural(scale, map->natural_start[j]);
    map->size[j] = fabs(map->start[j]);
    map->lower[j] = fit_scale_from_natural(scale, map->natural_lower[j]);
    map->upper[j] = fit_scale_from_natural(scale, map->natural_upper[j]);
}

/* No columns are those of theta itself. */
static void drop_columns(struct fit_binding *binding, size_t n_free)
{
    bool is_plain = binding->n_part == 1 && binding->n_own == 0 && binding->n_sens == n_free;
    for (size_t j = 0; j < binding->n_sens; j++)
        is_plain = is_plain && binding->column[j] == j;
    binding->column = is_plain ? NULL : binding->column;
}

struct fit_binding *fit_map_bindings(const struct fit_map *map, const struct fit_problem *problem,
                                     const bool *is_wanted, struct arena *arena)
{
    uint32_t *theta_of = arena_alloc(arena, (map->n_parameter + 1) * sizeof *theta_of);
    struct fit_binding *bindings = arena_calloc(arena, map->n_binding, sizeof *bindings);
    size_t offset = 0;
    for (size_t i = 0; theta_of && i < map->n_parameter; i++)
        theta_of[i] = FIT_NO_COLUMN;
    for (size_t j = 0; theta_of && j < map->n_free; j++)
        if (!is_wanted || is_wanted[j])
            theta_of[map->file_index[j]] = (uint32_t)j;
    for (size_t f = 0; theta_of && bindings && f < map->n_binding; f++) {
        struct fit_binding *binding = &bindings[f];
        if (!fit_binding_init(binding, &problem->model->abi, map->n_parameter, problem->to_model,
                              theta_of, &problem->task[f], arena))
            return NULL;
        drop_columns(binding, map->n_free);
        binding->offset = offset;
        offset += fit_binding_n_number(binding);
    }
    return theta_of ? bindings : NULL;
}

static bool has_substitutes(const struct fit_problem *problem)
{
    bool any = false;
    for (size_t e = 0; e < problem->n_experiment; e++)
        any = any || problem->task[e].experiment.n_substitute;
    return any;
}

enum outcome fit_map_init(struct fit_map *map, const struct fit_problem *problem, bool keeps_starts,
                          struct arena *arena, uint32_t *notes, char *reason)
{
    size_t n = problem->n_parameter;
    memset(map, 0, sizeof *map);
    map->n_model = problem->model->abi.n_parameter;
    map->n_parameter = n;
    map->n_binding = has_substitutes(problem) || problem->varies ? problem->n_experiment : 1;
    for (size_t i = 0; i < n; i++)
        map->n_free += is_free(problem, i);
    uint32_t *order = arena_calloc(arena, map->n_model + n + 1, sizeof *order);
    if (!order || !map_allocate(map, arena)) {
        snprintf(reason, REASON, "no memory for %zu parameters", n);
        return OUTCOME_out_of_memory;
    }
    for (size_t i = 0; i < n; i++) {
        size_t place =
            problem->to_model[i] == FIT_NO_MODEL ? map->n_model + i : problem->to_model[i];
        order[place] = 1 + (uint32_t)i;
        if (!clip_start(problem, i, keeps_starts, &map->base[i], notes, reason))
            return OUTCOME_bad_data;
    }
    map->n_free = 0;
    for (size_t place = 0; place < map->n_model + n; place++)
        if (order[place] && is_free(problem, order[place] - 1))
            add_free(map, problem, order[place] - 1, place);
    map->binding = fit_map_bindings(map, problem, NULL, arena);
    for (size_t f = 0; map->binding && f < map->n_binding; f++)
        map->n_of_model += fit_binding_n_number(&map->binding[f]);
    if (map->binding)
        return OUTCOME_converged;
    snprintf(reason, REASON, "no memory for %zu experiments", problem->n_experiment);
    return OUTCOME_out_of_memory;
}

void fit_map_model(const struct fit_map *map, const double *p, double *of_model)
{
    for (size_t f = 0; f < map->n_binding; f++)
        fit_binding_numbers(&map->binding[f], p, of_model + map->binding[f].offset);
}

bool fit_map_model_by(const struct fit_map *map, const double *theta, const double *by,
                      double *moved, double *p, double *of_model)
{
    for (size_t f = 0; f < map->n_binding; f++) {
        for (size_t j = 0; j < map->n_free; j++)
            moved[j] = theta[j] + by[j + f * map->n_free];
        if (!fit_map_natural(map, moved, p))
            return false;
        fit_binding_numbers(&map->binding[f], p, of_model + map->binding[f].offset);
    }
    return true;
}

bool fit_map_natural(const struct fit_map *map, const double *theta, double *p)
{
    memcpy(p, map->base, map->n_parameter * sizeof *p);
    for (size_t j = 0; j < map->n_free; j++) {
        double natural;
        if (theta[j] == map->start[j])
            natural = map->natural_start[j];
        else if (theta[j] <= map->lower[j])
            natural = map->natural_lower[j];
        else if (theta[j] >= map->upper[j])
            natural = map->natural_upper[j];
        else {
            natural = fit_scale_to_natural(map->scale[j], theta[j]);
            /* Rounding of log and exp must not move it out of the bounds. */
            natural = natural < map->natural_lower[j] ? map->natural_lower[j] : natural;
            natural = natural > map->natural_upper[j] ? map->natural_upper[j] : natural;
        }
        if (!isfinite(natural) || (map->scale[j] != SCALE_LIN && !(natural > 0)))
            return false;
        p[map->file_index[j]] = natural;
    }
    return true;
}

void fit_map_at_bound(const struct fit_map *map, const double *p, int8_t *at_bound)
{
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = p[map->file_index[j]];
        int8_t lowest = natural <= map->natural_lower[j] ? -1 : 0;
        at_bound[map->file_index[j]] = lowest == 0 && natural >= map->natural_upper[j] ? 1 : lowest;
    }
}

void fit_map_chain(const struct fit_map *map, const double *p, double *chain)
{
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = p[map->file_index[j]];
        chain[j] = map->scale[j] == SCALE_LIN   ? 1
                   : map->scale[j] == SCALE_LOG ? natural
                                                : LN10 * natural;
    }
}

double fit_map_size(const struct fit_map *map, size_t j, double theta)
{
    return map->scale[j] == SCALE_LOG     ? 1
           : map->scale[j] == SCALE_LOG10 ? 1 / LN10
                                          : fmax(fabs(theta), map->size[j]);
}
