/* What a fit with random parameters says of the population, once it has ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/pass.h"

#include "fit/objective/matrix.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Steps of the differences for second derivatives, in standard errors: on both sides; or on one, at
 * half the cost, where datasets are ENOUGH for third derivatives to matter little and a pass
 * costs much, because more than FEW_RANDOM parameters are random. */
static const double BOTH_SIDES = 0.03, ONE_SIDE = 0.01;
/* An estimate that others can make up for has a standard error far beyond what it has alone, and
 * the likelihood is no parabola over such a step. */
static const double MOST = 100;
/* A direction is flat if its curvature is less than this part of the largest one, in units of the
 * estimates' own; differences of gradients may make it negative, and are less accurate by then. An
 * estimate belongs to it if it moves by more than PART of the one that moves most. */
static const double FLAT = 1e-6, NOT_DEFINITE = 1e-2, PART = 0.1;
/* Second derivatives of many datasets serve where -log likelihood differs by no more from that
 * where they were taken. */
static const double MOVED = 0.02;
enum { ENOUGH = 200, FEW_RANDOM = 2 };

/* Whether the factor's entry k, or standard deviation, is in a column with a diagonal entry of
 * 0. */
static bool is_in_zero_column(const struct mixed *mixed, size_t k)
{
    size_t s = mixed->progress.s, column = mixed->column[k - s];
    for (size_t j = s; j < mixed->m; j++)
        if (mixed->row[j - s] == column && mixed->column[j - s] == column)
            return mixed->point.theta[j] == 0;
    return false;
}

/* The estimates that a bound holds, or a variance of 0: `loose` lists the others. */
static size_t find_loose(const struct mixed *mixed, uint32_t *loose)
{
    size_t n = 0, s = mixed->progress.s;
    for (uint32_t k = 0; k < mixed->m; k++) {
        bool is_zero = k >= s && is_in_zero_column(mixed, k);
        if (!is_zero && !fit_point_is_held(&mixed->asker.map, &mixed->point, k))
            loose[n++] = k;
    }
    return n;
}

/* The inverse of the rows and columns `index` of a matrix. False: it is not positive definite. */
static bool invert(size_t m, const double *matrix, size_t k, const uint32_t *index, double *factor,
                   double *inverse)
{
    if (!matrix_factor(m, matrix, k, index, factor))
        return false;
    matrix_inverse(k, factor, inverse);
    return true;
}

/* What the errors are computed from: m x m each but the indices. */
struct errors {
    size_t n;
    uint32_t *loose;
    bool *is_observed; /* m */
    double *products, *inverse, *factor, *work;
    double *estimate_by; /* derivatives of the result's estimates by those of the search */
};

/* Which second derivatives are observed: those by two estimates for which this is true. Not if
 * the covariance is singular, but for variances of 0 whose rows and columns are 0. */
static void find_observed(const struct mixed *mixed, bool *is_observed)
{
    const struct mixed_progress *progress = &mixed->progress;
    const double *entry = mixed->point.theta + progress->s;
    size_t n_entry = progress->n_factor + progress->q, r = progress->r;
    bool is_good = mixed_observes(mixed);
    for (size_t k = 0; k < mixed->m; k++)
        is_observed[k] = false;
    for (size_t k = 0; k < n_entry; k++)
        is_observed[progress->s + k] = true;
    for (size_t d = 0; d < n_entry; d++) {
        size_t a = mixed->row[d];
        if (a != mixed->column[d])
            continue;
        if (a < r)
            is_observed[mixed->random[a]] = entry[d] != 0;
        for (size_t k = 0; k < n_entry && entry[d] == 0; k++)
            if (mixed->row[k] == a || mixed->column[k] == a) {
                is_observed[progress->s + k] = false;
                is_good = is_good && entry[k] == 0;
            }
    }
    for (size_t k = 0; k < mixed->m; k++)
        is_observed[k] = is_observed[k] && is_good;
}

