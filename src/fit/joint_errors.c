/* Standard errors and records of a fit over many datasets. The covariance of the shared parameters is that of their rows once
 * each block has eliminated its own; that of a block's own parameters adds what they would follow of the shared ones' errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "base/words.h"
#include "fit/distribution.h"
#include "fit/fit.h"
#include "fit/matrix.h"
#include "fit/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in the spectrum of a single fit: directions whose derivatives are smaller than this many times their accuracy cannot be
 * told from directions without influence; and the share of such a direction that makes a parameter part of it. */
static const double FLAT = 30, PART = 0.03;
/* The damping of the elimination, in units of the columns' lengths, and the deviation in these units from which a parameter
 * counts as undetermined: most of it would be the damping's. */
static const double DAMPING = 1e-16, TOO_LARGE = 1e7, LEAST = 1e-7;

struct joint_errors {
    size_t n_kept, n_flat;    /* shared parameters that no bound holds; directions of these that the data do not determine */
    uint32_t *place;          /* s: of each among those, or NOT_KEPT */
    double *basis, *flat;     /* n_kept x n_kept: columns whose products are the covariance; n_flat flat directions */
    double *length;           /* n_kept: of the columns of all blocks */
    bool *is_flat;            /* n_kept */
    double factor, quantile, freedom, freedom_per_row, residual_error, least;
    /* for one block, at most n_most own parameters */
    uint32_t *loose, *kept, *column; /* n_above: of the parameters above that no bound holds; columns of their sum */
    size_t n_above;
    double *scale, *rows, *inverse, *follow, *scratch;
    double *above;            /* n_above x (loose ones of the group + n_kept): columns as those of basis, for them */
    double *line;             /* of each parameter of the block, `width` numbers: products of two are their covariance */
    size_t n_most, width;     /* a line begins with n_most numbers for own parameters */
};

static const uint32_t NOT_KEPT = UINT32_MAX;

/* The own parameters that no bound holds, and the lengths of their columns. */
static size_t find_loose(const struct joint_block *block, size_t s, uint32_t *loose, double *scale)
{
    const struct joint_side *side = &block->trial;
    size_t all = block->n + s, n_loose = 0;
    for (size_t j = 0; j < block->n; j++) {
        double g = 0;
        for (size_t i = 0; i <= j; i++)
            g += side->triangle[i + j * all] * side->rhs[i];
        int8_t bound = block->side[block->file_index[j]];
        scale[j] = sqrt(matrix_squares(j + 1, block->information + j * all));
        scale[j] = scale[j] > 0 ? scale[j] : 1;
        if (!((bound < 0 && g >= 0) || (bound > 0 && g <= 0)))
            loose[n_loose++] = (uint32_t)j;
    }
    return n_loose;
}

static struct joint_group *group_of(const struct joint *joint, size_t i)
{
    return joint->group ? &joint->group[joint->levels.group[0][i]] : NULL;
}

/* The parameters above block i that no bound holds. */
static void find_kept(struct joint *joint, size_t i)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_group *group = group_of(joint, i);
    size_t n = joint->n_group, n_loose = group ? group->n_loose : 0, n_before = 0;
    errors->n_above = 0;
    joint_columns(joint, i, joint->column);
    for (uint32_t k = 0; k < joint->s_block; k++) {
        bool is_group = k < n;
        uint32_t place = is_group ? (group->is_held[k] ? NOT_KEPT : (uint32_t)n_before++)
                                  : errors->place[joint->column[k] - n];
        if (place == NOT_KEPT)
            continue;
        errors->kept[errors->n_above] = k;
        errors->column[errors->n_above++] = is_group ? place : (uint32_t)n_loose + place;
    }
}

/* Reduces the information of block i; own: as in joint_eliminate. Returns the number of its own parameters in errors->loose. */
static size_t eliminate(struct joint *joint, size_t i, double *own)
{
    struct joint_errors *errors = joint->errors;
    struct joint_block *block = &joint->block[i];
    size_t n = block->n, s = joint->s_block, n_loose = find_loose(block, s, errors->loose, errors->scale);
    double *zeros = errors->scratch + joint_scratch(n, s);
    memset(zeros, 0, (n + s) * sizeof *zeros);
    find_kept(joint, i);
    joint_eliminate(n, s, block->information, zeros, errors->loose, n_loose, errors->kept, errors->n_above, errors->scale,
                    DAMPING, errors->scratch, block->trial.rest, block->trial.rest_rhs, own);
    return n_loose;
}

