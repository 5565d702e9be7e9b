/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/internal.h"

#include "fit/objective/matrix.h"

#include <math.h>

/* The numbers of joint_arrays.left. */
static size_t n_left(const struct joint_block *block)
{
    return block->findings.has_excess ? block->s * block->s : 0;
}

struct joint_arrays joint_findings_arrays(const struct joint_block *block)
{
    struct joint_arrays arrays;
    bool has_information = block->findings.n_more > n_left(block);
    fit_findings_arrays(&block->findings, &arrays.found);
    arrays.left = arrays.found.more;
    arrays.information =
        has_information ? arrays.found.more + n_left(block) : block->trial.triangle;
    return arrays;
}

size_t joint_findings_size(const struct joint_block *block)
{
    struct fit_findings_arrays arrays;
    return fit_findings_arrays(&block->findings, &arrays);
}

bool joint_findings_room(const struct joint *joint, struct joint_block *block)
{
    joint_free(joint, block->findings.memory);
    block->findings.memory = NULL;
    block->findings.memory = joint_calloc(joint, joint_findings_size(block) + 1, sizeof(double));
    return block->findings.memory != NULL;
}

/* What the certificate's evaluation with tighter tolerances, which work->at is, changes of the
 * predictions. NaN: it is no such evaluation, or those at the best point are not kept. */
static double prediction_error(const struct joint_work *work)
{
    const struct joint *joint = work->joint;
    const double *before = work->block->best.at;
    if (joint->pass != JOINT_CHECK || !joint->options->certify)
        return NAN;
    if (joint->asker.is_exact)
        return 0;
    bool is_tighter = work->asker->accuracy.tighter > joint->asker.accuracy.tighter;
    return is_tighter && before ? fit_certificate_distance(work->asker, before, &work->at) : NAN;
}

/* A dataset that is drawn more than once counts so often. */
static void weigh(struct joint_work *work, const struct joint_arrays *arrays)
{
    struct fit_findings *findings = &work->block->findings;
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block));
    findings->n_row = (double)work->block->n_row;
    findings->size *= sqrt(weight);
    findings->error *= sqrt(weight);
    findings->prediction_error *= sqrt(weight);
    for (size_t k = 0; findings->has_excess && k < findings->n * findings->n; k++)
        arrays->found.excess[k] *= weight;
}

bool joint_findings_take(struct joint_work *work)
{
    struct fit_asker *asker = work->asker;
    const struct fit_objective *objective = &asker->objective;
    struct joint_block *block = work->block;
    struct fit_findings *findings = &block->findings, before = *findings;
    struct fit_answer answer = fit_point_answer(asker, &work->at);
    size_t all = work->n + work->s, n_row = fit_objective_n_row(objective);
    bool is_triangle = objective->is_plain && !fit_objective_has_kinks(objective) &&
                       !block->trial.is_curved; /* the trial's is the information's */
    if (isnan(asker->prediction_error)) /* the block has no certificate of its own */
        asker->prediction_error = prediction_error(work);
    *findings = fit_findings_begin(asker, &work->at);
    findings->memory = before.memory;
    findings->has_prior = before.has_prior;
    if (findings->has_prior && isnan(findings->log_prior))
        findings->log_prior = 0;
    findings->n_more = n_left(block) + (is_triangle ? 0 : all * all);
    if (!joint_findings_room(work->joint, block))
        return false;
    const struct joint_arrays arrays = joint_findings_arrays(block);
    if (findings->has_rows)
        fit_findings_fill(findings, asker, &work->at);
    if (findings->has_rows && !is_triangle)
        joint_block_reduce(work, &answer, CURVATURE_EXPECTED, NULL, arrays.information, work->move);
    for (size_t j = 0; j < all && findings->has_rows; j++)
        arrays.found.beyond[j] = matrix_squares(n_row - objective->n_row,
                                                work->rows + objective->n_row + j * n_row);
    for (size_t k = 0; k < all; k++)
        block->chain[k] = work->at.chain[work->order[k]];
    weigh(work, &arrays);
    return true;
}
