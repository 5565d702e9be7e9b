/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/pass.h"

#include "base/memory.h"
#include "fit/joint/members.h"
#include "fit/objective/map.h"
#include "fit/objective/prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double mixed_weight(const struct mixed *mixed, const struct joint_block *block)
{
    size_t i = (size_t)(block - mixed->joint->block);
    return block->n_row > 0 ? joint_weight(mixed->joint, i) : 0;
}

/* All numbers, and how often the dataset counts. */
static void numbers_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    size_t n = mixed_n_number(mixed->m);
    double weight = mixed_weight(mixed, block);
    for (size_t k = 0; k < n; k++)
        number[k] = weight * mixed_block_of(block)->number[k];
    number[n] = weight;
}

static void changed_of(const void *context, const struct joint_block *block, double *number)
{
    *number = mixed_weight(context, block) > 0 && mixed_block_of(block)->has_changed;
}

static void products_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    const double *gradient = mixed_block_of(block)->number + 1;
    for (size_t c = 0; c < mixed->m; c++)
        for (size_t d = c; d < mixed->m; d++)
            *number++ = mixed_weight(mixed, block) * gradient[c] * gradient[d];
}

void mixed_unpack(size_t m, const double *packed, double *matrix)
{
    for (size_t c = 0; c < m; c++)
        for (size_t d = c; d < m; d++)
            matrix[d + c * m] = matrix[c + d * m] = *packed++;
}

/* The place of an estimate's second derivative in the sums. */
static size_t diagonal_of(size_t m, size_t k) { return 1 + m + k * m - k * (k + 1) / 2 + k; }

static struct prior_terms terms_at(const struct fit_prior *prior, enum parameter_scale scale,
                                   double theta)
{
    double p = fit_scale_to_natural(scale, theta);
    double chain = scale == SCALE_LIN ? 1 : p;
    chain *= scale == SCALE_LOG10 ? log(10) : 1;
    return fit_prior_at(prior, theta, p, chain, CURVATURE_ABOVE);
}

/* The second derivative, which is not the square of the row where the prior is none of theta. */
static double second_of(const struct fit_prior *prior, enum parameter_scale scale, double theta)
{
    double h = 1e-4 * fmax(fabs(theta), 1);
    struct prior_terms left = terms_at(prior, scale, theta - h);
    struct prior_terms right = terms_at(prior, scale, theta + h);
    return (right.row * right.rhs - left.row * left.rhs) / (2 * h);
}

/* Adds the priors of means and shared parameters to the sums at these estimates. */
static void add_priors(struct mixed *mixed, const double *estimates)
{
    const struct joint *joint = mixed->joint;
    mixed->prior_f = 0;
    mixed->log_prior = NAN;
    for (size_t k = 0; joint->prior && k < mixed->progress.s; k++) {
        const struct joint_above *above = &joint->above.list[k];
        const struct fit_prior *prior = &joint->prior[above->file_index];
        double ends[2] = {above->lower, above->upper};
        for (int e = 0; e < 2 && !prior->on_optimizer; e++)
            ends[e] = fit_scale_to_natural(above->scale, ends[e]);
        if (prior->kind == PRIOR_NONE || mixed_is_fixed(mixed, k))
            continue;
        struct prior_terms terms = terms_at(prior, above->scale, estimates[k]);
        mixed->prior_slope[k] = terms.row * terms.rhs;
        mixed->prior_curvature[k] = mixed->progress.level == MIXED_FINER && mixed_observes(mixed)
                                        ? second_of(prior, above->scale, estimates[k])
                                        : terms.row * terms.row;
        mixed->prior_f += terms.f;
        mixed->log_prior = (isnan(mixed->log_prior) ? 0 : mixed->log_prior)
                           - fit_prior_constant(prior, ends[0], ends[1]) - terms.f + terms.rounding;
        mixed->sum[1 + k] += mixed->prior_slope[k];
        mixed->sum[diagonal_of(mixed->m, k)] += mixed->prior_curvature[k];
    }
    mixed->sum[0] += mixed->prior_f;
}

/* A pass over all datasets. ASKED_FAILED: some dataset cannot be evaluated. */
static enum asked run_blocks(struct mixed *mixed, enum joint_pass pass, const double *estimates)
{
    struct joint *joint = mixed->joint;
    enum joint_went went;
    mixed->at = estimates;
    do
        went = joint_run_pass(joint, pass);
    while (went == JOINT_FEWER);
    if (went != JOINT_COUNTS)
        return ASKED_END;
    size_t culprit = joint->end.culprit;
    if (!joint_find_failed(joint))
        return ASKED_OK;
    joint->end.culprit = culprit;
    return ASKED_FAILED;
}