static bool make_errors(struct mixed *mixed, struct errors *errors)
{
    size_t m = mixed->m;
    struct arena *arena = mixed->joint->arena;
    errors->loose = arena_calloc(arena, m + 1, sizeof *errors->loose);
    errors->is_observed = arena_calloc(arena, m + 1, sizeof *errors->is_observed);
    if (!errors->loose || !errors->is_observed
        || !ARENA_DOUBLES(arena, {&errors->products, m, m}, {&errors->inverse, m, m},
                          {&errors->factor, m, m},
                          {&errors->work, m, 3 * m}, {&errors->estimate_by, m, m}))
        return false;
    errors->n = find_loose(mixed, errors->loose);
    find_observed(mixed, errors->is_observed);
    return true;
}

/* The derivatives of the gradient by estimate k, with a step of h or two: a column of
 * mixed->second. */
static enum asked differ_by(struct mixed *mixed, uint32_t k, double h, bool is_one_sided)
{
    size_t m = mixed->m;
    double *column = mixed->second + k * m;
    memcpy(column, mixed->slope, m * sizeof *column);
    for (int side = is_one_sided ? 1 : -1; side <= 1; side += 2) {
        memcpy(mixed->trial, mixed->point.theta, m * sizeof(double));
        mixed->trial[k] += side * h;
        enum asked asked = mixed_run(mixed, JOINT_UPPER, mixed->trial);
        if (asked != ASKED_OK) {
            memset(column, 0, m * sizeof *column);
            return asked;
        }
        for (size_t j = 0; j < m; j++)
            column[j] = side > 0 ? mixed->sum[1 + j] - column[j] : mixed->sum[1 + j];
    }
    for (size_t j = 0; j < m; j++)
        column[j] /= is_one_sided ? h : 2 * h;
    return ASKED_OK;
}

/* Whether the datasets' own levels are enough for the differences: they are for estimates of shared
 * parameters alone, which change little of the integrands. */
static bool are_own_enough(const struct mixed *mixed, const struct errors *errors)
{
    for (size_t c = 0; c < errors->n; c++) {
        uint32_t k = errors->loose[c];
        bool is_shared = k < mixed->progress.s;
        for (size_t a = 0; a < mixed->progress.r; a++)
            is_shared = is_shared && mixed->random[a] != k;
        if (!is_shared && !errors->is_observed[k])
            return false;
    }
    return true;
}

/* By differences, with steps of parts of standard errors. */
static enum asked differ(struct mixed *mixed, struct errors *errors)
{
    size_t m = mixed->m;
    bool is_one_sided = mixed->joint->part.n_all >= ENOUGH && mixed->progress.r > FEW_RANDOM;
    bool is_exact = mixed->progress.phase == MIXED_EXACT;
    double part = is_one_sided ? ONE_SIDE : BOTH_SIDES;
    bool is_good = invert(m, mixed->curvature, errors->n, errors->loose, errors->factor,
                          errors->inverse);
    enum mixed_level before = mixed->progress.level;
    enum asked asked = ASKED_OK;
    mixed->progress.level = is_exact && !are_own_enough(mixed, errors) ? MIXED_ERRORS : MIXED_OWN;
    memcpy(mixed->slope, mixed->point.gradient, m * sizeof(double));
    if (is_one_sided && mixed->progress.level != before) {
        asked = mixed_run(mixed, JOINT_UPPER, mixed->point.theta);
        memcpy(mixed->slope, mixed->sum + 1, m * sizeof(double));
    }
    for (size_t c = 0; c < errors->n && asked == ASKED_OK; c++) {
        uint32_t k = errors->loose[c];
        double alone = 1 / fmax(mixed->curvature[k + k * m], DBL_MIN);
        double variance = is_good ? fmin(errors->inverse[c + c * errors->n], MOST * alone) : alone;
        if (!errors->is_observed[k])
            asked = differ_by(mixed, k, part * sqrt(variance), is_one_sided);
    }
    return asked;
}

