/* Draws random starts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/start.h"

#include "base/random.h"

#include <math.h>

/* Keeps these streams apart from those of other purposes. */
static const uint64_t PURPOSE = 0x6c68735f73746172; /* "lhs_star" */

/* The box of random starts. */
static void window(const struct fit_map *map, size_t j, double *low, double *high)
{
    static const double DECADE[] = {[SCALE_LIN] = 0, [SCALE_LOG] = 2.302585092994045684,
                                    [SCALE_LOG10] = 1};
    double start = map->start[j];
    double reach = start != 0 ? fabs(start) : 1;
    if (map->scale[j] != SCALE_LIN)
        reach = DECADE[map->scale[j]];
    *low = isfinite(map->lower[j]) ? map->lower[j] : start - reach;
    *high = isfinite(map->upper[j]) ? map->upper[j] : start + reach;
}

static double below(enum parameter_scale scale, const struct fit_prior *prior, double theta)
{
    if (!prior->on_optimizer)
        theta = fit_scale_to_natural(scale, theta);
    return fit_prior_below(prior, theta);
}

double fit_start_quantile(const struct fit_prior *prior, enum parameter_scale scale, double lower,
                          double upper, double fraction)
{
    double first = below(scale, prior, lower), last = below(scale, prior, upper);
    double wanted = first * (1 - fraction) + last * fraction, reach = 1;
    double low = fmax(lower, -reach), high = fmin(upper, reach);
    if (!(last > first) || !isfinite(wanted))
        return NAN;
    for (; low > lower && below(scale, prior, low) > wanted; reach *= 2)
        low = fmax(lower, -reach);
    for (reach = 1; high < upper && below(scale, prior, high) < wanted; reach *= 2)
        high = fmin(upper, reach);
    for (double middle; middle = low + 0.5 * (high - low), middle > low && middle < high;)
        *(below(scale, prior, middle) < wanted ? &low : &high) = middle;
    return high;
}

/* Latin hypercube (McKay, Beckman & Conover 1979) without a table: each coordinate's permutation of
 * the strata is computed only for the requested row, so the cost of a start does not depend on
 * their number. */
void fit_start_theta(const struct fit_start *start, const struct fit_map *map,
                     const struct fit_prior *prior, double *theta)
{
    uint32_t number = start->number + start->n_redrawn * start->n_start;
    bool is_row = start->n_start > 1 && number < start->n_start;
    uint64_t n_row = is_row ? start->n_start - 1 : number;
    for (size_t j = 0; j < map->n_free; j++) {
        if (number == 0) {
            theta[j] = map->start[j];
            continue;
        }
        uint64_t stream = random_stream(random_stream(PURPOSE, start->dataset),
                                        map->model_index[j]);
        uint64_t stratum = random_permute(start->seed, stream, n_row, number - 1);
        double within = random_uniform(start->seed, stream, number);
        double low, high;
        window(map, j, &low, &high);
        double fraction = ((double)stratum + within) / (double)n_row;
        const struct fit_prior *own = prior ? &prior[map->file_index[j]] : NULL;
        double value = NAN;
        if (own && own->kind != PRIOR_NONE)
            value = fit_start_quantile(own, map->scale[j], map->lower[j], map->upper[j], fraction);
        if (isnan(value))
            value = low * (1 - fraction) + high * fraction;
        theta[j] = value;
        if (value < map->lower[j])
            theta[j] = map->lower[j];
        else if (value > map->upper[j])
            theta[j] = map->upper[j];
    }
}

bool fit_start_may_redraw(const struct fit_start *start, enum outcome outcome)
{
    bool has_failed = outcome == OUTCOME_ode_failed || outcome == OUTCOME_model_failed;
    return has_failed && start->number > 0 && start->n_redrawn < FIT_MAX_REDRAWN;
}

bool fit_start_redraw(struct fit_start *start, enum outcome outcome)
{
    bool may = fit_start_may_redraw(start, outcome);
    start->n_redrawn += may;
    return may;
}

/* Objectives this close, in units of the errors' variance, count as equal: -2 log likelihood
 * differs by 0.002. */
static const double SAME = 1e-3;

/* The objective, plus its possible error if the certificate's evaluation changed it. */
static double objective_at_most(const struct fit_record *record)
{
    bool is_off = record->notes & NOTE_not_certified && isfinite(record->tight_change);
    return record->objective + (is_off ? 2 * fabs(record->tight_change) : 0);
}

bool fit_start_beats(const struct fit_record *a, const struct fit_record *b)
{
    bool a_success = outcome_is_success((enum outcome)a->outcome),
         b_success = outcome_is_success((enum outcome)b->outcome);
    double f = objective_at_most(a), g = objective_at_most(b);
    bool a_short = a->outcome == OUTCOME_out_of_memory,
         b_short = b->outcome == OUTCOME_out_of_memory;
    if (a_short || b_short) /* it might have been the best one */
        return a_short && !b_short;
    if (isnan(f) || isnan(g))
        return !isnan(f);
    double variance = a->notes & NOTE_no_model_sigma
                          ? 2 * fmin(fabs(f), fabs(g)) / fmax(1, (double)a->n_freedom)
                          : 1;
    return a_success != b_success && fabs(f - g) <= SAME * variance ? a_success : f < g;
}

void fit_start_note(struct fit_record *best, double lowest_success)
{
    if (!outcome_is_success((enum outcome)best->outcome) && best->objective < lowest_success
        && isfinite(lowest_success))
        best->notes |= NOTE_lower_start;
}
