/* Covariance through the singular values of the residuals' derivatives (fit/spectrum.h), and sums over the measurements.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics.h"

#include "fit/distribution.h"
#include "fit/flat.h"
#include "fit/matrix.h"
#include "fit/spectrum.h"

#include <math.h>
#include <string.h>

/* A chi-square this large or larger has at most this probability if the model is right: the fit is poor. */
static const double POOR_PROBABILITY = 1e-6;

struct work {
    const struct fit_asker *asker;
    const struct fit_point *point;
    struct fit_spectrum spectrum;
    struct fit_flat flat;
    double *u, *s, *v;       /* of the triangle, not normalised: n x n, n, n x n */
    double *covariance;      /* n x n, optimiser's scale, for sigma 1 */
};

static bool work_init(struct work *work, const struct fit_asker *asker, const struct fit_point *point, struct arena *arena)
{
    size_t n = asker->map.n_free;
    *work = (struct work){.asker = asker, .point = point};
    if (asker->spectrum && asker->spectrum_point == point && fit_spectrum_serves(asker->spectrum, asker, point))
        work->spectrum = *asker->spectrum;
    else if (fit_spectrum_init(&work->spectrum, asker, arena))
        fit_spectrum_take(&work->spectrum, asker, point, true);
    else
        return false;
    return fit_flat_init(&work->flat, n, arena)
           && ARENA_DOUBLES(arena, {&work->u, n, n}, {&work->v, n, n}, {&work->covariance, n, n}, {&work->s, n, 1});
}

static uint32_t file_index(const struct work *work, size_t c)
{
    return work->asker->map.file_index[work->spectrum.loose[c]];
}

/* A flat direction if there is one, which does not depend on units; otherwise the last eigenvector, its largest entry
 * positive. */
static void fill_flattest(const struct work *work, struct fit_record *record)
{
    size_t n = work->spectrum.n, largest = 0;
    double *direction = work->s;
    if (work->flat.n_flat > 0)
        fit_flat_direction(&work->flat, direction, work->u);
    else
        memcpy(direction, work->v + (n - 1) * n, n * sizeof *direction);
    for (size_t c = 0; c < n; c++)
        largest = fabs(direction[c]) > fabs(direction[largest]) ? c : largest;
    for (size_t c = 0; c < n; c++)
        record->flattest[file_index(work, c)] = direction[largest] < 0 ? -direction[c] : direction[c];
}

static void fill_eigenvalues(struct work *work, struct fit_record *record)
{
    size_t n = work->spectrum.n;
    memcpy(work->u, work->spectrum.triangle, n * n * sizeof *work->u);
    matrix_singular(n, n, work->u, NULL, work->s, work->v);
    for (size_t c = 0; c < n; c++)
        record->eigenvalue[c] = work->s[c] * work->s[c];
}

/* Marks parameters that take part in directions that the data do not determine. */
static void mark_flat(struct work *work, struct fit_record *record, double factor)
{
    struct fit_flat *flat = &work->flat;
    fit_flat_take(flat, &work->spectrum);
    fit_flat_open(flat, work->asker, work->point, work->covariance, work->u);
    record->notes |= flat->is_one_sided ? NOTE_one_sided : 0;
    if (!isnan(factor))
        fit_flat_widen(flat, &work->asker->map, work->covariance, factor);
    fit_flat_group(flat);
    record->n_flat = (int64_t)flat->n_flat;
    record->notes |= flat->n_flat > 0 ? NOTE_flat_direction : 0;
    for (size_t c = 0; c < work->spectrum.n; c++) {
        if (flat->group[c] == 0)
            continue;
        record->lack[file_index(work, c)] = LACK_flat;
        record->flat_group[file_index(work, c)] = (int8_t)(flat->group[c] < INT8_MAX ? flat->group[c] : INT8_MAX);
    }
}

/* The covariance along the known directions. */
static void fill_covariance(const struct work *work)
{
    const struct fit_spectrum *spectrum = &work->spectrum;
    size_t n = spectrum->n;
    double *covariance = work->covariance;
    memset(covariance, 0, n * n * sizeof *covariance);
    for (size_t k = 0; k < spectrum->n_known; k++) {
        const double *part = spectrum->basis + k * n;
        size_t end = n; /* most of a triangle's inverse is zero */
        while (end > 0 && part[end - 1] == 0)
            end--;
        for (size_t c = 0; c < end; c++)
            for (size_t d = c; d < end; d++)
                covariance[d + c * n] += part[c] * part[d];
    }
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < c; d++)
            covariance[d + c * n] = covariance[c + d * n];
}