static void kinks_of(const void *context, const struct joint_block *block, double *number)
{
    *number = mixed_weight(context, block) > 0 && (block->notes & NOTE_state_jump) != 0;
}

bool mixed_find_kinks(struct mixed *mixed, bool *has_kinks)
{
    double n;
    bool is_known = joint_totals(mixed->joint, 1, kinks_of, mixed, &n);
    *has_kinks = is_known && n > 0.5;
    return is_known;
}

enum asked mixed_seek(struct mixed *mixed, bool *has_changed)
{
    double n;
    bool was_current = mixed->is_current;
    mixed->seeks = true;
    enum asked asked = run_blocks(mixed, JOINT_UPPER, mixed->point.theta);
    mixed->seeks = false;
    if (asked == ASKED_END)
        return asked;
    if (!joint_totals(mixed->joint, 1, changed_of, mixed, &n))
        return joint_end_short(mixed->joint);
    *has_changed = asked == ASKED_FAILED || n > 0.5;
    mixed->is_current = was_current && !*has_changed;
    return ASKED_OK;
}

enum asked mixed_run(struct mixed *mixed, enum joint_pass pass, const double *estimates)
{
    struct joint *joint = mixed->joint;
    bool is_best = estimates == mixed->point.theta;
    mixed->is_current = is_best && mixed->is_current; /* what the pass may rely on */
    enum asked asked = run_blocks(mixed, pass, estimates);
    if (asked == ASKED_END)
        return ASKED_END;
    mixed->is_current = is_best;
    if (asked == ASKED_FAILED)
        return ASKED_FAILED;
    if (!joint_totals(joint, mixed_n_number(mixed->m) + 1, numbers_of, mixed, mixed->sum))
        return joint_end_short(joint);
    mixed->n_dataset = mixed->sum[mixed_n_number(mixed->m)];
    add_priors(mixed, estimates);
    return isfinite(mixed->sum[0]) ? ASKED_OK : ASKED_FAILED;
}

enum asked mixed_end_failed(struct mixed *mixed)
{
    struct joint *joint = mixed->joint;
    if (joint_find_failed(joint))
        return joint_end(joint, joint->end.blame.outcome);
    joint->end.culprit = joint->ranks.n_block; /* no dataset, but a prior, say */
    fit_asker_end(&joint->asker, OUTCOME_model_failed, "the likelihood is not a finite number");
    return joint_end(joint, OUTCOME_model_failed);
}

enum asked mixed_run_at_best(struct mixed *mixed, enum joint_pass pass)
{
    enum asked asked = mixed_run(mixed, pass, mixed->point.theta);
    if (asked == ASKED_FAILED) /* where it could be evaluated before */
        return mixed_end_failed(mixed);
    if (asked != ASKED_OK)
        return asked;
    mixed->point.f = mixed->progress.f = mixed->sum[0];
    memcpy(mixed->point.gradient, mixed->sum + 1, mixed->m * sizeof(double));
    return ASKED_OK;
}

void mixed_keep_found(struct mixed *mixed)
{
    const struct joint *joint = mixed->joint;
    mixed->is_current = true;
    mixed->progress.is_repeated = false;
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct mixed_block *block = mixed_block_of(joint_active(joint, i));
        memcpy(block->mode, block->found, block->n_effect * sizeof *block->mode);
        memcpy(block->course, block->found_course,
               2 * block->n_experiment * sizeof *block->course);
        block->is_on_kink = block->found_on_kink;
        block->value = block->number[0];
    }
}

enum asked mixed_take_back(struct mixed *mixed, bool *has_run)
{
    struct joint *joint = mixed->joint;
    *has_run = joint_try_left_out(joint);
    if (!*has_run)
        return ASKED_OK;
    enum asked asked = mixed_run(mixed, JOINT_UPPER, mixed->point.theta);
    if (asked == ASKED_END)
        return asked;
    joint_leave_again(joint);
    asked = mixed_run_at_best(mixed, JOINT_UPPER);
    if (asked == ASKED_OK)
        mixed_keep_found(mixed);
    return asked;
}

bool mixed_products(const struct mixed *mixed, double *matrix)
{
    size_t m = mixed->m;
    double *packed = memory_alloc((m * (m + 1) / 2 + 1) * sizeof *packed), n = mixed->n_dataset;
    bool is_good =
        packed && joint_totals(mixed->joint, m * (m + 1) / 2, products_of, mixed, packed);
    if (is_good)
        mixed_unpack(m, packed, matrix);
    for (size_t c = 0; c < m && is_good; c++)
        for (size_t d = 0; d < m; d++)
            matrix[d + c * m] -= (mixed->point.gradient[c] - mixed->prior_slope[c])
                                 * (mixed->point.gradient[d] - mixed->prior_slope[d]) / n;
    free(packed);
    return is_good;
}