enum asked mixed_differ(struct mixed *mixed)
{
    size_t m = mixed->m;
    struct errors errors;
    if (!make_errors(mixed, &errors))
        return joint_end_short(mixed->joint);
    memset(mixed->second, 0, m * m * sizeof *mixed->second);
    enum asked asked = differ(mixed, &errors);
    for (size_t c = 0; c < m; c++)
        for (size_t d = 0; d < c; d++) {
            double *one = &mixed->second[d + c * m], *other = &mixed->second[c + d * m];
            bool has_both = errors.is_observed[c] == errors.is_observed[d];
            *one = *other = has_both ? 0.5 * (*one + *other) : *one + *other;
        }
    return asked;
}

/* Whether second derivatives by all these estimates are known. */
static bool has_second(const struct mixed *mixed, const struct errors *errors)
{
    for (size_t c = 0; c < errors->n; c++)
        if (!errors->is_observed[errors->loose[c]]
            && mixed->second[errors->loose[c] * (mixed->m + 1)] == 0)
            return false;
    return errors->n > 0;
}

/* Whether the last stage, before which they were taken, has moved away from where they were. Of few
 * datasets the likelihood may hardly change over steps that change its curvature. */
static bool has_moved(const struct mixed *mixed)
{
    const struct mixed_progress *progress = &mixed->progress;
    double change = fabs(progress->first_f - mixed->point.f);
    return progress->phase == MIXED_EXACT && progress->level == MIXED_FINER
           && change > (mixed_are_few(mixed) ? 0 : MOVED);
}

bool mixed_observe(struct mixed *mixed)
{
    size_t m = mixed->m;
    const double *observed = mixed->sum + 1 + m;
    struct errors errors;
    if (!make_errors(mixed, &errors))
        return false;
    for (size_t c = 0; c < m; c++)
        for (size_t d = c; d < m; d++, observed++)
            if (errors.is_observed[c] && errors.is_observed[d])
                mixed->second[d + c * m] = mixed->second[c + d * m] = *observed;
    if (!has_second(mixed, &errors)
        || !invert(m, mixed->second, errors.n, errors.loose, errors.factor, errors.inverse))
        return true;
    for (size_t c = 0; c < errors.n; c++)
        for (size_t d = 0; d < errors.n; d++) {
            size_t entry = errors.loose[c] + errors.loose[d] * m;
            mixed->curvature[entry] = mixed->second[entry];
        }
    return true;
}

/* The place of estimate k, which is not fixed, in the result's; means and shared values are in
 * the file's order there. */
static size_t place_of(const struct mixed *mixed, size_t k)
{
    const struct mixed_result *result = &mixed->result;
    size_t s = mixed->progress.s, n_mean = 0;
    for (size_t a = 0; a < result->r; a++) {
        if (mixed->random[a] == k)
            return n_mean;
        n_mean += !result->is_fixed[a];
    }
    if (k >= s)
        return n_mean + (k - s);
    size_t at = result->m - result->s;
    while (result->shared[at - (result->m - result->s)] != mixed->joint->above.list[k].file_index)
        at++;
    return at;
}

/* Whether covariance entry e is part of a block that is singular without a variance of 0, as with a
 * correlation of 1: a parameter's deviation is a combination of those of others. Its estimate lies
 * at the border of what is possible, where second derivatives say nothing of its error. */
static bool is_at_border(const struct mixed *mixed, const double *factor, size_t e)
{
    size_t r = mixed->progress.r, ends[2] = {mixed->row[e], mixed->column[e]};
    for (size_t c = 0; c < r; c++) {
        bool is_combined[2] = {false, false}, is_zero = true;
        for (size_t k = 0; k < c && factor[c + c * r] == 0; k++)
            for (size_t i = 0; i < 2 && factor[c + k * r] != 0; i++) {
                is_zero = false;
                is_combined[i] = is_combined[i] || ends[i] == c || factor[ends[i] + k * r] != 0;
            }
        if (!is_zero && is_combined[0] && is_combined[1])
            return true;
    }
    return false;
}

/* How the result's estimates change with the search's: covariances L L' with the factor. Those at
 * the border have none, and so no errors. */
