/* Scales, bounds, fixed parameters and starts: the conversion between fit parameters and the model's.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/map.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REASON = 160 };
static const double LN10 = 2.302585092994045684;
/* Keeps these streams apart from those of other purposes. */
static const uint64_t PURPOSE = 0x6c68735f73746172; /* "lhs_star" */

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

static bool map_allocate(struct fit_map *map, struct arena *arena)
{
    size_t n = map->n_free + 1; /* avoids allocating zero bytes */
    map->model_index = arena_calloc(arena, n, sizeof *map->model_index);
    map->file_index = arena_calloc(arena, n, sizeof *map->file_index);
    map->scale = arena_calloc(arena, n, sizeof *map->scale);
    return map->model_index && map->file_index && map->scale
           && ARENA_DOUBLES(arena, {&map->start, n, 1}, {&map->lower, n, 1}, {&map->upper, n, 1}, {&map->natural_start, n, 1},
                            {&map->size, n, 1},
                            {&map->natural_lower, n, 1}, {&map->natural_upper, n, 1}, {&map->base, map->n_parameter, 1});
}

static const char *parameter_name(const struct fit_problem *problem, size_t i)
{
    bool has_name = problem->model->abi.parameter_name && problem->to_model[i] != FIT_NO_MODEL;
    return problem->parameter_name ? problem->parameter_name[i]
           : has_name              ? problem->model->abi.parameter_name[problem->to_model[i]]
                                   : "?";
}

/* Clips a start onto its bounds, unless it is kept. False, with a reason: impossible. */
static bool clip_start(const struct fit_problem *problem, size_t i, bool is_kept, double *start, uint32_t *notes, char *reason)
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
        snprintf(reason, REASON, "the bounds of parameter %s contain no value: lower %g, upper %g", name, lower, upper);
        return false;
    }
    double clipped = *start < lower ? lower : *start > upper ? upper : *start;
    if (clipped != *start && !is_kept) {
        *start = clipped;
        *notes |= NOTE_start_moved;
    }
    if (problem->scale[i] != SCALE_LIN && !(*start > 0)) {
        snprintf(reason, REASON, "parameter %s is fitted on a logarithmic scale but cannot start at %g", name, *start);
        return false;
    }
    return true;
}

static bool is_free(const struct fit_problem *problem, size_t i)
{
    return !(problem->fixed && problem->fixed[i]) && problem->lower[i] != problem->upper[i];
}

static void add_free(struct fit_map *map, const struct fit_problem *problem, size_t i, size_t i_model)
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

static bool fill_feeds(struct fit_map *map, const struct fit_problem *problem, uint32_t *theta_of, struct arena *arena)
{
    for (size_t i = 0; i < map->n_parameter; i++)
        theta_of[i] = FIT_NO_COLUMN;
    for (size_t j = 0; j < map->n_free; j++)
        theta_of[map->file_index[j]] = (uint32_t)j;
    map->binding = arena_calloc(arena, map->n_binding, sizeof *map->binding);
    for (size_t f = 0; map->binding && f < map->n_binding; f++) {
        struct fit_binding *binding = &map->binding[f];
        size_t first = problem->substitute ? problem->first_substitute[f] : 0;
        if (!fit_binding_init(binding, &problem->model->abi, map->n_parameter, problem->to_model, theta_of, &problem->task[f],
                           problem->substitute ? problem->first_substitute[f + 1] - first : 0,
                           problem->substitute ? problem->substitute + first : NULL, arena))
            return false;
        drop_columns(binding, map->n_free);
        binding->offset = map->n_of_model;
        map->n_of_model += fit_binding_n_number(binding);
    }
    return map->binding != NULL;
}

enum outcome fit_map_init(struct fit_map *map, const struct fit_problem *problem, bool keeps_starts, struct arena *arena,
                          uint32_t *notes, char *reason)
{
    size_t n = problem->n_parameter;
    memset(map, 0, sizeof *map);
    map->n_model = problem->model->abi.n_parameter;
    map->n_parameter = n;
    map->n_binding = problem->substitute ? problem->n_experiment : 1;
    for (size_t i = 0; i < n; i++)
        map->n_free += is_free(problem, i);
    uint32_t *order = arena_calloc(arena, map->n_model + 2 * n + 1, sizeof *order), *theta_of = order + map->n_model + n;
    if (!order || !map_allocate(map, arena)) {
        snprintf(reason, REASON, "no memory for %zu parameters", n);
        return OUTCOME_out_of_memory;
    }
    for (size_t i = 0; i < n; i++) {
        size_t place = problem->to_model[i] == FIT_NO_MODEL ? map->n_model + i : problem->to_model[i];
        order[place] = 1 + (uint32_t)i;
        if (!clip_start(problem, i, keeps_starts, &map->base[i], notes, reason))
            return OUTCOME_bad_data;
    }
    map->n_free = 0;
    for (size_t place = 0; place < map->n_model + n; place++)
        if (order[place] && is_free(problem, order[place] - 1))
            add_free(map, problem, order[place] - 1, place);
    if (fill_feeds(map, problem, theta_of, arena))
        return OUTCOME_converged;
    snprintf(reason, REASON, "no memory for %zu experiments", problem->n_experiment);
    return OUTCOME_out_of_memory;
}

