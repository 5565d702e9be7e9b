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
    map->feed = arena_calloc(arena, map->n_feed, sizeof *map->feed);
    for (size_t f = 0; f < map->n_feed; f++) {
        uint32_t *indices = arena_calloc(arena, 3 * map->n_model, sizeof *indices);
        if (!map->feed || !indices || !ARENA_DOUBLES(arena, {&map->feed[f].number, map->n_model, 1}))
            return false;
        map->feed[f].from = indices;
        map->feed[f].sens = indices + map->n_model;
        map->feed[f].column = indices + 2 * map->n_model;
    }
    map->model_index = arena_calloc(arena, n, sizeof *map->model_index);
    map->file_index = arena_calloc(arena, n, sizeof *map->file_index);
    map->scale = arena_calloc(arena, n, sizeof *map->scale);
    return map->model_index && map->file_index && map->scale
           && ARENA_DOUBLES(arena, {&map->start, n, 1}, {&map->lower, n, 1}, {&map->upper, n, 1}, {&map->natural_start, n, 1},
                            {&map->natural_lower, n, 1}, {&map->natural_upper, n, 1}, {&map->base, map->n_parameter, 1});
}

static const char *parameter_name(const struct fit_problem *problem, size_t i)
{
    bool has_name = problem->model->abi.parameter_name && problem->to_model[i] != FIT_NO_MODEL;
    return problem->parameter_name ? problem->parameter_name[i]
           : has_name              ? problem->model->abi.parameter_name[problem->to_model[i]]
                                   : "?";
}

/* Clips a start onto its bounds. False, with a reason: impossible. */
static bool clip_start(const struct fit_problem *problem, size_t i, double *start, uint32_t *notes, char *reason)
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
    if (clipped != *start) {
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
    map->natural_lower[j] = problem->lower[i];
    map->natural_upper[j] = problem->upper[i];
    map->start[j] = fit_scale_from_natural(scale, map->natural_start[j]);
    map->lower[j] = fit_scale_from_natural(scale, problem->lower[i]);
    map->upper[j] = fit_scale_from_natural(scale, problem->upper[i]);
}

/* What each of the model's parameters is without substitutes. */
static void fill_feed(const struct fit_problem *problem, struct fit_feed *feed)
{
    const struct stiffit_model *model = &problem->model->abi;
    for (size_t k = 0; k < model->n_parameter; k++) {
        feed->from[k] = EXPERIMENT_NUMBER;
        feed->number[k] = model->parameter_start ? model->parameter_start[k] : (double)NAN;
    }
    for (size_t i = 0; i < problem->n_parameter; i++)
        if (problem->to_model[i] != FIT_NO_MODEL)
            feed->from[problem->to_model[i]] = (uint32_t)i;
}

/* theta_of: by index in p, the index in theta, or n_free. */
static void finish_feed(const struct fit_map *map, const uint32_t *theta_of, struct fit_feed *feed)
{
    bool is_plain = true;
    for (uint32_t k = 0; k < map->n_model; k++) {
        uint32_t j = feed->from[k] == EXPERIMENT_NUMBER ? (uint32_t)map->n_free : theta_of[feed->from[k]];
        if (j == map->n_free)
            continue;
        is_plain = is_plain && j == feed->n_sens;
        feed->column[feed->n_sens] = j;
        feed->sens[feed->n_sens++] = k;
    }
    if (is_plain && feed->n_sens == map->n_free)
        feed->column = NULL;
}

static void fill_feeds(struct fit_map *map, const struct fit_problem *problem, uint32_t *theta_of)
{
    for (size_t i = 0; i < map->n_parameter; i++)
        theta_of[i] = (uint32_t)map->n_free;
    for (size_t j = 0; j < map->n_free; j++)
        theta_of[map->file_index[j]] = (uint32_t)j;
    for (size_t f = 0; f < map->n_feed; f++) {
        struct fit_feed *feed = &map->feed[f];
        fill_feed(problem, feed);
        for (size_t s = problem->substitute ? problem->first_substitute[f] : 0;
             problem->substitute && s < problem->first_substitute[f + 1]; s++) {
            feed->from[problem->substitute[s].parameter] = problem->substitute[s].by;
            feed->number[problem->substitute[s].parameter] = problem->substitute[s].value;
        }
        finish_feed(map, theta_of, feed);
    }
}

enum outcome fit_map_init(struct fit_map *map, const struct fit_problem *problem, struct arena *arena, uint32_t *notes,
                          char *reason)
{
    size_t n = problem->n_parameter;
    memset(map, 0, sizeof *map);
    map->n_model = problem->model->abi.n_parameter;
    map->n_parameter = n;
    map->n_feed = problem->substitute ? problem->n_experiment : 1;
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
        if (!clip_start(problem, i, &map->base[i], notes, reason))
            return OUTCOME_bad_data;
    }
    map->n_free = 0;
    for (size_t place = 0; place < map->n_model + n; place++)
        if (order[place] && is_free(problem, order[place] - 1))
            add_free(map, problem, order[place] - 1, place);
    fill_feeds(map, problem, theta_of);
    return OUTCOME_converged;
}

void fit_map_model(const struct fit_map *map, const double *p, double *of_model)
{
    for (size_t f = 0; f < map->n_feed; f++, of_model += map->n_model)
        for (size_t k = 0; k < map->n_model; k++) {
            uint32_t from = map->feed[f].from[k];
            of_model[k] = from == EXPERIMENT_NUMBER ? map->feed[f].number[k] : p[from];
        }
}

void fit_model_parameters(const struct stiffit_model *model, size_t n_parameter, const uint32_t *to_model, const double *p,
                          size_t n_substitute, const struct substitute *substitute, double *of_model)
{
    for (size_t k = 0; k < model->n_parameter; k++)
        of_model[k] = model->parameter_start ? model->parameter_start[k] : (double)NAN;
    for (size_t i = 0; i < n_parameter; i++)
        if (to_model[i] != FIT_NO_MODEL)
            of_model[to_model[i]] = p[i];
    for (size_t s = 0; s < n_substitute; s++)
        of_model[substitute[s].parameter] = substitute[s].by == EXPERIMENT_NUMBER ? substitute[s].value : p[substitute[s].by];
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
    return map->scale[j] == SCALE_LOG ? 1 : map->scale[j] == SCALE_LOG10 ? 1 / LN10 : fmax(fabs(theta), fabs(map->start[j]));
}

/* The box of random starts. */
static void window(const struct fit_map *map, size_t j, double *low, double *high)
{
    static const double DECADE[] = {[SCALE_LIN] = 0, [SCALE_LOG] = 2.302585092994045684, [SCALE_LOG10] = 1};
    double start = map->start[j];
    double reach = map->scale[j] == SCALE_LIN ? fmax(1, fabs(start)) : DECADE[map->scale[j]];
    *low = isfinite(map->lower[j]) ? map->lower[j] : start - reach;
    *high = isfinite(map->upper[j]) ? map->upper[j] : start + reach;
}

/* Latin hypercube (McKay, Beckman & Conover 1979) without a table: each coordinate's permutation of the strata is computed only
 * for the requested row, so the cost of a start does not depend on their number. */
void fit_start_theta(const struct fit_map *map, uint64_t seed, uint64_t dataset, uint32_t start_number,
                     uint32_t n_start, double *theta)
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
        double value = low * (1 - place) + high * place;
        theta[j] = value < map->lower[j] ? map->lower[j] : value > map->upper[j] ? map->upper[j] : value;
    }
}
