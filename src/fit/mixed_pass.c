/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed_pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void numbers_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    memcpy(number, block->mixed->number, mixed_n_number(mixed->m) * sizeof *number);
}

static void products_of(const void *context, const struct joint_block *block, double *number)
{
    const struct mixed *mixed = context;
    const double *gradient = block->mixed->number + 1;
    for (size_t c = 0; c < mixed->m; c++)
        for (size_t d = c; d < mixed->m; d++)
            *number++ = gradient[c] * gradient[d];
}

void mixed_unpack(size_t m, const double *packed, double *matrix)
{
    for (size_t c = 0; c < m; c++)
        for (size_t d = c; d < m; d++)
            matrix[d + c * m] = matrix[c + d * m] = *packed++;
}

enum asked mixed_run(struct mixed *mixed, enum joint_pass pass, const double *estimates)
{
    struct joint *joint = mixed->joint;
    enum joint_went went;
    mixed->at = estimates;
    bool is_best = estimates == mixed->point.theta;
    mixed->is_current = is_best && mixed->is_current; /* what the pass may rely on */
    do
        went = joint_run_pass(joint, pass);
    while (went == JOINT_FEWER);
    if (went != JOINT_COUNTS)
        return ASKED_END;
    mixed->is_current = is_best;
    size_t culprit = joint->end.culprit;
    if (joint_find_failed(joint)) {
        joint->end.culprit = culprit;
        return ASKED_FAILED;
    }
    if (!joint_totals(joint, mixed_n_number(mixed->m), numbers_of, mixed, mixed->sum))
        return joint_end_short(joint);
    return isfinite(mixed->sum[0]) ? ASKED_OK : ASKED_FAILED;
}

enum asked mixed_run_at_best(struct mixed *mixed, enum joint_pass pass)
{
    enum asked asked = mixed_run(mixed, pass, mixed->point.theta);
    if (asked == ASKED_FAILED) { /* where it could be evaluated before */
        joint_find_failed(mixed->joint);
        return joint_end(mixed->joint, mixed->joint->end.blame.outcome);
    }
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
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct mixed_block *block = joint_active(joint, i)->mixed;
        memcpy(block->mode, block->found, block->n_effect * sizeof *block->mode);
        block->value = block->number[0];
    }
}

bool mixed_products(const struct mixed *mixed, double *matrix)
{
    size_t m = mixed->m;
    double *packed = malloc((m * (m + 1) / 2 + 1) * sizeof *packed), n = (double)mixed->joint->part.n_all;
    bool is_good = packed && joint_totals(mixed->joint, m * (m + 1) / 2, products_of, mixed, packed);
    if (is_good)
        mixed_unpack(m, packed, matrix);
    for (size_t c = 0; c < m && is_good; c++)
        for (size_t d = 0; d < m; d++)
            matrix[d + c * m] -= mixed->point.gradient[c] * mixed->point.gradient[d] / n;
    free(packed);
    return is_good;
}