double fit_statistics_log_prior(const struct fit_asker *asker, const struct fit_point *point)
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
        struct prior_terms terms = fit_prior_at(prior, point->theta[j], natural, 1, CURVATURE_ABOVE);
        sum = (isnan(sum) ? 0 : sum) - fit_prior_constant(prior, ends[0], ends[1]) - (terms.f - terms.rounding);
    }
    return sum;
}

/* The numbers are defined for each loss in struct fit_criteria. */
static void fill_criteria(const struct work *work, struct fit_record *record)
{
    const struct fit_objective *objective = &work->asker->objective;
    struct fit_answer answer = fit_point_answer(work->asker, work->point);
    struct fit_criteria criteria = fit_objective_criteria(objective, &answer, work->asker->problem->model->abi.n_observable);
    double m = (double)objective->n_row, k = (double)work->spectrum.n + (work->asker->is_sigma_known ? 0 : 1);
    double deviance = work->asker->is_sigma_known ? criteria.deviance : criteria.deviance_scaled;
    record->chi_square = criteria.chi_square;
    record->reduced_chi_square = record->n_freedom > 0 ? criteria.chi_square / (double)record->n_freedom : NAN;
    record->residual_error = record->n_freedom > 0 ? fit_objective_common_scale(&criteria, (double)record->n_freedom) : NAN;
    record->r_squared = criteria.total_squares > 0 ? 1 - criteria.squares / criteria.total_squares : NAN;
    record->log_likelihood = -0.5 * deviance;
    record->log_prior = fit_statistics_log_prior(work->asker, work->point);
    record->aic = deviance + 2 * k;
    record->aicc = m - k - 1 > 0 ? record->aic + 2 * k * (k + 1) / (m - k - 1) : NAN;
    record->bic = deviance + k * log(m);
}

bool fit_statistics_can_test(const struct fit_asker *asker, bool estimates_noise)
{
    const struct fit_objective *objective = &asker->objective;
    bool is_normal = asker->is_sigma_known && !estimates_noise && !objective->measured.censored;
    for (size_t i = 0; i < objective->n_row && is_normal; i++)
        is_normal = error_kind_is_square(fit_objective_loss(objective, i)->error);
    return is_normal;
}

bool fit_statistics_is_poor(double chi_square, double freedom)
{
    return freedom > 0 && !(1 - distribution_chi_square(chi_square, freedom) >= POOR_PROBABILITY);
}

/* A prior holds its parameter, which then takes up no degree of freedom for certain. */
static void note_doubts(const struct work *work, struct fit_record *record)
{
    const struct fit_objective *objective = &work->asker->objective;
    double freedom = objective->n_prior ? (double)objective->n_row : (double)record->n_freedom;
    if (fit_statistics_can_test(work->asker, record->n_noise > 0) && fit_statistics_is_poor(record->chi_square, freedom))
        record->notes |= NOTE_poor_fit;
    if (work->asker->map.n_free > 0 && work->spectrum.n == 0)
        record->notes |= NOTE_all_at_bounds;
}

/* Standard error and interval of loose parameter c from its variance on the optimiser's scale. */
static void fill_parameter(const struct work *work, struct fit_record *record, size_t c, double deviation,
                           double quantile)
{
    const struct fit_map *map = &work->asker->map;
    size_t j = work->spectrum.loose[c], file = map->file_index[j];
    double theta = work->point->theta[j];
    record->standard_error[file] = deviation * fabs(work->point->chain[j]);
    record->interval_lower[file] = fit_scale_to_natural(map->scale[j], theta - quantile * deviation);
    record->interval_upper[file] = fit_scale_to_natural(map->scale[j], theta + quantile * deviation);
}

/* Counts the parameters that affect only the noise: standard deviations estimated along with the others. */
static size_t count_noise(const struct work *work)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t n_row = objective->n_row, count = 0;
    for (size_t c = 0; objective->has_noise && c < work->spectrum.n; c++) {
        size_t first = work->spectrum.loose[c] * n_row;
        bool moves_noise = false, moves_prediction = false;
        for (size_t i = 0; i < n_row; i++) {
            bool own = objective->measured.sigma && !isnan(objective->measured.sigma[i]);
            moves_prediction = moves_prediction || work->point->d_prediction[first + i] != 0;
            moves_noise = moves_noise || (!own && work->point->d_noise[first + i] != 0);
        }
        count += moves_noise && !moves_prediction;
    }
    return count;
}

