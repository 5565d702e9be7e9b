/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics/findings.h"

#include "fit/objective/prior.h"

#include <math.h>

static double log_prior(const struct fit_asker *asker, const struct fit_point *point)
{
    const struct fit_problem *problem = asker->problem;
    const struct fit_map *map = &asker->map;
    double sum = NAN;
    for (size_t j = 0; problem->prior && j < map->n_free; j++) {
        uint32_t i = map->file_index[j];
        const struct fit_prior *prior = &problem->prior[i];
        double ends[2] = {problem->lower[i], problem->upper[i]};
        for (int k = 0; k < 2 && prior->on_optimizer; k++)
            ends[k] = fit_scale_from_natural(map->scale[j], ends[k]);
        if (prior->kind == PRIOR_NONE)
            continue;
        double natural = point->p[i];
        if (natural < problem->lower[i] || natural > problem->upper[i])
            return -INFINITY;
        struct prior_terms terms =
            fit_prior_at(prior, point->theta[j], natural, 1, CURVATURE_ABOVE);
        sum = (isnan(sum) ? 0 : sum) - fit_prior_constant(prior, ends[0], ends[1]) -
              (terms.f - terms.rounding);
    }
    return sum;
}

static bool can_test(const struct fit_objective *objective)
{
    bool is_normal = !objective->measured.censored;
    for (size_t i = 0; i < objective->n_row && is_normal; i++)
        is_normal = error_kind_is_square(fit_objective_loss(objective, i)->error);
    return is_normal;
}

struct fit_findings fit_findings_begin(const struct fit_asker *asker, const struct fit_point *point)
{
    const struct fit_objective *objective = &asker->objective;
    struct fit_answer answer = fit_point_answer(asker, point);
    double size = fit_point_size(asker, point), n_row = (double)objective->n_row;
    return (struct fit_findings){
        .n = asker->map.n_free, .n_row = n_row,
        .criteria =
            fit_objective_criteria(objective, &answer, asker->problem->model->abi.n_observable),
        .log_prior = log_prior(asker, point), .has_prior = objective->n_prior > 0,
        .has_rows = point->d_prediction || asker->map.n_free == 0,
        .is_sigma_known = asker->is_sigma_known, .can_test = can_test(objective),
        .has_excess = fit_objective_has_excess(objective), .size = size,
        .error = fit_spectrum_unit(asker, asker->accuracy, size, n_row).error,
        .accuracy = fit_asker_accuracy(asker, asker->accuracy),
        .prediction_error = asker->prediction_error,
        .n_censored = objective->measured.censored ? objective->n_row : 0};
}

size_t fit_findings_arrays(const struct fit_findings *findings, struct fit_findings_arrays *arrays)
{
    size_t n = findings->n, n_censored = findings->n_censored, used = 0;
    struct fit_censored *censored = &arrays->censored;
    const struct {
        double **place;
        size_t n;
    } list[] = {{&arrays->theta, n},
                {&arrays->size, n},
                {&arrays->lower, n},
                {&arrays->upper, n},
                {&arrays->moves, n},
                {&arrays->beyond, n},
                {&arrays->excess, findings->has_excess ? n * n : 0},
                {&censored->slope, n_censored * n},
                {&censored->factor, n_censored},
                {&censored->curvature, n_censored},
                {&arrays->more, findings->n_more}};
    censored->n_row = n_censored;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        *list[k].place = findings->memory ? findings->memory + used : NULL;
        used += list[k].n;
    }
    return used;
}

/* What a parameter moves, where noise has parameters at all. */
static unsigned moves_of(const struct fit_objective *objective, const struct fit_point *point,
                         size_t j)
{
    const double *sigma = objective->measured.sigma;
    unsigned moves = 0;
    for (size_t i = 0; objective->has_noise && i < objective->n_row; i++) {
        size_t at = i + j * objective->n_row;
        bool is_own = sigma && !isnan(sigma[i]);
        moves |= point->d_prediction[at] != 0 ? MOVES_PREDICTION : 0;
        moves |= !is_own && point->d_noise[at] != 0 ? MOVES_NOISE : 0;
    }
    return moves;
}

void fit_findings_fill(const struct fit_findings *findings, const struct fit_asker *asker,
                       const struct fit_point *point)
{
    struct fit_findings_arrays arrays;
    struct fit_answer answer = fit_point_answer(asker, point);
    fit_findings_arrays(findings, &arrays);
    for (size_t j = 0; j < findings->n; j++) {
        arrays.theta[j] = point->theta[j];
        arrays.size[j] = asker->map.size[j];
        arrays.lower[j] = asker->map.lower[j];
        arrays.upper[j] = asker->map.upper[j];
        arrays.moves[j] = moves_of(&asker->objective, point, j);
    }
    if (findings->has_excess)
        fit_objective_excess(&asker->objective, &answer, arrays.excess);
    fit_censored_fill(&arrays.censored, asker, point);
}

struct fit_influence fit_findings_influence(const struct fit_findings *findings,
                                            const struct fit_findings_arrays *arrays, size_t j)
{
    unsigned moves = (unsigned)arrays->moves[j];
    return (struct fit_influence){.beyond = arrays->beyond[j],
                               .error = findings->error * findings->error,
                               .n_row = findings->n_row, .n_dataset = 1,
                               .n_prediction = (moves & MOVES_PREDICTION) != 0,
                               .n_noise = (moves & MOVES_NOISE) != 0};
}

double fit_influence_length(const struct fit_influence *column, const struct fit_map *map, size_t j,
                         double theta)
{
    const struct fit_spectrum_unit unit = {sqrt(column->error),
                                           FIT_QUOTIENT_ROUNDING * sqrt(column->n_row)};
    double length = sqrt(column->squares);
    return fit_spectrum_is_idle(map, j, theta, &unit, length, sqrt(column->beyond)) ? 0 : length;
}