void fit_map_model(const struct fit_map *map, const double *p, double *of_model)
{
    for (size_t f = 0; f < map->n_binding; f++)
        fit_binding_numbers(&map->binding[f], p, of_model + map->binding[f].offset);
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

void fit_map_chain(const struct fit_map *map, const double *p, double *chain)
{
    for (size_t j = 0; j < map->n_free; j++) {
        double natural = p[map->file_index[j]];
        chain[j] = map->scale[j] == SCALE_LIN ? 1 : map->scale[j] == SCALE_LOG ? natural : LN10 * natural;
    }
}

double fit_map_size(const struct fit_map *map, size_t j, double theta)
{
    return map->scale[j] == SCALE_LOG ? 1 : map->scale[j] == SCALE_LOG10 ? 1 / LN10 : fmax(fabs(theta), map->size[j]);
}

/* The box of random starts. */
static void window(const struct fit_map *map, size_t j, double *low, double *high)
{
    static const double DECADE[] = {[SCALE_LIN] = 0, [SCALE_LOG] = 2.302585092994045684, [SCALE_LOG10] = 1};
    double start = map->start[j];
    double reach = map->scale[j] != SCALE_LIN ? DECADE[map->scale[j]] : start != 0 ? fabs(start) : 1;
    *low = isfinite(map->lower[j]) ? map->lower[j] : start - reach;
    *high = isfinite(map->upper[j]) ? map->upper[j] : start + reach;
}

static double below(const struct fit_map *map, size_t j, const struct fit_prior *prior, double theta)
{
    return fit_prior_below(prior, prior->on_optimizer ? theta : fit_scale_to_natural(map->scale[j], theta));
}

/* The quantile of the prior between the bounds; NaN: it has no probability there. */
static double draw(const struct fit_map *map, size_t j, const struct fit_prior *prior, double place)
{
    double first = below(map, j, prior, map->lower[j]), last = below(map, j, prior, map->upper[j]);
    double wanted = first * (1 - place) + last * place, reach = 1;
    double low = fmax(map->lower[j], -reach), high = fmin(map->upper[j], reach);
    if (!(last > first) || !isfinite(wanted))
        return NAN;
    for (; low > map->lower[j] && below(map, j, prior, low) > wanted; reach *= 2)
        low = fmax(map->lower[j], -reach);
    for (reach = 1; high < map->upper[j] && below(map, j, prior, high) < wanted; reach *= 2)
        high = fmin(map->upper[j], reach);
    for (double middle; middle = low + 0.5 * (high - low), middle > low && middle < high;)
        *(below(map, j, prior, middle) < wanted ? &low : &high) = middle;
    return high;
}

/* Latin hypercube (McKay, Beckman & Conover 1979) without a table: each coordinate's permutation of the strata is computed only
 * for the requested row, so the cost of a start does not depend on their number. */
void fit_start_theta(const struct fit_map *map, const struct fit_prior *prior, uint64_t seed, uint64_t dataset,
                     uint32_t start_number, uint32_t n_start, double *theta)
{
    uint64_t n_row = n_start > 1 && start_number < n_start ? n_start - 1 : start_number;
    for (size_t j = 0; j < map->n_free; j++) {
        if (start_number == 0) {
            theta[j] = map->start[j];
            continue;
        }
        uint64_t stream = random_stream(random_stream(PURPOSE, dataset), map->model_index[j]);
        uint64_t stratum = random_permute(seed, stream, n_row, start_number - 1);
        double within = random_uniform(seed, stream, start_number);
        double low, high;
        window(map, j, &low, &high);
        double place = ((double)stratum + within) / (double)n_row;
        const struct fit_prior *own = prior ? &prior[map->file_index[j]] : NULL;
        double value = own && own->kind != PRIOR_NONE ? draw(map, j, own, place) : NAN;
        if (isnan(value))
            value = low * (1 - place) + high * place;
        theta[j] = value < map->lower[j] ? map->lower[j] : value > map->upper[j] ? map->upper[j] : value;
    }
}