struct reduction {
    struct joint *joint;
    const struct joint_group *group;
};

/* Of a block, by the number of those that take part, or in its group. */
static struct joint_rows rows_of_block(void *context, size_t k)
{
    const struct reduction *reduction = context;
    struct joint *joint = reduction->joint;
    uint32_t i = reduction->group ? joint->member[reduction->group->first + k] : joint->active[k];
    const struct joint_side *side = &joint->block[i].trial;
    find_kept(joint, i);
    return (struct joint_rows){side->rest, side->rest_rhs, joint->errors->n_above, joint->errors->column};
}

static struct joint_rows rows_of_group(void *context, size_t g)
{
    const struct joint *joint = ((const struct reduction *)context)->joint;
    const struct joint_side *side = &joint->group[g].side;
    return (struct joint_rows){side->rest, side->rest_rhs, joint->errors->n_kept, NULL};
}

/* Reduces the information of a group, and keeps the rows of its own parameters. */
static bool eliminate_group(struct joint *joint, struct joint_group *group)
{
    struct joint_errors *errors = joint->errors;
    struct reduction reduction = {.joint = joint, .group = group};
    struct joint_side *side = &group->side;
    size_t n = group->n_loose, width = n + errors->n_kept;
    uint32_t *loose = errors->loose, *kept = errors->kept;
    double *scratch = calloc(joint_scratch(n, errors->n_kept) + width + 1, sizeof *scratch);
    bool is_good = scratch && joint_sum(group->n, width, rows_of_block, &reduction, side->triangle, side->rhs);
    for (uint32_t j = 0; j < n; j++) {
        loose[j] = j;
        double length = is_good ? sqrt(matrix_squares(j + 1, side->triangle + j * width)) : 1;
        errors->scale[j] = length > 0 ? length : 1;
    }
    for (uint32_t k = 0; k < errors->n_kept; k++)
        kept[k] = k;
    if (is_good)
        joint_eliminate(n, errors->n_kept, side->triangle, scratch, loose, n, kept, errors->n_kept, errors->scale, DAMPING,
                        scratch + width, side->rest, side->rest_rhs, group->error_rows);
    free(scratch);
    return is_good;
}

static bool make_errors(struct joint *joint)
{
    struct arena *arena = &joint->arena;
    struct joint_errors *errors = joint->errors = arena_calloc(arena, 1, sizeof *errors);
    size_t s = joint->s, above = joint->s_block, n = joint->n_group;
    for (size_t i = 0; i < joint->n_active; i++)
        n = joint_active(joint, i)->n > n ? joint_active(joint, i)->n : n;
    if (!errors)
        return false;
    errors->place = arena_calloc(arena, s + 1, sizeof *errors->place);
    errors->kept = arena_calloc(arena, s + above + 1, sizeof *errors->kept);
    errors->column = arena_calloc(arena, above + 1, sizeof *errors->column);
    errors->is_flat = arena_calloc(arena, s + 1, sizeof *errors->is_flat);
    errors->n_most = n;
    errors->width = n + joint->n_group + s;
    errors->loose = arena_calloc(arena, n + 1, sizeof *errors->loose);
    return errors->place && errors->kept && errors->column && errors->is_flat && errors->loose
           && ARENA_DOUBLES(arena, {&errors->basis, s, s}, {&errors->flat, s, s}, {&errors->length, s, 1},
                            {&errors->scale, n, 1}, {&errors->rows, n, n + above}, {&errors->inverse, n, n},
                            {&errors->follow, above, 1}, {&errors->above, above, joint->n_group + s},
                            {&errors->line, n + above, n + joint->n_group + s},
                            {&errors->scratch, joint_scratch(n, above) + 2 * (n + s + above), 1});
}

/* The singular values of the shared parameters' rows R, with columns scaled to the lengths that they had with the own
 * parameters fixed: what is left is small if own parameters do the same. */