static void set_derivatives(const struct mixed *mixed, const double *factor, double *by)
{
    size_t m = mixed->m, s = mixed->progress.s, r = mixed->progress.r, n = mixed->progress.n_factor;
    memset(by, 0, m * m * sizeof *by);
    for (size_t k = 0; k < s; k++)
        if (!mixed_is_fixed(mixed, k))
            by[place_of(mixed, k) + k * m] = 1;
    for (size_t k = s + n; k < m; k++)
        by[place_of(mixed, k) + k * m] = 2 * mixed->point.theta[k];
    for (size_t e = 0; e < n; e++)
        for (size_t k = 0; k < n && !is_at_border(mixed, factor, e); k++) {
            size_t i = mixed->row[e], j = mixed->column[e], a = mixed->row[k], c = mixed->column[k];
            by[place_of(mixed, s + e) + (s + k) * m] =
                (i == a ? factor[j + c * r] : 0) + (j == a ? factor[i + c * r] : 0);
        }
}

/* Errors of the result's estimates from a covariance of the search's loose ones. */
static void put_errors(const struct mixed *mixed, const struct errors *errors,
                       const double *covariance, double *error, double *matrix)
{
    size_t m = mixed->m, n_estimate = mixed->result.m, n = errors->n;
    for (size_t i = 0; i < n_estimate; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0, own = 0;
            for (size_t c = 0; c < n; c++) {
                double by = errors->estimate_by[i + errors->loose[c] * m];
                own += fabs(by);
                for (size_t d = 0; d < n && by != 0; d++)
                    sum +=
                        by * covariance[c + d * n] * errors->estimate_by[j + errors->loose[d] * m];
            }
            sum = covariance == NULL || own == 0 ? NAN : sum;
            if (i == j)
                error[i] = sqrt(sum);
            if (matrix)
                matrix[i + j * n_estimate] = matrix[j + i * n_estimate] = sum;
        }
}

static void set_missing(double *numbers, size_t n)
{
    for (size_t k = 0; k < n; k++)
        numbers[k] = NAN;
}

/* The ratio of the largest to the smallest eigenvalue of the correlation matrix of n estimates of
 * the search, which are not functions of each other. */
static double condition_of(size_t n, const double *covariance, struct arena *arena)
{
    double *matrix, *values, *vectors;
    if (n == 0 || !ARENA_DOUBLES(arena, {&matrix, n, n}, {&values, n, 1}, {&vectors, n, n}))
        return NAN;
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < n; d++)
            matrix[d + c * n] = covariance[d + c * n]
                                / sqrt(covariance[c + c * n] * covariance[d + d * n]);
    matrix_singular(n, n, matrix, NULL, values, vectors);
    return values[0] / values[n - 1];
}

/* Marks the estimates that the flattest direction moves if the likelihood is flat along it, as the
 * second derivatives tell, with one unit of curvature for each estimate. False: out of memory. */
static bool mark_flat(struct mixed *mixed, const struct errors *errors, bool is_definite,
                      struct arena *arena)
{
    size_t m = mixed->m, n = errors->n;
    double *matrix, *values, *vectors, most = 0;
    if (!ARENA_DOUBLES(arena, {&matrix, n, n}, {&values, n, 1}, {&vectors, n, n}))
        return false;
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < n; d++) {
            size_t i = errors->loose[c], j = errors->loose[d];
            double size = mixed->second[i + i * m] * mixed->second[j + j * m];
            matrix[d + c * n] = size > 0 ? mixed->second[j + i * m] / sqrt(size) : 0;
        }
    matrix_singular(n, n, matrix, NULL, values, vectors);
    if (n == 0 || values[n - 1] > (is_definite ? FLAT : NOT_DEFINITE) * values[0])
        return true;
    const double *direction = vectors + (n - 1) * n;
    for (size_t c = 0; c < n; c++)
        most = fmax(most, fabs(direction[c]));
    for (size_t c = 0; c < n; c++)
        mixed->result.is_flat[place_of(mixed, errors->loose[c])] =
            fabs(direction[c]) > PART * most;
    return true;
}

/* Standard errors from the second derivatives, from the outer products, and robust ones. False:
 * out of memory. */
