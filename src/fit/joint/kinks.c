/* What blocks and groups do in the search for inner steps (joint/line.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/kinks.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often parameters that were stopped are held where they were stopped. */
enum { HOLD_THERE = 3 };
/* Less influence on the predictions than this part of another parameter's is none. */
static const double LEAST = 1e-10;

/* The own parameters that are not held; the right-hand side where the others have moved. */
static size_t list_loose(const struct joint_region *own, const struct joint_reduced *reduced,
                         const struct joint_hold *hold, double *rhs)
{
    size_t n_loose = 0, all = own->n + own->s;
    memcpy(rhs, reduced->rhs, all * sizeof *rhs);
    for (size_t j = 0; j < own->n; j++) {
        if (!hold->is_held[j])
            own->model.loose[n_loose++] = (uint32_t)j;
        for (size_t i = 0; hold->is_held[j] && i <= j; i++)
            rhs[i] += reduced->triangle[i + j * all] * hold->by[j];
    }
    return n_loose;
}

/* For a proximal step: what eliminating the own parameters that are not held leaves, with
 * `damping` times their squared scale added. */
static void damped_schur(struct joint_region *own, struct joint_reduced *reduced,
                         const struct joint_hold *hold, double damping)
{
    uint32_t *loose = own->model.loose, *kept = loose + own->n;
    size_t n_loose = list_loose(own, reduced, hold, own->rhs);
    for (size_t k = 0; k < own->s; k++)
        kept[k] = (uint32_t)k;
    joint_eliminate(own->n, own->s, reduced->triangle, own->rhs, loose, n_loose, kept, own->s,
                    reduced->scale, damping, own->rows, reduced->schur, reduced->schur_rhs, NULL);
}

/* How the own parameters that are not held follow a step of those above, in model->step, within
 * bounds and limits. Those that are held move by hold->by. True: a bound or limit stopped some of
 * the others, which hold->stopped tells. */
static bool damped_follow(struct joint_region *own, const struct joint_reduced *reduced,
                          struct joint_hold *hold, double damping, const double *shared_step)
{
    struct trust_model *model = &own->model;
    size_t n = own->n, s = own->s, all = n + s, m = n + n;
    double *a = own->rows, *b = a + m * n, *r = b + m, *order = r + n * n, *moved = order + n;
    size_t n_loose = list_loose(own, reduced, hold, moved);
    bool any = false;
    memset(a, 0, m * n * sizeof *a);
    memset(b, 0, m * sizeof *b);
    for (size_t i = 0; i < n; i++)
        b[i] = -moved[i];
    for (size_t k = 0; k < s; k++)
        for (size_t i = 0; i < n; i++)
            b[i] -= reduced->triangle[i + (n + k) * all] * shared_step[k];
    for (size_t j = 0; j < n; j++) {
        model->step[j] = hold->is_held[j] ? hold->by[j] : 0;
        hold->is_stopped[j] = false;
    }
    for (size_t c = 0; c < n_loose; c++) {
        uint32_t j = model->loose[c];
        memcpy(a + c * m, reduced->triangle + j * all, (j + 1) * sizeof *a);
        a[n + j + c * m] = sqrt(damping) * reduced->scale[j];
    }
    matrix_least(m, n_loose, a, b, r, order);
    for (size_t c = 0; c < n_loose; c++) {
        uint32_t j = model->loose[c];
        model->step[j] = fmin(fmax(b[c], model->low[j]), model->high[j]);
        any |= hold->is_stopped[j] = model->step[j] != b[c];
    }
    return any;
}

/* At the best point, own->point: holds those that a bound holds. */
static void hold_begin(struct joint_region *own, struct joint_hold *hold)
{
    for (size_t j = 0; j < own->n; j++) {
        hold->is_held[j] = fit_point_is_held(&own->asker.map, &own->point, j);
        hold->by[j] = 0;
        hold->is_stopped[j] = false;
    }
}

/* Holds those that were stopped, too: where they were stopped, or (stays) where they are. */
static void hold_stopped(const struct joint_region *own, struct joint_hold *hold, bool stays)
{
    for (size_t j = 0; j < own->n; j++) {
        if (hold->is_stopped[j])
            hold->by[j] = own->model.step[j];
        hold->is_held[j] = hold->is_held[j] || hold->is_stopped[j];
        hold->by[j] = stays ? 0 : hold->by[j];
    }
}

