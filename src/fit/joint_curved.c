/* Second derivatives of a block whose residuals stay large. A fit of one dataset estimates them
 * from its steps; a block has few steps of its own, as each costs a pass over all blocks, and so
 * takes an evaluation for each of its parameters instead.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "fit/matrix.h"
#include "fit/trust_curvature.h"

#include <math.h>
#include <string.h>

/* A difference's step changes the residuals by this part of their size, and the parameter by at
 * most this part of its own. */
static const double STEP = 1e-3;

/* Within the bounds; 0: there is no room. */
static double difference_step(const struct joint_work *work, size_t j, double size, double length)
{
    const struct fit_map *map = &work->asker->map;
    double theta = work->at.theta[j], own = map->scale[j] == SCALE_LIN ? fabs(theta) : 1, step = STEP * size / length;
    if (!(length > 0))
        return 0;
    step = own > 0 ? fmin(step, STEP * own) : step;
    return theta + step <= map->upper[j] ? step : theta - step >= map->lower[j] ? -step : 0;
}

/* Column k of the objective's second derivatives, in the block's order of parameters. */
static enum asked differentiate(struct joint_work *work, struct fit_point *near, size_t k, double step, double *column)
{
    size_t all = work->n + work->s;
    memcpy(near->theta, work->at.theta, all * sizeof *near->theta);
    near->theta[work->order[k]] += step;
    step = near->theta[work->order[k]] - work->at.theta[work->order[k]];
    enum asked asked = fit_ask(work->asker, work->asker->accuracy, near, true);
    for (size_t i = 0; i < all && asked == ASKED_OK; i++)
        column[i] = (near->gradient[work->order[i]] - work->at.gradient[work->order[i]]) / step;
    return asked;
}

enum asked joint_block_curve(struct joint_work *work, struct joint_side *side)
{
    size_t all = work->n + work->s;
    const double *triangle = side->triangle;
    struct trust_curvature curvature;
    struct fit_point near;
    double weight = joint_weight(work->joint, (size_t)(work->block - work->joint->block));
    double size = sqrt(side->mean_square * (double)work->asker->objective.n_row), *by_differences, *metric;
    if (!trust_curvature_init(&curvature, work->asker, work->arena)
        || !fit_point_init(&near, work->asker, work->asker->accuracy.gradient, work->arena)
        || !ARENA_DOUBLES(work->arena, {&by_differences, all, all}, {&metric, all, 1}))
        return ASKED_FAILED;
    for (size_t k = 0; k < all; k++) {
        double length = sqrt(matrix_squares(k + 1, triangle + k * all) / weight);
        double step = difference_step(work, work->order[k], size, length);
        enum asked asked = step != 0 ? differentiate(work, &near, k, step, by_differences + k * all) : ASKED_OK;
        if (asked != ASKED_OK)
            return asked;
        for (size_t i = 0; i < all && step == 0; i++) /* Gauss and Newton's */
            by_differences[i + k * all] = matrix_dot((i < k ? i : k) + 1, triangle + i * all, triangle + k * all) / weight;
    }
    for (size_t k = 0; k < all; k++)
        for (size_t i = 0; i < all; i++)
            curvature.s[i + k * all] = 0.5 * weight * (by_differences[i + k * all] + by_differences[k + i * all])
                                       - matrix_dot((i < k ? i : k) + 1, triangle + i * all, triangle + k * all);
    curvature.is_used = curvature.has_any = true;
    trust_curvature_add(&curvature, metric, side->triangle, side->rhs);
    return ASKED_OK;
}