static bool find_errors(struct mixed *mixed, struct errors *errors, struct arena *arena)
{
    struct mixed_result *result = &mixed->result;
    size_t m = mixed->m, n = errors->n;
    double *left = errors->work, *robust = left + m * m, *inverse = errors->inverse;
    bool is_definite = invert(m, mixed->second, n, errors->loose, errors->factor, inverse);
    set_missing(result->standard_error, result->m);
    set_missing(result->error_covariance, result->m * result->m);
    set_missing(result->by_scores, result->m);
    set_missing(result->sandwich, result->m);
    result->condition = is_definite ? condition_of(n, inverse, arena) : (double)NAN;
    if (is_definite) {
        put_errors(mixed, errors, inverse, result->standard_error, result->error_covariance);
        for (size_t c = 0; c < n; c++)
            for (size_t d = 0; d < n; d++) {
                double sum = 0;
                for (size_t e = 0; e < n; e++)
                    sum += errors->products[errors->loose[c] + errors->loose[e] * m] *
                           inverse[e + d * n];
                left[c + d * n] = sum;
            }
        for (size_t c = 0; c < n; c++)
            for (size_t d = 0; d < n; d++)
                robust[c + d * n] = matrix_dot(n, inverse + c * n, left + d * n);
        put_errors(mixed, errors, robust, result->sandwich, NULL);
    }
    if (mixed->joint->part.n_all > n
        && invert(m, errors->products, n, errors->loose, errors->factor, inverse))
        put_errors(mixed, errors, inverse, result->by_scores, NULL);
    return mark_flat(mixed, errors, is_definite, arena);
}

/* The variances of the random parameters, given the data. */
static void variances_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    size_t r = mixed->progress.r;
    double weight = mixed_weight(mixed, block);
    for (size_t a = 0; a < r; a++) {
        double deviation = mixed_block_of(block)->deviation[a];
        number[a] = weight * deviation * deviation;
    }
}

static double has_rows(const struct joint_block *block) { return block->n_row > 0; }

static void rounding_of(const void *context, const struct joint_block *block, double *number)
{
    *number = mixed_weight(context, block) * mixed_block_of(block)->rounding;
}

/* Mean, covariance, shared values, and shrinkage. */
static enum asked put_estimates(struct mixed *mixed, const double *factor, struct arena *arena)
{
    struct mixed_result *result = &mixed->result;
    const struct joint *joint = mixed->joint;
    size_t r = result->r, s = mixed->progress.s, n_shared = 0;
    double n = mixed->n_dataset, *sum;
    if (!ARENA_DOUBLES(arena, {&sum, r, 1}))
        return joint_end_short(mixed->joint);
    for (size_t a = 0; a < r; a++) {
        result->random[a] = joint->above.list[mixed->random[a]].file_index;
        result->mean[a] = mixed->point.theta[mixed->random[a]];
    }
    for (size_t a = 0; a < r; a++)
        for (size_t e = 0; e < r; e++)
            for (size_t c = 0; c < r; c++)
                result->covariance[e + a * r] += factor[e + c * r] * factor[a + c * r];
    for (size_t o = 0; o < result->q; o++) {
        double deviation = mixed->point.theta[s + mixed->progress.n_factor + o];
        result->occasion[o] = joint->above.list[mixed->random[r + o]].file_index;
        result->variance[o] = deviation * deviation;
    }
    for (size_t k = 0; k < mixed->progress.n_factor; k++)
        result->is_estimated[mixed->row[k] + mixed->column[k] * r] =
            result->is_estimated[mixed->column[k] + mixed->row[k] * r] = 1;
    for (uint32_t j = 0; j < joint->n_parameter; j++)
        for (size_t k = 0; k < s; k++)
            if (joint->above.list[k].file_index == j && !mixed->levels.random[j]
                && !mixed_is_fixed(mixed, k)) {
                result->shared[n_shared] = j;
                result->value[n_shared++] = mixed->point.theta[k];
            }
    if (!joint_totals(joint, r, variances_of, mixed, sum))
        return joint_end_short(mixed->joint);
    for (size_t a = 0; a < r; a++) {
        double population = result->covariance[a + a * r];
        result->shrinkage[a] = population > 0 ? sum[a] / n / population : NAN;
    }
    return ASKED_OK;
}