static bool decompose(struct joint *joint)
{
    struct joint_errors *errors = joint->errors;
    size_t k = errors->n_kept;
    double *memory = calloc(3 * k * k + 2 * k + 1, sizeof *memory);
    double *r = memory, *v = r + k * k, *scaled = v + k * k, *s = scaled + k * k, *q = s + k;
    struct reduction reduction = {.joint = joint};
    bool done = memory && (joint->group ? joint_sum(joint->levels.n_group[0], k, rows_of_group, &reduction, r, q)
                                        : joint_sum_all(joint, k, rows_of_block, &reduction, r, q));
    if (done && k > 0) {
        for (size_t c = 0; c < k; c++)
            for (size_t i = 0; i < k; i++)
                scaled[i + c * k] = errors->length[c] > 0 ? r[i + c * k] / errors->length[c] : 0;
        matrix_singular(k, k, scaled, NULL, s, v);
    }
    for (size_t d = 0; done && d < k; d++) {
        bool is_known = s[d] > errors->least;
        double *to = is_known ? errors->basis + d * k : errors->flat + errors->n_flat++ * k;
        for (size_t c = 0; c < k; c++) {
            double length = errors->length[c] > 0 ? errors->length[c] : 1;
            to[c] = v[c + d * k] / length / (is_known ? s[d] : 1);
            errors->is_flat[c] = errors->is_flat[c] || (!is_known && fabs(v[c + d * k]) > PART);
        }
    }
    free(memory);
    return done;
}

static void criteria_of(const void *context, const struct joint_block *block, double *number)
{
    (void)context;
    number[0] = block->criteria.chi_square;
    number[1] = block->criteria.distances;
}

/* Squared, of the shared parameters that no bound holds, where there are no groups. */
static void lengths_of(const void *context, const struct joint_block *block, double *square)
{
    const struct joint *joint = context;
    size_t all = block->n + joint->s;
    for (size_t k = 0; k < joint->s; k++)
        if (joint->errors->place[k] != NOT_KEPT)
            square[joint->errors->place[k]] = matrix_squares(block->n + k + 1, block->information + (block->n + k) * all);
}

bool joint_errors_compute(struct joint *joint)
{
    if (!make_errors(joint))
        return false;
    struct joint_errors *errors = joint->errors;
    bool is_known = joint->asker.is_sigma_known;
    double n_row = 0, criteria[2];
    errors->least = fmax(FLAT * fit_asker_rtol(&joint->asker), LEAST);
    for (uint32_t k = 0; k < joint->s; k++)
        errors->place[k] = fit_point_is_held(&joint->asker.map, &joint->point, k) ? NOT_KEPT : (uint32_t)errors->n_kept++;
    for (size_t g = 0; joint->group && g < joint->levels.n_group[0]; g++) {
        struct joint_group *group = &joint->group[g];
        group->n_loose = 0;
        for (size_t k = 0; k < joint->n_group; k++)
            group->n_loose += !group->is_held[k];
        errors->freedom -= group->n > 0 ? (double)group->n_loose : 0;
    }
    for (size_t i = 0; i < joint->n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        size_t all = block->n + joint->s_block, n_loose = eliminate(joint, joint->active[i], NULL);
        const struct joint_group *group = group_of(joint, joint->active[i]);
        errors->freedom += (double)block->n_row - joint_weight(joint, joint->active[i]) * (double)n_loose;
        n_row += (double)block->n_row;
        for (size_t c = 0; group && c < errors->n_above; c++) {
            size_t column = block->n + errors->kept[c], place = errors->column[c] - group->n_loose;
            if (errors->kept[c] >= joint->n_group)
                errors->length[place] += matrix_squares(column + 1, block->information + column * all);
        }
    }
    errors->freedom = joint_count_up(joint, errors->freedom);
    n_row = joint_count_up(joint, n_row);
    if (!joint_totals(joint, 2, criteria_of, NULL, criteria)
        || (!joint->group && !joint_totals(joint, errors->n_kept, lengths_of, joint, errors->length)))
        return false;
    const struct fit_criteria sum = {.chi_square = criteria[0], .distances = criteria[1]};
    for (size_t c = 0; c < errors->n_kept; c++)
        errors->length[c] = sqrt(errors->length[c]);
    errors->freedom -= (double)errors->n_kept;
    double p = 0.5 + 0.5 * joint->options->confidence;
    bool has_freedom = errors->freedom > 0;
    errors->residual_error = has_freedom ? fit_objective_common_scale(&sum, errors->freedom) : NAN;
    errors->freedom_per_row = has_freedom ? errors->freedom / n_row : NAN;
    errors->factor = is_known ? 1 : errors->residual_error;
    errors->quantile = is_known ? distribution_normal_quantile(p)
                       : has_freedom ? distribution_t_quantile(p, errors->freedom) : NAN;
    for (size_t g = 0; joint->group && g < joint->levels.n_group[0]; g++)
        if (!eliminate_group(joint, &joint->group[g]))
            return false;
    return decompose(joint);
}

