/* Standard errors and records of a fit over many datasets. The covariance of the shared parameters is that of their rows once
 * each block has eliminated its own; that of a block's own parameters adds what they would follow of the shared ones' errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "base/words.h"
#include "fit/distribution.h"
#include "fit/fit.h"
#include "fit/matrix.h"

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
    uint32_t *kept;           /* s */
    double *basis, *flat;     /* n_kept x n_kept: columns whose products are the covariance; n_flat flat directions */
    double *length;           /* n_kept: of the columns of all blocks */
    bool *is_flat;            /* n_kept */
    double factor, quantile, freedom, residual_error, least;
    /* for one block, at most n_most own parameters */
    size_t n_most;
    uint32_t *loose;
    double *scale, *rows, *inverse, *follow, *scratch;
};

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

/* Reduces the information of a block; own: as in joint_eliminate. Returns the number of its own parameters in errors->loose. */
static size_t eliminate(struct joint *joint, struct joint_block *block, double *own)
{
    struct joint_errors *errors = joint->errors;
    size_t n = block->n, s = joint->s, n_loose = find_loose(block, s, errors->loose, errors->scale);
    double *zeros = errors->scratch + joint_scratch(n, s);
    memset(zeros, 0, (n + s) * sizeof *zeros);
    joint_eliminate(n, s, block->information, zeros, errors->loose, n_loose, errors->kept, errors->n_kept, errors->scale,
                    DAMPING, errors->scratch, block->trial.rest, block->trial.rest_rhs, own);
    return n_loose;
}

static void rows_of_trial(const struct joint_block *block, const double **rest, const double **rest_rhs)
{
    *rest = block->trial.rest;
    *rest_rhs = block->trial.rest_rhs;
}

static bool make_errors(struct joint *joint)
{
    struct arena *arena = &joint->arena;
    struct joint_errors *errors = joint->errors = arena_calloc(arena, 1, sizeof *errors);
    size_t s = joint->s, n = 0;
    for (size_t i = 0; i < joint->n_active; i++)
        n = joint_active(joint, i)->n > n ? joint_active(joint, i)->n : n;
    if (!errors)
        return false;
    errors->n_most = n;
    errors->kept = arena_calloc(arena, s + 1, sizeof *errors->kept);
    errors->is_flat = arena_calloc(arena, s + 1, sizeof *errors->is_flat);
    errors->loose = arena_calloc(arena, n + 1, sizeof *errors->loose);
    return errors->kept && errors->is_flat && errors->loose
           && ARENA_DOUBLES(arena, {&errors->basis, s, s}, {&errors->flat, s, s}, {&errors->length, s, 1},
                            {&errors->scale, n, 1}, {&errors->rows, n, n + s}, {&errors->inverse, n, n},
                            {&errors->follow, n, s},
                            {&errors->scratch, joint_scratch(n, s) + n + s, 1});
}

/* The singular values of the shared parameters' rows R, with columns scaled to the lengths that they had with the own
 * parameters fixed: what is left is small if own parameters do the same. */