/* The exact likelihood's last stage, if the search did not come to it: the samples of the last pass
 * are compared with its values. False: the fit must end. */
static bool has_last_stage(struct mixed *mixed)
{
    if (mixed->progress.phase != MIXED_EXACT || mixed->progress.level == MIXED_FINER)
        return true;
    mixed->progress.level = MIXED_FINER;
    if (mixed_run_at_best(mixed, JOINT_UPPER) != ASKED_OK)
        return false;
    mixed_keep_found(mixed);
    return true;
}

static bool begin_result(struct mixed *mixed)
{
    struct mixed_result *result = &mixed->result;
    size_t r = mixed->progress.r, n_fixed = mixed->m - mixed_n_estimate(mixed), n_fixed_mean = 0;
    for (size_t a = 0; a < r; a++)
        n_fixed_mean += mixed_is_fixed(mixed, mixed->random[a]);
    *result = (struct mixed_result){.r = r, .q = mixed->progress.q, .m = mixed->m - n_fixed,
                                    .s = mixed->progress.s - r - (n_fixed - n_fixed_mean)};
    if (!mixed_result_init(result, mixed->joint->arena))
        return false;
    for (size_t a = 0; a < r; a++)
        result->is_fixed[a] = mixed_is_fixed(mixed, mixed->random[a]);
    return true;
}

enum asked mixed_conclude(struct mixed *mixed, enum outcome outcome)
{
    struct joint *joint = mixed->joint;
    struct mixed_result *result = &mixed->result;
    struct arena *arena = joint->arena;
    struct errors errors = {.n = 0};
    double *factor, rounding;
    if (!begin_result(mixed) || !make_errors(mixed, &errors)
        || !ARENA_DOUBLES(arena, {&factor, result->r, result->r}))
        return joint_end_short(joint);
    enum asked asked = has_last_stage(mixed) ? ASKED_OK : ASKED_END;
    if (asked == ASKED_OK && (!joint->options->statistics || joint->options->evaluates))
        asked = ASKED_FAILED;
    if (asked == ASKED_OK && (!has_second(mixed, &errors) || has_moved(mixed)))
        asked = mixed_differ(mixed);
    bool has_errors = asked == ASKED_OK;
    mixed->is_current = mixed->is_current && mixed->progress.level == MIXED_FINER;
    mixed->progress.level = MIXED_FINER;
    if (asked != ASKED_END)
        asked = mixed_run_last(mixed);
    mixed_factor(mixed, mixed->point.theta, factor);
    if (asked == ASKED_OK && has_errors && mixed_has_information(mixed) && !mixed_observe(mixed))
        return joint_end_short(joint);
    if (asked == ASKED_OK)
        asked = put_estimates(mixed, factor, arena);
    if (asked != ASKED_OK)
        return asked;
    if (!mixed_products(mixed, errors.products)
        || !joint_totals(joint, 1, rounding_of, mixed, &rounding))
        return joint_end_short(joint);
    set_derivatives(mixed, factor, errors.estimate_by);
    if (has_errors && !find_errors(mixed, &errors, arena))
        return joint_end_short(joint);
    if (!has_errors)
        set_missing(result->standard_error, result->m);
    result->condition = has_errors ? result->condition : (double)NAN;
    result->minus_2_log_likelihood = 2 * (mixed->point.f - mixed->prior_f - rounding);
    result->log_prior = mixed->log_prior;
    result->n_dataset = (uint64_t)joint_total(joint, has_rows);
    result->n_left_out = joint->ranks.n_block - joint->part.n_all;
    result->n_row = joint->asker.objective.n_row;
    result->likelihood = mixed->progress.phase == MIXED_EXACT ? LIKELIHOOD_EXACT
        : LIKELIHOOD_LAPLACE;
    result->outcome = (int)outcome;
    result->n_iteration = mixed->search.n_iteration;
    mixed->has_result = true;
    return ASKED_OK;
}