/* Standard error and interval of a parameter from its standard deviation on the optimiser's scale. */
static void put(const struct joint *joint, const struct joint_block *block, size_t k, double theta, double deviation,
                bool is_flat, struct fit_record *record)
{
    const struct joint_errors *errors = joint->errors;
    uint32_t file = block->file_index[k];
    enum parameter_scale scale = joint->scale[file];
    record->lack[file] = is_flat ? LACK_flat : isnan(errors->factor) ? LACK_freedom : LACK_none;
    if (is_flat)
        record->notes |= NOTE_flat_direction;
    if (record->lack[file] != LACK_none)
        return;
    deviation *= errors->factor;
    record->standard_error[file] = deviation * fabs(block->chain[k]);
    record->interval_lower[file] = fit_scale_to_natural(scale, theta - errors->quantile * deviation);
    record->interval_upper[file] = fit_scale_to_natural(scale, theta + errors->quantile * deviation);
}

static double squares_of_row(const double *matrix, size_t n_row, size_t row, size_t first, size_t end)
{
    double sum = 0;
    for (size_t c = first; c < end; c++)
        sum += matrix[row + c * n_row] * matrix[row + c * n_row];
    return sum;
}

/* Whether a direction that follows the shared parameters so follows flat ones. */
static bool follows_flat(const struct joint_errors *errors, const double *follow, double scale)
{
    bool is_flat = false;
    for (size_t d = 0; d < errors->n_flat; d++) {
        double by = 0;
        for (size_t l = 0; l < errors->n_kept; l++)
            by += follow[l] * errors->flat[l + d * errors->n_kept];
        is_flat = is_flat || fabs(by) * scale > PART;
    }
    return is_flat;
}

static bool is_too_large(const struct joint_errors *errors, double variance, double scale)
{
    return !(sqrt(variance) * scale < fmin(1 / errors->least, TOO_LARGE));
}

/* Parameters above a block: R d + F e = noise for those of a group, where e are the errors of the shared ones, so that
 * d = R^-1 (noise - F e); and the shared ones. */
static void put_above(struct joint *joint, size_t i, struct fit_record *record)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_block *block = &joint->block[i];
    const struct joint_group *group = group_of(joint, i);
    size_t n = group ? group->n_loose : 0, n_kept = errors->n_kept, width = n + n_kept;
    double *follow = errors->scratch, *scale = follow + n_kept, *inverse = errors->inverse;
    find_kept(joint, i);
    for (size_t c = 0; c < n; c++) {
        double length = sqrt(matrix_squares(c + 1, group->error_rows + c * n));
        scale[c] = length > 0 ? length : 1;
    }
    if (n > 0)
        matrix_invert(n, group->error_rows, scale, inverse);
    for (size_t c = 0; c < errors->n_above; c++) {
        double *row = errors->above + c;
        size_t column = errors->column[c], m = errors->n_above;
        bool is_flat = column >= n && errors->is_flat[column - n];
        for (size_t d = 0; d < width; d++)
            row[d * m] = column >= n && d >= n ? errors->basis[column - n + (d - n) * n_kept] : 0;
        for (size_t k = column; column < n && k < n; k++)
            row[k * m] = inverse[column + k * n];
        for (size_t l = 0; column < n && l < n_kept; l++) {
            follow[l] = 0;
            for (size_t k = column; k < n; k++)
                follow[l] -= inverse[column + k * n] * group->error_rows[k + (n + l) * n];
        }
        for (size_t d = 0; column < n && d < n_kept; d++)
            for (size_t l = 0; l < n_kept; l++)
                row[(n + d) * m] += follow[l] * errors->basis[l + d * n_kept];
        if (column < n)
            is_flat = is_too_large(errors, squares_of_row(errors->above, m, c, 0, n), scale[column])
                      || follows_flat(errors, follow, scale[column]);
        size_t above = errors->kept[c], k = block->n + above;
        for (size_t d = 0; d < width; d++)
            errors->line[k * errors->width + errors->n_most + d] = row[d * m];
        double theta = above < joint->n_group ? group->side.theta[above] : joint->theta[joint->column[above] - joint->n_group];
        put(joint, block, k, theta, sqrt(squares_of_row(errors->above, m, c, 0, width)), is_flat, record);
    }
}