/* Eliminates a group's own parameters from its reduced rows. */
void joint_kinks_reduce(struct joint *joint, struct joint_group *group)
{
    struct joint_reduced reduced = group->reduced;
    reduced.scale = group->line_scale;
    struct joint_region *own = joint->above.group_region;
    struct trust_reach reach = group->reach;
    joint_region_set(own, &group->reduced, group->reduced.theta, NULL, &reach);
    if (joint->line.begins && !joint->line.holds)
        memcpy(group->hold.is_held, group->is_held, joint->above.n_group * sizeof *group->is_held);
    for (size_t k = 0; k < joint->above.n_group && joint->line.begins && !joint->line.holds; k++)
        group->hold.by[k] = 0;
    for (size_t k = 0; k < joint->above.n_group && joint->line.holds; k++)
        own->model.step[k] = group->trial[k] - group->reduced.theta[k];
    if (joint->line.holds)
        hold_stopped(own, &group->hold, joint->line.n_hold > HOLD_THERE);
    damped_schur(own, &reduced, &group->hold, joint->line.damping);
}

void joint_kinks_groups_step(struct joint *joint)
{
    struct joint_region *own = joint->above.group_region;
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        struct joint_group *group = &joint->above.group[g];
        struct joint_reduced reduced = group->reduced;
        struct trust_reach reach = group->reach;
        joint_region_set(own, &group->reduced, group->reduced.theta, NULL, &reach);
        reduced.scale = group->line_scale;
        for (size_t k = 0; k < joint->above.s; k++)
            own->rhs[k] = joint->above.trial[k] - joint->above.theta[k];
        group->is_stopped =
            damped_follow(own, &reduced, &group->hold, joint->line.damping, own->rhs);
        trust_model_target(&own->model, &own->point, group->trial);
    }
}

size_t joint_kinks_n_at(const struct joint_work *work)
{
    const struct fit_objective *objective = &work->asker->objective;
    return objective->n_row * (1 + work->n + work->s) * (objective->has_noise ? 2 : 1);
}

void joint_kinks_keep(const struct joint_work *work, struct joint_reduced *reduced)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t n_row = objective->n_row, n_slope = n_row * (work->n + work->s);
    double *to = reduced->at;
    memcpy(to, work->at.prediction, n_row * sizeof *to);
    if (work->block->memory.n_at == n_row)
        return;
    memcpy(to + n_row, work->at.d_prediction, n_slope * sizeof *to);
    if (!objective->has_noise)
        return;
    memcpy(to + n_row + n_slope, work->at.noise, n_row * sizeof *to);
    memcpy(to + 2 * n_row + n_slope, work->at.d_noise, n_slope * sizeof *to);
}

/* The best point with its predictions, as it was evaluated. */
static bool take_best(const struct joint_work *work, struct fit_point *best, struct arena *arena)
{
    const struct fit_asker *asker = work->asker;
    size_t all = work->n + work->s, n_row = asker->objective.n_row;
    *best = (struct fit_point){.f = work->block->best.f};
    if (!ARENA_DOUBLES(arena, {&best->theta, all, 1}, {&best->chain, all, 1},
                       {&best->p, asker->map.n_parameter, 1}))
        return false;
    for (size_t k = 0; k < all; k++)
        best->theta[work->order[k]] =
            k < work->n ? work->block->best.theta[k] : work->theta[k - work->n];
    if (fit_map_natural(&asker->map, best->theta, best->p))
        fit_map_chain(&asker->map, best->p, best->chain);
    best->prediction = work->block->best.at;
    best->d_prediction = best->prediction + n_row;
    best->noise = asker->objective.has_noise ? best->d_prediction + n_row * all : NULL;
    best->d_noise = best->noise ? best->noise + n_row : NULL;
    return true;
}

/* The value for linear predictions after a step, own parameters first, and what was computed for
 * it. */
struct inner_value {
    struct fit_point best;
    struct kinks_linear linear;
    struct fit_answer answer;
    double value;
};

static bool evaluate(struct joint_work *work, const double *step, struct inner_value *inner,
                     struct arena *arena)
{
    size_t all = work->n + work->s;
    if (!take_best(work, &inner->best, arena) ||
        !kinks_linear_init(&inner->linear, work->asker, arena))
        return false;
    for (size_t k = 0; k < all; k++)
        inner->linear.step[work->order[k]] = step[k];
    inner->value = joint_weight(work->joint, (size_t)(work->block - work->joint->block))
                   * kinks_linear_value(&inner->linear, work->asker, &inner->best,
                                        inner->linear.step, &inner->answer);
    return true;
}

/* The lengths of the columns at the best point. Parameters with less than LEAST of another's
 * influence would not be damped, and go as far as they may: they count as if they had that, and own
 * ones are held. */
