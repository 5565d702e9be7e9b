/* The part of a fit over many datasets that has parameters of its own, a block or a group: its
 * trust region, and what is left for the parameters above.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/kinks.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

void joint_region_set(struct joint_region *own, const struct joint_reduced *reduced,
                      const double *theta, const double *shared_step, struct trust_reach *reach)
{
    struct trust_model *model = &own->model;
    size_t n = own->n, all = n + own->s;
    if (n == 0)
        return;
    for (size_t j = 0; j < n; j++) {
        memcpy(model->triangle + j * n, reduced->triangle + j * all, n * sizeof(double));
        model->rhs[j] = reduced->rhs[j];
        for (size_t k = 0; shared_step && k < own->s; k++)
            model->rhs[j] += reduced->triangle[j + (n + k) * all] * shared_step[k];
    }
    memcpy(own->point.theta, theta, n * sizeof *theta);
    for (size_t j = 0; j < n; j++)
        own->point.gradient[j] = joint_slope(model->triangle, n, model->rhs, j);
    memcpy(model->scale, reduced->scale, n * sizeof(double));
    model->reach = *reach;
    trust_model_adopt(model, &own->point);
    *reach = model->reach;
}

void joint_region_schur(struct joint_region *own, struct joint_reduced *reduced, double least,
                        struct trust_reach *reach)
{
    struct trust_model *model = &own->model;
    size_t n = own->n, s = own->s, all = n + s;
    joint_region_set(own, reduced, reduced->theta, NULL, reach);
    if (n > 0) {
        memcpy(reduced->scale, model->scale, n * sizeof(double));
        trust_model_step(model, &own->point);
    }
    reduced->promise = n > 0 ? model->promise : 0;
    reduced->is_restricted = n > 0 && model->is_restricted;
    reduced->promise_free =
        reduced->is_restricted ? trust_model_promise_free(model, &own->point) : reduced->promise;
    reduced->gradient_norm = n > 0 ? fit_point_gradient_norm(&own->asker.map, &own->point) : 0;
    reduced->single = n > 0 ? trust_model_promise_single(model, &own->point) : 0;
    if (n == 0 || (model->is_inverted && !reduced->is_restricted)) {
        for (size_t k = 0; k < s; k++) {
            memcpy(reduced->schur + k * s, reduced->triangle + n + (n + k) * all,
                   s * sizeof(double));
            reduced->schur_rhs[k] = reduced->rhs[n + k];
        }
        return;
    }
    /* Own parameters that a bound stops have moved there. */
    double *moved = own->rhs;
    memcpy(moved, reduced->rhs, all * sizeof *moved);
    uint32_t *kept = model->loose + n; /* room for n + s */
    bool *is_loose = (bool *)(kept + s);
    memset(is_loose, 0, n * sizeof *is_loose);
    for (size_t c = 0; c < model->n_loose; c++)
        is_loose[model->loose[c]] = true;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; !is_loose[j] && i <= j; i++)
            moved[i] += reduced->triangle[i + j * all] * model->step[j];
    for (size_t k = 0; k < s; k++)
        kept[k] = (uint32_t)k;
    joint_eliminate(n, s, reduced->triangle, moved, model->loose, model->n_loose, kept, s,
                    reduced->scale, fmax(model->damping, least * least), own->rows, reduced->schur,
                    reduced->schur_rhs, NULL);
}

bool joint_take_map(struct fit_map *to, const struct fit_map *from, const uint32_t *order, size_t n,
                    struct arena *arena)
{
    *to = (struct fit_map){.n_free = n, .scale = arena_calloc(arena, n + 1, sizeof *to->scale),
                           .file_index = arena_calloc(arena, n + 1, sizeof *to->file_index)};
    if (!to->scale || !to->file_index ||
        !ARENA_DOUBLES(arena, {&to->start, n, 1}, {&to->lower, n, 1}, {&to->upper, n, 1},
                       {&to->size, n, 1}))
        return false;
    for (size_t k = 0; k < n; k++) {
        uint32_t j = order[k];
        to->scale[k] = from->scale[j];
        to->file_index[k] = from->file_index[j];
        to->start[k] = from->start[j];
        to->size[k] = from->size[j];
        to->lower[k] = from->lower[j];
        to->upper[k] = from->upper[j];
    }
    return true;
}

bool joint_region_init(struct joint_region *own, const struct fit_map *map, const uint32_t *order,
                       size_t n, size_t s, struct arena *arena)
{
    size_t all = n + s;
    own->n = n;
    own->s = s;
    if ((n > 0 && (!joint_take_map(&own->asker.map, map, order, n, arena) ||
                   !trust_model_init(&own->model, &own->asker, arena))) ||
        !ARENA_DOUBLES(arena, {&own->point.theta, n, 1}, {&own->point.gradient, n, 1},
                       {&own->rhs, all, 1}, {&own->rows, n > 0 ? joint_scratch(n, s) : 0, 1}))
        return false;
    own->model.loose = arena_calloc(arena, 3 * all + 2, sizeof *own->model.loose);
    return own->model.loose != NULL;
}