/* Own parameters, as those of a group. */
static void put_own(struct joint *joint, size_t i, struct fit_record *record)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_block *block = &joint->block[i];
    const struct joint_group *group = group_of(joint, i);
    size_t n = eliminate(joint, i, errors->rows), m = errors->n_above, n_group = group ? group->n_loose : 0;
    double *inverse = errors->inverse, *follow = errors->follow, *shared = errors->scratch, *scale = shared + errors->n_kept;
    for (size_t c = 0; c < n; c++)
        scale[c] = errors->scale[errors->loose[c]];
    if (n > 0)
        matrix_invert(n, errors->rows, scale, inverse);
    for (size_t c = 0; c < n; c++) {
        double variance = 0, by_group = 0, by_shared = 0;
        size_t own = errors->loose[c];
        double *line = errors->line + own * errors->width;
        memset(shared, 0, errors->n_kept * sizeof *shared);
        for (size_t k = c; k < n; k++) {
            line[k] = inverse[c + k * n];
            variance += line[k] * line[k];
        }
        for (size_t l = 0; l < m; l++) {
            follow[l] = 0;
            for (size_t k = c; k < n; k++)
                follow[l] -= inverse[c + k * n] * errors->rows[k + (n + l) * n];
            if (errors->column[l] >= n_group)
                shared[errors->column[l] - n_group] += follow[l];
        }
        for (size_t d = 0; d < n_group + errors->n_kept; d++) {
            double by = 0;
            for (size_t l = 0; l < m; l++)
                by += follow[l] * errors->above[l + d * m];
            line[errors->n_most + d] = by;
            *(d < n_group ? &by_group : &by_shared) += by * by;
        }
        bool is_flat = is_too_large(errors, variance + by_group, scale[c]) || follows_flat(errors, shared, scale[c]);
        put(joint, block, own, block->best.theta[own], sqrt(variance + by_group + by_shared), is_flat, record);
    }
}

/* On the natural scale, of parameters with standard errors. */
static void put_covariance(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_errors *errors = joint->errors;
    const struct joint_block *block = &joint->block[i];
    size_t n_free = block->n + joint->s_block;
    for (size_t a = 0; a < n_free; a++)
        for (size_t b = 0; b <= a; b++) {
            size_t column = block->file_index[a], row = block->file_index[b];
            const double *x = errors->line + a * errors->width, *y = errors->line + b * errors->width;
            double sum = 0;
            if (record->lack[column] != LACK_none || record->lack[row] != LACK_none)
                continue;
            for (size_t d = 0; d < errors->width; d++)
                sum += x[d] * y[d];
            record->covariance[row + column * joint->n_parameter] = record->covariance[column + row * joint->n_parameter]
                = errors->factor * errors->factor * sum * block->chain[a] * block->chain[b];
        }
}

static void put_goodness(const struct joint *joint, const struct joint_block *block, struct fit_record *record)
{
    const struct fit_criteria *criteria = &block->criteria;
    record->chi_square = criteria->chi_square;
    record->r_squared = criteria->total_squares > 0 ? 1 - criteria->squares / criteria->total_squares : NAN;
    record->log_likelihood = joint->asker.is_sigma_known ? -0.5 * criteria->deviance : NAN;
}

/* What the row says of its share of the objective. */
static void put_evaluation(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    size_t all = block->n + joint->s_block;
    put_goodness(joint, block, record);
    record->log_prior = block->log_prior;
    record->n_freedom = (int64_t)block->n_row;
    record->reduced_chi_square = block->criteria.chi_square / (double)block->n_row;
    for (size_t k = 0; k < joint->n_parameter; k++)
        record->lack[k] = LACK_fixed;
    for (size_t k = 0; k < all; k++)
        record->slope[block->file_index[k]] = joint_slope(block->best.triangle, all, block->best.rhs, k) / block->chain[k];
}

