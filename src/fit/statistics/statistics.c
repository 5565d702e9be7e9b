/* Covariance through the singular values of the residuals' derivatives (fit/search/spectrum.h), and
 * sums over the measurements.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics/statistics.h"

#include "fit/objective/distribution.h"
#include "fit/objective/goodness.h"
#include "fit/objective/matrix.h"
#include "fit/statistics/observed.h"

#include <math.h>
#include <string.h>

struct work {
    const struct fit_whole *whole;
    const struct fit_portion *part;
    const struct fit_spectrum *spectrum;
    struct fit_findings_arrays arrays;
    struct fit_flat flat;
    double *u, *s, *v;       /* of the triangle, not normalised: n x n, n, n x n */
    double *covariance;      /* n x n, optimiser's scale, for sigma 1 */
};

static uint32_t file_index(const struct work *work, size_t c)
{
    return work->part->map->file_index[work->spectrum->loose[c]];
}

/* A flat direction if there is one, which does not depend on units; otherwise the last
 * eigenvector, its largest entry positive. */
static void fill_flattest(const struct work *work, struct fit_record *record)
{
    size_t n = work->spectrum->n, largest = 0;
    double *direction = work->s;
    if (work->flat.n_flat > 0)
        fit_flat_direction(&work->flat, direction, work->u);
    else
        memcpy(direction, work->v + (n - 1) * n, n * sizeof *direction);
    for (size_t c = 0; c < n; c++)
        largest = fabs(direction[c]) > FIT_FLAT_LARGER * fabs(direction[largest]) ? c : largest;
    for (size_t c = 0; c < n; c++)
        record->flattest[file_index(work, c)] =
            direction[largest] < 0 ? -direction[c] : direction[c];
}

static void fill_eigenvalues(struct work *work, struct fit_record *record)
{
    size_t n = work->spectrum->n;
    memcpy(work->u, work->spectrum->triangle, n * n * sizeof *work->u);
    matrix_singular(n, n, work->u, NULL, work->s, work->v);
    for (size_t c = 0; c < n; c++)
        record->eigenvalue[c] = work->s[c] * work->s[c];
}

/* Marks parameters that take part in directions that the data do not determine. */
static void mark_flat(struct work *work, struct fit_record *record, double factor)
{
    const struct fit_portion *part = work->part;
    struct fit_flat *flat = &work->flat;
    fit_flat_take(flat, part->spectrum);
    fit_flat_open(flat, &work->arrays.censored, part->map, work->arrays.theta, work->covariance,
                  work->u);
    record->notes |= flat->is_one_sided ? NOTE_one_sided : 0;
    if (!isnan(factor))
        fit_flat_widen(flat, part->map, work->covariance, factor);
    fit_flat_group(flat);
    record->n_flat = (int64_t)flat->n_flat;
    record->notes |= flat->n_flat > 0 ? NOTE_flat_direction : 0;
    for (size_t c = 0; c < work->spectrum->n; c++) {
        if (flat->group[c] == 0)
            continue;
        record->lack[file_index(work, c)] = LACK_flat;
        record->flat_group[file_index(work, c)] =
            (int8_t)(flat->group[c] < INT8_MAX ? flat->group[c] : INT8_MAX);
    }
}

/* The covariance along the known directions. */
static void fill_covariance(const struct work *work)
{
    const struct fit_spectrum *spectrum = work->spectrum;
    size_t n = spectrum->n;
    double *covariance = work->covariance;
    memset(covariance, 0, n * n * sizeof *covariance);
    for (size_t k = 0; k < spectrum->n_known; k++) {
        const double *part = spectrum->basis + k * n;
        size_t end = n; /* most of a triangle's inverse is zero */
        while (end > 0 && part[end - 1] == 0)
            end--;
        for (size_t c = 0; c < end; c++)
            for (size_t d = c; d < (work->part->is_small ? end : c + 1); d++)
                covariance[d + c * n] += part[c] * part[d];
    }
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < c; d++)
            covariance[d + c * n] = covariance[c + d * n];
}