static void measure(struct joint_work *work, const double *theta)
{
    struct joint_inner *inner = &work->block->inner;
    const struct fit_map *map = &work->asker->map;
    size_t all = work->n + work->s;
    double most = 0;
    for (size_t k = 0; k < all; k++) {
        size_t j = work->order[k];
        inner->scale[k] = sqrt(matrix_squares(k + 1, inner->reduced.triangle + k * all));
        most = fmax(most, inner->scale[k] * fit_map_size(map, j, theta[j]));
    }
    for (size_t k = 0; k < all; k++) {
        double size = fit_map_size(map, work->order[k], theta[work->order[k]]);
        bool is_idle = inner->scale[k] * size < LEAST * most;
        if (is_idle && size > 0)
            inner->scale[k] = LEAST * most / size;
        if (k < work->n)
            inner->hold.is_held[k] |= is_idle;
    }
}

/* At the best point: the metric of steps, and the own parameters that a bound holds. */
static void begin(struct joint_work *work, const struct inner_value *inner)
{
    struct joint_block *block = work->block;
    struct joint_reduced *reduced = &block->inner.reduced;
    joint_block_reduce(work, &inner->answer, CURVATURE_EXPECTED, NULL, reduced->triangle,
                       reduced->rhs);
    joint_region_set(&work->region, &block->best, block->best.theta, NULL, &block->reach);
    hold_begin(&work->region, &block->inner.hold);
    measure(work, inner->best.theta);
}

void joint_kinks_take(struct joint_work *work)
{
    struct joint_inner *inner = &work->block->inner;
    size_t all = work->n + work->s;
    if (work->joint->line.begins) {
        memset(inner->step, 0, all * sizeof *inner->step);
        inner->value = work->block->best.f;
    } else if (work->joint->line.takes) {
        memcpy(inner->step, inner->candidate, all * sizeof *inner->step);
        inner->value = inner->candidate_value;
    }
}

bool joint_kinks_rows(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    struct joint_reduced *reduced = &block->inner.reduced;
    const struct joint_line *line = &work->joint->line;
    struct inner_value inner;
    joint_kinks_take(work);
    if (!evaluate(work, block->inner.step, &inner, arena))
        return false;
    if (line->begins && !line->holds)
        begin(work, &inner);
    if (line->holds) {
        memcpy(work->region.model.step, block->inner.candidate, work->n * sizeof(double));
        hold_stopped(&work->region, &block->inner.hold, line->n_hold > HOLD_THERE);
    }
    joint_block_reduce(work, &inner.answer, line->search.newton ? CURVATURE_KINKS : CURVATURE_ABOVE,
                       inner.linear.step, reduced->triangle, reduced->rhs);
    memcpy(reduced->scale, block->inner.scale, work->n * sizeof *reduced->scale);
    damped_schur(&work->region, reduced, &block->inner.hold, line->damping);
    return true;
}

/* The own parameters follow a step of those above. */
static void follow(struct joint_work *work, const double *shared_step)
{
    struct joint_block *block = work->block;
    struct joint_inner *inner = &block->inner;
    joint_region_set(&work->region, &block->best, block->best.theta, NULL, &block->reach);
    inner->is_stopped = damped_follow(&work->region, &inner->reduced, &inner->hold,
                                      work->joint->line.damping, shared_step);
    memcpy(inner->candidate, work->region.model.step, work->n * sizeof *inner->candidate);
}

bool joint_kinks_value(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    const struct joint_line *line = &work->joint->line;
    struct inner_value inner;
    double *candidate = block->inner.candidate, *shared_step = candidate + work->n;
    for (size_t k = 0; k < work->s; k++)
        shared_step[k] = work->trial[k] - work->theta[k];
    if (!line->halves)
        follow(work, shared_step);
    block->inner.candidate_distance = 0;
    for (size_t k = 0; k < work->n; k++) {
        if (line->halves)
            candidate[k] = 0.5 * (candidate[k] + block->inner.step[k]);
        double length = candidate[k] * block->inner.scale[k];
        block->inner.candidate_distance += length * length;
    }
    if (!evaluate(work, block->inner.candidate, &inner, arena))
        return false;
    block->inner.candidate_value = inner.value;
    return true;
}

bool joint_kinks_alone(struct joint_work *work, struct arena *arena)
{
    struct joint *joint = work->joint;
    struct fit_point best;
    struct kinks kinks;
    if (!take_best(work, &best, arena) ||
        !kinks_init(&kinks, &joint->search.model, work->asker, arena))
        return false;
    best.gradient = joint->point.gradient;
    kinks_step(&kinks, &best);
    return true;
}