static void put_statistics(struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_errors *errors = joint->errors;
    const struct joint_block *block = &joint->block[i];
    for (size_t k = 0; k < joint->n_parameter; k++)
        record->lack[k] = LACK_fixed;
    for (size_t k = 0; k < block->n + joint->s_block; k++)
        record->lack[block->file_index[k]] = LACK_at_bound;
    memset(errors->line, 0, (block->n + joint->s_block) * errors->width * sizeof *errors->line);
    put_above(joint, i, record);
    put_own(joint, i, record);
    if (record->covariance)
        put_covariance(joint, i, record);
    record->n_freedom = (int64_t)errors->freedom;
    record->residual_error = errors->residual_error;
    put_goodness(joint, block, record);
    record->reduced_chi_square = block->criteria.chi_square / (errors->freedom_per_row * (double)block->n_row);
    if (joint->asker.is_sigma_known) {
        double deviance = block->criteria.deviance, k = (1 - errors->freedom_per_row) * (double)block->n_row;
        record->aic = deviance + 2 * k;
        record->bic = deviance + k * log((double)block->n_row);
    }
    record->notes |= block->has_excess ? NOTE_expected_information : 0;
    /* The other datasets hold the shared parameters, so the rows are the most that its degrees of freedom can be. */
    if (block->can_test && fit_statistics_is_poor(record->chi_square, (double)block->n_row))
        record->notes |= NOTE_poor_fit;
    size_t n_held = 0, n_free = block->n + joint->s_block;
    for (size_t k = 0; k < n_free; k++)
        n_held += record->lack[block->file_index[k]] == LACK_at_bound;
    record->notes |= n_free > 0 && n_held == n_free ? NOTE_all_at_bounds : 0;
}

/* Why there is no result; blocks that are not the reason say so, unless it is one that the fit has as a whole. */
static void put_reason(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    bool is_one = joint->culprit < joint->ranks.n_block, is_me = is_one && joint->culprit == joint->ranks.first + i;
    bool is_common = joint->outcome == OUTCOME_stalled || joint->outcome == OUTCOME_budget || joint->outcome == OUTCOME_timeout;
    if (block->is_out) {
        record->outcome = block->outcome;
        snprintf(record->reason, sizeof record->reason, "%s", block->reason);
    } else if (outcome_is_success(joint->outcome)) {
        return;
    } else if (is_one && !is_me) {
        snprintf(record->reason, sizeof record->reason, "dataset %zu of this fit (from 0): %.110s", joint->culprit,
                 joint->blame.reason);
        record->outcome = is_common && !joint->blame.has_crashed ? joint->outcome : OUTCOME_other_failed;
    } else {
        snprintf(record->reason, sizeof record->reason, "%s", is_one ? joint->blame.reason : joint->asker.reason);
    }
}

void joint_record(struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    fit_clear(record, joint->n_parameter, block->notes | (block->is_out ? 0 : joint->asker.notes));
    record->dataset = joint->ranks.first + i;
    record->start = joint->task;
    record->outcome = joint->outcome;
    record->stop = joint->stop;
    record->optimizer = joint->options->evaluates ? OPTIMIZER_none : joint->descent ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
    record->gradient = block->is_made ? block->gradient : GRADIENT_none;
    record->n_iteration = joint->n_iteration;
    record->n_evaluation = block->n_evaluation;
    record->n_step = block->n_step;
    record->n_no_sigma = block->n_no_sigma;
    put_reason(joint, i, record);
    if (!block->is_kept || block->is_out)
        return;
    double accuracy = joint->options->accuracy;
    record->rtol = joint->tighter == 1 ? accuracy : number_decimal(accuracy / joint->tighter);
    record->objective = block->best.f;
    memcpy(record->parameter, block->p, joint->n_parameter * sizeof *block->p);
    memcpy(record->at_bound, block->side, joint->n_parameter);
    if (joint->options->evaluates)
        put_evaluation(joint, i, record);
    if (!joint->errors)
        return;
    record->gradient_norm = joint->stopping.beyond.gradient_norm;
    record->tight_change = block->trial.f - block->best.f;
    record->tight_decrease = joint->certificate.decrease;
    if (joint->options->statistics)
        put_statistics(joint, i, record);
}