/* The numbers are defined for each loss in struct fit_criteria. */
static void fill_criteria(const struct fit_whole *whole, const struct fit_findings *findings,
                          struct fit_record *record)
{
    const struct fit_criteria *criteria = &findings->criteria;
    double m = whole->n_row, share = m > 0 ? findings->n_row / m : 1,
           freedom = (double)record->n_freedom;
    double k = whole->n_fitted + (whole->is_sigma_known ? 0 : 1), deviance = criteria->deviance;
    if (!whole->is_sigma_known)
        deviance = fit_objective_deviance(criteria, findings->n_row, &whole->criteria, m);
    record->chi_square = criteria->chi_square;
    record->reduced_chi_square = freedom > 0 ? criteria->chi_square / (freedom * share) : NAN;
    record->residual_error =
        freedom > 0 ? fit_objective_common_scale(&whole->criteria, freedom) : NAN;
    record->r_squared =
        criteria->total_squares > 0 ? 1 - criteria->squares / criteria->total_squares : NAN;
    record->log_likelihood = -0.5 * deviance;
    record->log_prior = findings->log_prior;
    record->aic = deviance + 2 * k * share;
    record->aicc = m - k - 1 > 0 ? record->aic + 2 * k * (k + 1) / (m - k - 1) * share : NAN;
    record->bic = deviance + k * share * log(m);
}

/* The dataset's own parameters; a prior holds its parameter, which then takes up no degree of
 * freedom for certain; so do other datasets a parameter that they share. */
static void note_doubts(const struct work *work, struct fit_record *record)
{
    const struct fit_portion *part = work->part;
    const struct fit_findings *findings = part->findings;
    bool is_known = work->whole->is_sigma_known && record->n_noise == 0;
    double n_held = 0;
    record->n_own_noise = 0;
    for (size_t c = 0; c < work->spectrum->n; c++) {
        bool is_own = part->column[c].n_dataset == 1,
             is_noise = fit_influence_is_noise(&part->column[c]);
        record->n_own_noise += is_own && is_noise;
        n_held += is_own && !is_noise && !findings->has_prior;
    }
    if (findings->can_test
        && fit_goodness_is_poor(&findings->criteria, is_known, findings->n_row,
                                findings->n_row - n_held))
        record->notes |= NOTE_poor_fit;
    if (part->map->n_free > 0 && work->spectrum->n == 0)
        record->notes |= NOTE_all_at_bounds;
}

/* Standard error and interval of loose parameter c from its variance on the optimiser's scale. */
static void fill_parameter(const struct work *work, struct fit_record *record, size_t c,
                           double deviation, double quantile)
{
    const struct fit_map *map = work->part->map;
    size_t j = work->spectrum->loose[c], file = map->file_index[j];
    double theta = work->arrays.theta[j];
    record->standard_error[file] = deviation * fabs(work->part->chain[j]);
    record->interval_lower[file] =
        fit_scale_to_natural(map->scale[j], theta - quantile * deviation);
    record->interval_upper[file] =
        fit_scale_to_natural(map->scale[j], theta + quantile * deviation);
}

/* The factor of all standard errors, and the quantile of intervals. */
static double find_factor(const struct work *work, struct fit_record *record, double *quantile)
{
    const struct fit_whole *whole = work->whole;
    double p = 0.5 + 0.5 * whole->options->confidence, freedom = (double)record->n_freedom;
    if (record->n_noise > 0) {
        /* The likelihood's sigma is too small by the root of n / (n - p), with p excluding the
         * noise's own parameters (Pinheiro & Bates 2000, section 5.1.1), and has an error of its
         * own. */
        freedom += (double)record->n_noise;
        *quantile =
            freedom > 0 ? distribution_t_quantile(p, freedom) * sqrt(whole->n_row / freedom) : NAN;
        return 1;
    }
    if (whole->is_sigma_known) {
        *quantile = distribution_normal_quantile(p);
        return 1;
    }
    /* Residuals that are the integrator's errors are not a random sample, and the parameters
     * follow them: a change of the predictions by d moves no parameter by more than |d| times
     * its standard error for sigma 1 (Cauchy and Schwarz). */
    bool is_exact = whole->prediction_error > record->residual_error;
    record->notes |= is_exact ? NOTE_noise_floor : 0;
    *quantile = freedom > 0 ? distribution_t_quantile(p, freedom) : NAN;
    return is_exact ? whole->prediction_error : record->residual_error;
}

/* The covariance on the natural scale; for a sigma of 1 if it cannot be estimated. */
static void fill_pairs(const struct work *work, struct fit_record *record, double factor)
{
    const struct fit_portion *part = work->part;
    size_t n = work->spectrum->n, n_parameter = part->n_parameter;
    double variance = isnan(factor) ? 1 : factor * factor;
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d <= c; d++) {
            size_t j = work->spectrum->loose[c], l = work->spectrum->loose[d];
            size_t column = file_index(work, c), row = file_index(work, d);
            if (record->lack[column] != LACK_flat && record->lack[row] != LACK_flat)
                record->covariance[row + column * n_parameter] =
                    record->covariance[column + row * n_parameter] =
                        variance * work->covariance[d + c * n] * part->chain[j] * part->chain[l];
        }
}

