/* What a block keeps of its last evaluation for the statistics, which are computed when no block
 * can be evaluated any more.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/errors.h"

#include "base/memory.h"
#include "fit/objective/matrix.h"
#include "fit/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t joint_findings_arrays(const struct joint_block *block, size_t s, struct joint_arrays *arrays)
{
    const struct joint_findings *findings = &block->findings;
    size_t all = block->n + s, used = 0;
    size_t square = findings->has_information ? all * all : 0,
           excess = findings->has_excess ? all * all : 0;
    size_t n_censored = findings->n_censored;
    const struct {
        double **place;
        size_t n;
    } list[] = {{&arrays->theta, all},
                {&arrays->size, all},
                {&arrays->lower, all},
                {&arrays->upper, all},
                {&arrays->beyond, all},
                {&arrays->moves, all},
                {&arrays->information, square},
                {&arrays->rhs, square ? all : 0},
                {&arrays->excess, excess},
                {&arrays->left, excess ? s * s : 0},
                {&arrays->slope, n_censored * all},
                {&arrays->factor, n_censored},
                {&arrays->curvature, n_censored}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        *list[k].place = findings->memory ? findings->memory + used : NULL;
        used += list[k].n;
    }
    return used;
}

bool joint_findings_room(struct joint_block *block, size_t s)
{
    struct joint_arrays arrays;
    free(block->findings.memory);
    block->findings.memory = NULL;
    return (block->findings.memory =
                memory_calloc(joint_findings_arrays(block, s, &arrays) + 1,
                              sizeof(double))) != NULL;
}

const double *joint_information(const struct joint_block *block, size_t s)
{
    struct joint_arrays arrays;
    joint_findings_arrays(block, s, &arrays);
    return block->findings.has_information ? arrays.information : block->trial.triangle;
}

/* The excess with own parameters first. */
static bool take_excess(struct joint_work *work, double *to)
{
    const struct fit_asker *asker = work->asker;
    size_t all = work->n + work->s;
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block));
    struct fit_answer answer = fit_point_answer(asker, &work->at);
    double *excess = memory_calloc(all * all + 1, sizeof *excess);
    if (excess)
        fit_objective_excess(&asker->objective, &answer, excess);
    for (size_t k = 0; excess && k < all; k++)
        for (size_t l = 0; l < all; l++)
            to[l + k * all] = weight * excess[work->order[l] + work->order[k] * all];
    free(excess);
    return excess != NULL;
}

/* The lengths of the columns in the rows of noise and priors, squared, after the rows have been
 * computed. */
static void take_beyond(const struct joint_work *work, double *beyond)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t n_row = fit_objective_n_row(objective), n_more = n_row - objective->n_row;
    for (size_t k = 0; k < work->n + work->s; k++)
        beyond[k] = matrix_squares(n_more, work->rows + objective->n_row + work->order[k] * n_row);
}

static bool take_censored(struct joint_work *work, const struct joint_arrays *arrays,
                          struct arena *arena)
{
    struct fit_censored censored;
    size_t n = work->n + work->s;
    if (!fit_censored_take(&censored, work->asker, &work->at, arena))
        return false;
    if (censored.n_row == 0)
        return true;
    memcpy(arrays->slope, censored.slope, n * censored.n_row * sizeof *censored.slope);
    memcpy(arrays->factor, censored.factor, censored.n_row * sizeof *censored.factor);
    memcpy(arrays->curvature, censored.curvature, censored.n_row * sizeof *censored.curvature);
    return true;
}

/* What the certificate's evaluation, which work->at is, changes of the predictions. */
static double prediction_error(const struct joint_work *work)
{
    const struct joint *joint = work->joint;
    const double *before = work->block->best.at;
    if (joint->pass != JOINT_CHECK || !joint->options->certify || !before)
        return NAN;
    double weight = joint_weight(joint, (size_t)(work->block - joint->block));
    return sqrt(weight) * fit_certificate_distance(work->asker, before, &work->at);
}

bool joint_findings_take(struct joint_work *work, struct arena *arena)
{
    const struct fit_asker *asker = work->asker;
    const struct fit_objective *objective = &asker->objective;
    const struct fit_map *map = &asker->map;
    struct joint_block *block = work->block;
    struct joint_findings *findings = &block->findings;
    struct joint_arrays arrays;
    size_t all = work->n + work->s;
    struct fit_answer answer = fit_point_answer(asker, &work->at);
    uint8_t *moves = arena_calloc(arena, all + 1, 1);
    findings->criteria =
        fit_objective_criteria(objective, &answer, asker->problem->model->abi.n_observable);
    findings->has_excess = fit_objective_has_excess(objective);
    /* the triangle is of the information then */
    findings->has_information =
        !objective->is_plain || fit_objective_has_kinks(objective) || block->trial.is_curved;
    findings->n_censored = objective->measured.censored ? objective->n_row : 0;
    findings->can_test = fit_statistics_can_test(asker);
    findings->log_prior = fit_statistics_log_prior(asker, &work->at);
    findings->size = fit_point_size(asker, &work->at);
    findings->accuracy = fit_asker_accuracy(asker, asker->accuracy);
    findings->prediction_error = prediction_error(work);
    if (!moves || !joint_findings_room(block, work->s))
        return false;
    joint_findings_arrays(block, work->s, &arrays);
    size_t bytes = all * sizeof(double);
    memcpy(arrays.theta, work->at.theta, bytes);
    memcpy(arrays.size, map->size, bytes);
    memcpy(arrays.lower, map->lower, bytes);
    memcpy(arrays.upper, map->upper, bytes);
    fit_statistics_moves(asker, &work->at, moves);
    for (size_t k = 0; k < all; k++) {
        arrays.moves[k] = moves[work->order[k]];
        block->chain[k] = work->at.chain[work->order[k]];
    }
    if (findings->has_information)
        joint_block_reduce(work, &answer, CURVATURE_EXPECTED, NULL, arrays.information, arrays.rhs);
    take_beyond(work, arrays.beyond);
    return take_censored(work, &arrays, arena) &&
           (!findings->has_excess || take_excess(work, arrays.excess));
}