static bool decompose(struct joint *joint)
{
    struct joint_errors *errors = joint->errors;
    size_t k = errors->n_kept;
    double *memory = calloc(3 * k * k + 2 * k + 1, sizeof *memory);
    double *r = memory, *v = r + k * k, *scaled = v + k * k, *s = scaled + k * k, *q = s + k;
    bool done = memory && joint_sum(joint, k, rows_of_trial, r, q);
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

bool joint_errors_compute(struct joint *joint)
{
    if (!make_errors(joint))
        return false;
    struct joint_errors *errors = joint->errors;
    struct fit_criteria sum = {.chi_square = 0};
    bool is_known = joint->asker.is_sigma_known;
    errors->least = fmax(FLAT * fit_asker_rtol(&joint->asker), LEAST);
    for (uint32_t k = 0; k < joint->s; k++)
        if (!fit_point_is_held(&joint->asker.map, &joint->point, k))
            errors->kept[errors->n_kept++] = k;
    for (size_t i = 0; i < joint->n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        size_t all = block->n + joint->s;
        errors->freedom += (double)block->n_row - (double)eliminate(joint, block, NULL);
        for (size_t c = 0; c < errors->n_kept; c++) {
            size_t column = block->n + errors->kept[c];
            errors->length[c] += matrix_squares(column + 1, block->information + column * all);
        }
        sum.chi_square += block->criteria.chi_square;
        sum.distances += block->criteria.distances;
    }
    for (size_t c = 0; c < errors->n_kept; c++)
        errors->length[c] = sqrt(errors->length[c]);
    errors->freedom -= (double)errors->n_kept;
    double p = 0.5 + 0.5 * joint->options->confidence;
    bool has_freedom = errors->freedom > 0;
    errors->residual_error = has_freedom ? fit_objective_common_scale(&sum, errors->freedom) : NAN;
    errors->factor = is_known ? 1 : errors->residual_error;
    errors->quantile = is_known ? distribution_normal_quantile(p)
                       : has_freedom ? distribution_t_quantile(p, errors->freedom) : NAN;
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

static void put_shared(const struct joint *joint, const struct joint_block *block, struct fit_record *record)
{
    const struct joint_errors *errors = joint->errors;
    size_t k = errors->n_kept;
    for (size_t c = 0; c < k; c++) {
        double variance = 0;
        for (size_t d = 0; d < k; d++)
            variance += errors->basis[c + d * k] * errors->basis[c + d * k];
        put(joint, block, block->n + errors->kept[c], joint->theta[errors->kept[c]], sqrt(variance), errors->is_flat[c],
            record);
    }
}

/* Own parameters: R d + F e = noise, where e are the shared parameters' errors, so that d = R^-1 (noise - F e). */
static void put_own(struct joint *joint, struct joint_block *block, struct fit_record *record)
{
    struct joint_errors *errors = joint->errors;
    size_t n_kept = errors->n_kept, n = eliminate(joint, block, errors->rows);
    double *inverse = errors->inverse, *follow = errors->follow;
    if (n == 0)
        return;
    double *scale = errors->scratch;
    for (size_t c = 0; c < n; c++)
        scale[c] = errors->scale[errors->loose[c]];
    matrix_invert(n, errors->rows, scale, inverse);
    for (size_t c = 0; c < n; c++) {
        double variance = 0;
        bool is_flat = false;
        for (size_t k = c; k < n; k++)
            variance += inverse[c + k * n] * inverse[c + k * n];
        is_flat = !(sqrt(variance) * scale[c] < fmin(1 / errors->least, TOO_LARGE));
        for (size_t l = 0; l < n_kept; l++) {
            follow[l] = 0;
            for (size_t k = c; k < n; k++)
                follow[l] -= inverse[c + k * n] * errors->rows[k + (n + l) * n];
        }
        for (size_t d = 0; d < n_kept; d++) {
            double by = 0, by_flat = 0;
            for (size_t l = 0; l < n_kept; l++) {
                by += follow[l] * errors->basis[l + d * n_kept];
                by_flat += d < errors->n_flat ? follow[l] * errors->flat[l + d * n_kept] : 0;
            }
            variance += by * by;
            is_flat = is_flat || fabs(by_flat) * scale[c] > PART;
        }
        size_t own = errors->loose[c];
        put(joint, block, own, block->best.theta[own], sqrt(variance), is_flat, record);
    }
}

static void put_statistics(struct joint *joint, struct joint_block *block, struct fit_record *record)
{
    const struct joint_errors *errors = joint->errors;
    for (size_t k = 0; k < joint->n_parameter; k++)
        record->lack[k] = LACK_fixed;
    for (size_t k = 0; k < block->n + joint->s; k++)
        record->lack[block->file_index[k]] = LACK_at_bound;
    put_own(joint, block, record);
    put_shared(joint, block, record);
    record->n_freedom = (int64_t)errors->freedom;
    record->residual_error = errors->residual_error;
    record->chi_square = block->criteria.chi_square;
    record->r_squared = block->criteria.total_squares > 0 ? 1 - block->criteria.squares / block->criteria.total_squares : NAN;
    record->notes |= block->has_excess ? NOTE_expected_information : 0;
}

/* Why there is no result; blocks that are not the reason say so, unless it is one that the fit has as a whole. */
static void put_reason(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    const struct joint_block *culprit = joint->culprit < joint->n_block ? &joint->block[joint->culprit] : NULL;
    bool is_common = joint->outcome == OUTCOME_stalled || joint->outcome == OUTCOME_budget || joint->outcome == OUTCOME_timeout;
    if (block->is_out) {
        record->outcome = block->outcome;
        snprintf(record->reason, sizeof record->reason, "%s", block->reason);
    } else if (outcome_is_success(joint->outcome)) {
        return;
    } else if (culprit && culprit != block) {
        snprintf(record->reason, sizeof record->reason, "dataset %zu of this fit (from 0): %.110s", joint->culprit,
                 culprit->reason);
        record->outcome = is_common && !culprit->has_crashed ? joint->outcome : OUTCOME_other_failed;
    } else {
        snprintf(record->reason, sizeof record->reason, "%s", culprit ? culprit->reason : joint->asker.reason);
    }
}

void joint_record(struct joint *joint, size_t i, struct fit_record *record)
{
    struct joint_block *block = &joint->block[i];
    fit_clear(record, joint->n_parameter, block->notes | (block->is_out ? 0 : joint->asker.notes));
    record->dataset = i;
    record->start = 0;
    record->outcome = joint->outcome;
    record->stop = joint->stop;
    record->optimizer = OPTIMIZER_trf;
    record->gradient = block->is_made ? block->gradient : GRADIENT_none;
    record->n_iteration = joint->n_iteration;
    record->n_evaluation = block->n_evaluation;
    record->n_step = block->n_step;
    put_reason(joint, i, record);
    if (!block->is_kept || block->is_out)
        return;
    double accuracy = joint->options->accuracy;
    record->rtol = joint->tighter == 1 ? accuracy : number_decimal(accuracy / joint->tighter);
    record->objective = block->best.f;
    memcpy(record->parameter, block->p, joint->n_parameter * sizeof *block->p);
    memcpy(record->at_bound, block->side, joint->n_parameter);
    if (!joint->errors)
        return;
    record->gradient_norm = joint->stopping.beyond.gradient_norm;
    record->tight_change = block->trial.f - block->best.f;
    record->tight_decrease = joint->certificate.decrease;
    if (joint->options->statistics)
        put_statistics(joint, block, record);
}