static void fill_errors(struct work *work, struct fit_record *record)
{
    const struct fit_portion *part = work->part;
    size_t n = work->spectrum->n;
    double quantile, factor = find_factor(work, record, &quantile);
    mark_flat(work, record, factor);
    for (size_t c = 0; c < n; c++) {
        uint8_t *lack = &record->lack[file_index(work, c)];
        if (*lack == LACK_none && isnan(factor))
            *lack = LACK_freedom;
        if (*lack == LACK_none)
            fill_parameter(work, record, c, factor * sqrt(work->covariance[c + c * n]), quantile);
    }
    if (record->covariance && part->is_small)
        fill_pairs(work, record, factor);
}

bool fit_statistics_fill(struct fit_record *record, const struct fit_whole *whole,
                         const struct fit_portion *part, struct arena *arena)
{
    struct work work = {.whole = whole, .part = part, .spectrum = part->spectrum};
    size_t n_free = part->map->n_free, n = part->spectrum->n;
    fit_findings_arrays(part->findings, &work.arrays);
    if (!fit_flat_init(&work.flat, n_free, arena) ||
        !ARENA_DOUBLES(arena, {&work.u, n_free, n_free}, {&work.v, n_free, n_free},
                       {&work.covariance, n_free, n_free}, {&work.s, n_free, 1}))
        return false;
    for (size_t i = 0; i < part->n_parameter; i++)
        record->lack[i] = LACK_fixed;
    for (size_t j = 0; j < n_free; j++)
        record->lack[part->map->file_index[j]] = LACK_at_bound;
    for (size_t c = 0; c < n; c++)
        record->lack[file_index(&work, c)] = LACK_none;
    record->n_flat = 0;
    record->n_freedom = (int64_t)whole->n_row - (int64_t)whole->n_fitted;
    record->n_noise = (size_t)whole->n_noise;
    record->notes |= whole->is_observed ? 0 : NOTE_expected_information;
    if (work.spectrum->n_idle > 0)
        record->notes |= work.spectrum->n_idle == n ? NOTE_no_signal : NOTE_no_influence;
    fill_criteria(whole, part->findings, record);
    note_doubts(&work, record);
    if (n == 0)
        return true;
    if (part->is_small)
        fill_eigenvalues(&work, record);
    fill_covariance(&work);
    fill_errors(&work, record);
    if (part->is_small)
        fill_flattest(&work, record);
    return true;
}

void fit_portion_decompose(const struct fit_portion *part, double accuracy)
{
    struct fit_spectrum *spectrum = part->spectrum;
    struct fit_findings_arrays arrays;
    fit_findings_arrays(part->findings, &arrays);
    for (size_t c = 0; c < spectrum->n; c++) {
        struct fit_influence column = part->column[c];
        size_t j = spectrum->loose[c];
        if (column.n_dataset == 1)
            column.squares = matrix_squares(c + 1, spectrum->triangle + c * spectrum->n);
        spectrum->scale[c] = fit_influence_length(&column, part->map, j, arrays.theta[j]);
    }
    fit_spectrum_decompose(spectrum, accuracy);
}

void fit_statistics_describe(struct fit_record *record, const struct fit_whole *whole,
                             const struct fit_findings *findings, size_t n_parameter)
{
    record->n_freedom = (int64_t)whole->n_row - (int64_t)whole->n_fitted;
    fill_criteria(whole, findings, record);
    if (!whole->options->evaluates)
        return;
    record->aic = record->aicc = record->bic = NAN;
    for (size_t i = 0; i < n_parameter; i++)
        record->lack[i] = LACK_fixed;
}

double fit_statistics_rise(const struct fit_record *best, size_t n_row, double confidence)
{
    double n = (double)n_row, freedom = (double)best->n_freedom;
    if (best->n_noise > 0 && freedom + (double)best->n_noise > 0) {
        freedom += (double)best->n_noise;
        return 0.5 * n * log1p(distribution_f_quantile(confidence, 1, freedom) / freedom);
    }
    if (!(best->notes & NOTE_no_model_sigma))
        return 0.5 * distribution_chi_square_quantile(confidence, 1);
    return 0.5 * best->chi_square / freedom * distribution_f_quantile(confidence, 1, freedom);
}