static void fill_errors(struct work *work, struct fit_record *record)
{
    const struct fit_map *map = &work->asker->map;
    size_t n = work->spectrum.n, n_parameter = work->asker->problem->n_parameter;
    double p = 0.5 + 0.5 * work->asker->options->confidence, freedom = (double)record->n_freedom, factor = 1, quantile;
    if (record->n_noise > 0) {
        /* The likelihood's sigma is too small by the root of n / (n - p), with p excluding the noise's own parameters (Pinheiro
         * & Bates 2000, section 5.1.1), and has an error of its own. */
        double n_row = (double)work->asker->objective.n_row;
        freedom += (double)record->n_noise;
        quantile = freedom > 0 ? distribution_t_quantile(p, freedom) * sqrt(n_row / freedom) : NAN;
    } else if (work->asker->is_sigma_known) {
        quantile = distribution_normal_quantile(p);
    } else {
        /* Residuals that are the integrator's errors are not a random sample, and the parameters follow them: a change of the
         * predictions by d moves no parameter by more than |d| times its standard error for sigma 1 (Cauchy and Schwarz). */
        bool is_exact = work->asker->prediction_error > record->residual_error;
        factor = is_exact ? work->asker->prediction_error : record->residual_error;
        record->notes |= is_exact ? NOTE_noise_floor : 0;
        quantile = freedom > 0 ? distribution_t_quantile(p, freedom) : NAN;
    }
    mark_flat(work, record, factor);
    for (size_t c = 0; c < n; c++) {
        uint8_t *lack = &record->lack[file_index(work, c)];
        if (*lack == LACK_none && isnan(factor))
            *lack = LACK_freedom;
        if (*lack == LACK_none)
            fill_parameter(work, record, c, factor * sqrt(work->covariance[c + c * n]), quantile);
    }
    for (size_t c = 0; record->covariance && c < n; c++)
        for (size_t d = 0; d <= c; d++) {
            size_t j = work->spectrum.loose[c], l = work->spectrum.loose[d];
            size_t column = map->file_index[j], row = map->file_index[l];
            if (record->lack[column] == LACK_none && record->lack[row] == LACK_none)
                record->covariance[row + column * n_parameter] = record->covariance[column + row * n_parameter]
                    = factor * factor * work->covariance[d + c * n] * work->point->chain[j] * work->point->chain[l];
        }
}

bool fit_statistics_compute(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point,
                            struct arena *arena)
{
    struct work work;
    bool is_observed;
    for (size_t i = 0; i < asker->problem->n_parameter; i++)
        record->lack[i] = LACK_fixed;
    record->n_flat = 0;
    if (!work_init(&work, asker, point, arena))
        return false;
    for (size_t j = 0; j < asker->map.n_free; j++)
        record->lack[asker->map.file_index[j]] = LACK_at_bound;
    if (!fit_spectrum_observe(&work.spectrum, asker, point, arena, &is_observed))
        return false;
    size_t n = work.spectrum.n;
    for (size_t c = 0; c < n; c++)
        record->lack[file_index(&work, c)] = LACK_none;
    record->n_freedom = (int64_t)asker->objective.n_row - (int64_t)n;
    record->n_noise = count_noise(&work);
    record->notes |= is_observed ? 0 : NOTE_expected_information;
    if (work.spectrum.n_idle > 0)
        record->notes |= work.spectrum.n_idle == n ? NOTE_no_signal : NOTE_no_influence;
    fill_criteria(&work, record);
    note_doubts(&work, record);
    if (n > 0) {
        fill_eigenvalues(&work, record);
        fill_covariance(&work);
        fill_errors(&work, record);
        fill_flattest(&work, record);
    }
    return true;
}

void fit_statistics_describe(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point)
{
    struct work work = {.asker = asker, .point = point};
    bool is_fitted = !asker->options->evaluates;
    for (size_t j = 0; j < asker->map.n_free; j++)
        work.spectrum.n += is_fitted && !fit_point_is_held(&asker->map, point, j);
    record->n_freedom = (int64_t)asker->objective.n_row - (int64_t)work.spectrum.n;
    fill_criteria(&work, record);
    if (is_fitted)
        return;
    record->aic = record->aicc = record->bic = NAN;
    for (size_t i = 0; i < asker->problem->n_parameter; i++)
        record->lack[i] = LACK_fixed;
}
