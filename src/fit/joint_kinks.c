/* Steps of a fit over many datasets whose objective has kinks. As in a single fit (trust_kinks.c) a step minimises the
 * objective itself for linear predictions by a few quadratic steps, first with reweighted squares, which always lead
 * downhill but creep along kinks, then with Newton's curvature of the rounded kinks, which finds the right kinks at once.
 * Steps are kept short by one damping for all parameters instead of a radius for each dataset, so that those of all levels
 * together are downhill: the proximal form of Levenberg and Marquardt's method (Nielsen 1999 for the choice of the
 * damping). Each inner step takes two passes without an evaluation: in the first one the blocks reduce the rows at the
 * inner point, seen from the best point; in the second one they follow the step of the parameters above and give their
 * values.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_kinks.h"

#include "fit/joint_errors.h"

#include "fit/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first damping, in units of the squares of the predictions' derivatives over the standard deviations; below LITTLE it does
 * not matter; and what is none. */
static const double FIRST = 10, LITTLE = 1e-6, NONE = 1e-13;
/* How often parameters that were stopped are held where they were stopped, and all in all. */
enum { HOLD_THERE = 3, HOLD_MOST = 5 };

void joint_kinks_begin(struct joint *joint)
{
    struct joint_line *line = &joint->line;
    line->damping = line->damping > 0 ? line->damping : FIRST;
    line->growth = fmax(line->growth, 2);
    line->begins = true;
    line->takes = line->newton = line->holds = false;
    line->n_inner = line->n_cut = line->n_hold = 0;
    line->part = 1;
    line->first = line->value = line->least = joint->above.f;
    memcpy(line->shared, joint->above.theta, joint->above.s * sizeof *line->shared);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        memcpy(joint->above.group[g].line, joint->above.group[g].reduced.theta, joint->above.n_group * sizeof(double));
}

bool joint_kinks_is_damped(const struct joint *joint) { return joint->line.damping > LITTLE; }

void joint_kinks_loosen(struct joint *joint)
{
    joint->line.damping *= 0.1;
}

void joint_kinks_adapt(struct joint *joint, double ratio)
{
    struct joint_line *line = &joint->line;
    if (ratio > 0) {
        double bent = 2 * fmin(ratio, 1) - 1;
        line->damping = fmax(NONE, line->damping * fmax(0.1, 1 - bent * bent * bent));
        line->growth = 2;
    } else {
        line->damping *= line->growth;
        line->growth *= 2;
    }
}

static void scales_of(const void *context, const struct joint_block *block, double *square)
{
    const struct joint *joint = context;
    for (size_t k = 0; k < joint->above.s; k++)
        square[k] = block->inner.scale[block->n + k] * block->inner.scale[block->n + k];
}

bool joint_kinks_measure(struct joint *joint)
{
    struct joint_line *line = &joint->line;
    if (!line->begins || line->holds)
        return true;
    if (!joint->above.group && !joint_totals(joint, joint->above.s, scales_of, joint, line->scale))
        return false;
    if (joint->above.group)
        memset(line->scale, 0, joint->above.s * sizeof *line->scale);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        memset(joint->above.group[g].line_scale, 0, joint->above.n_group * sizeof(double));
    for (size_t a = 0; joint->above.group && a < joint->part.n_active; a++) {
        size_t i = joint->part.active[a];
        struct joint_group *group = &joint->above.group[joint->levels.group[0][i]];
        joint_columns(joint, i, joint->above.column);
        for (size_t k = 0; k < joint->above.s_block; k++) {
            double length = joint->block[i].inner.scale[joint->block[i].n + k];
            bool is_group = k < joint->above.n_group;
            double *square = is_group ? &group->line_scale[k] : &line->scale[joint->above.column[k] - joint->above.n_group];
            *square += length * length;
        }
    }
    for (size_t k = 0; k < joint->above.s; k++)
        line->scale[k] = sqrt(line->scale[k]);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        for (size_t k = 0; k < joint->above.n_group; k++)
            joint->above.group[g].line_scale[k] = sqrt(joint->above.group[g].line_scale[k]);
    return true;
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
        joint_hold_stopped(own, &group->hold, joint->line.n_hold > HOLD_THERE);
    joint_damped_rest(own, &reduced, &group->hold, joint->line.damping);
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
        group->is_stopped = joint_damped_follow(own, &reduced, &group->hold, joint->line.damping, own->rhs);
        trust_model_target(&own->model, &own->point, group->trial);
    }
}

/* The part of the way to the trial that is tried. */
static double part_way(const struct joint_line *line, double from, double to)
{
    return line->part == 1 ? to : from + line->part * (to - from);
}

/* The squared length of the step of the parameters above all blocks. */
static double distance_above(const struct joint *joint)
{
    const struct joint_line *line = &joint->line;
    double sum = 0;
    for (size_t k = 0; k < joint->above.s; k++) {
        double step = (part_way(line, joint->above.theta[k], joint->above.trial[k]) - joint->above.theta[k]) * line->scale[k];
        sum += step * step;
    }
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        const struct joint_group *group = &joint->above.group[g];
        for (size_t k = 0; k < joint->above.n_group; k++) {
            double from = group->reduced.theta[k], step = (part_way(line, from, group->trial[k]) - from) * group->line_scale[k];
            sum += step * step;
        }
    }
    return sum;
}

/* The inner step becomes the best one so far. */
static void take(struct joint *joint)
{
    struct joint_line *line = &joint->line;
    line->takes = true;
    for (size_t k = 0; k < joint->above.s; k++)
        line->shared[k] = part_way(line, joint->above.theta[k], joint->above.trial[k]);
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        struct joint_group *group = &joint->above.group[g];
        for (size_t k = 0; k < joint->above.n_group; k++)
            group->line[k] = part_way(line, group->reduced.theta[k], group->trial[k]);
    }
}

static double value_of(const struct joint_block *block) { return block->inner.candidate_value; }
static double distance_of(const struct joint_block *block) { return block->inner.candidate_distance; }

/* Whether bounds or limits stopped some parameter that others do not know of. */
static bool is_stopped(const struct joint *joint)
{
    struct joint_facts facts = {.any = 0};
    for (size_t a = 0; a < joint->part.n_active; a++)
        facts.any |= joint_active(joint, a)->inner.is_stopped;
    for (size_t g = 0; g < joint_n_group(joint); g++)
        facts.any |= joint->above.group[g].is_stopped;
    joint_agree(joint, &facts);
    return facts.any;
}

enum joint_kinks_next joint_kinks_judge(struct joint *joint)
{
    struct joint_line *line = &joint->line;
    double value = joint_total(joint, value_of), distance = joint_total(joint, distance_of) + distance_above(joint);
    double damped = value + 0.5 * line->damping * distance;
    bool fails = line->n_inner == 0 && !(damped < line->first);
    line->holds = fails && line->n_hold < HOLD_MOST && line->n_cut == 0 && is_stopped(joint);
    if (line->holds) {
        line->n_hold++;
        return JOINT_KINKS_ROWS;
    }
    if (fails && line->n_cut++ < TRUST_KINKS_CUT) {
        line->part *= 0.5;
        return JOINT_KINKS_VALUE;
    }
    double gain = line->least - damped;
    bool is_better = gain > 0, was_newton = line->newton;
    line->takes = false;
    if (is_better) {
        take(joint);
        line->least = damped;
        line->value = value;
    }
    line->begins = false;
    line->newton = is_better;
    line->part = 1;
    bool ends = is_better ? gain <= TRUST_KINKS_LITTLE * (line->first - line->least) : !was_newton;
    return ++line->n_inner >= TRUST_KINKS_INNER || ends ? JOINT_KINKS_DONE : JOINT_KINKS_ROWS;
}

void joint_kinks_target(struct joint *joint)
{
    memcpy(joint->above.trial, joint->line.shared, joint->above.s * sizeof *joint->above.trial);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        memcpy(joint->above.group[g].trial, joint->above.group[g].line, joint->above.n_group * sizeof(double));
}

bool joint_kinks_room(struct joint_block *block, const struct joint_work *work)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t all = work->n + work->s, each = objective->n_row * (1 + all) * (objective->has_noise ? 2 : 1);
    double *memory = calloc(2 * each + 2 * all + 3 * work->n + 1, sizeof *memory);
    block->inner.memory = memory;
    if (!memory)
        return false;
    block->best.at = memory;
    block->trial.at = memory + each;
    block->inner.step = memory + 2 * each;
    block->inner.candidate = block->inner.step + all;
    block->inner.hold.by = block->inner.candidate + all;
    block->inner.hold.is_held = (bool *)(block->inner.hold.by + work->n); /* two bools need less room than two doubles */
    block->inner.hold.is_stopped = block->inner.hold.is_held + work->n;
    return true;
}

void joint_kinks_keep(const struct joint_work *work, struct joint_reduced *reduced)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t n_row = objective->n_row, n_slope = n_row * (work->n + work->s);
    double *to = reduced->at;
    memcpy(to, work->at.prediction, n_row * sizeof *to);
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
    if (!ARENA_DOUBLES(arena, {&best->theta, all, 1}, {&best->chain, all, 1}, {&best->p, asker->map.n_parameter, 1}))
        return false;
    for (size_t k = 0; k < all; k++)
        best->theta[work->order[k]] = k < work->n ? work->block->best.theta[k] : work->theta[k - work->n];
    if (fit_map_natural(&asker->map, best->theta, best->p))
        fit_map_chain(&asker->map, best->p, best->chain);
    best->prediction = work->block->best.at;
    best->d_prediction = best->prediction + n_row;
    best->noise = asker->objective.has_noise ? best->d_prediction + n_row * all : NULL;
    best->d_noise = best->noise ? best->noise + n_row : NULL;
    return true;
}

/* The value for linear predictions after a step, own parameters first, and what was computed for it. */
struct inner_value {
    struct fit_point best;
    struct trust_kinks kinks;
    struct fit_answer answer;
    double *step; /* in the model's order */
    double value;
};

static bool evaluate(struct joint_work *work, const double *step, struct inner_value *inner, struct arena *arena)
{
    size_t all = work->n + work->s;
    if (!take_best(work, &inner->best, arena) || !trust_kinks_init(&inner->kinks, work->asker, arena)
        || !ARENA_DOUBLES(arena, {&inner->step, all, 1}))
        return false;
    for (size_t k = 0; k < all; k++)
        inner->step[work->order[k]] = step[k];
    inner->value = joint_weight(work->joint, (size_t)(work->block - work->joint->block))
                   * trust_kinks_value(&inner->kinks, work->asker, &inner->best, inner->step, &inner->answer);
    return true;
}

/* At the best point: the metric of steps, and the own parameters that a bound holds. */
static void begin(struct joint_work *work, const struct inner_value *inner)
{
    struct joint_block *block = work->block;
    struct joint_reduced *reduced = &block->inner.reduced;
    size_t all = work->n + work->s;
    joint_block_reduce(work, &inner->answer, CURVATURE_EXPECTED, NULL, reduced->triangle, reduced->rhs);
    for (size_t k = 0; k < all; k++)
        block->inner.scale[k] = sqrt(matrix_squares(k + 1, reduced->triangle + k * all));
    joint_region_set(&work->region, &block->best, block->best.theta, NULL, &block->reach);
    joint_hold_begin(&work->region, &block->inner.hold);
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
        joint_hold_stopped(&work->region, &block->inner.hold, line->n_hold > HOLD_THERE);
    }
    joint_block_reduce(work, &inner.answer, line->newton ? CURVATURE_KINKS : CURVATURE_ABOVE, inner.step, reduced->triangle,
                       reduced->rhs);
    memcpy(reduced->scale, block->inner.scale, work->n * sizeof *reduced->scale);
    joint_damped_rest(&work->region, reduced, &block->inner.hold, line->damping);
    return true;
}

bool joint_kinks_value(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    const struct joint_line *line = &work->joint->line;
    struct inner_value inner;
    double *shared_step = work->move + work->n;
    for (size_t k = 0; k < work->s; k++)
        shared_step[k] = work->trial[k] - work->theta[k];
    joint_region_set(&work->region, &block->best, block->best.theta, NULL, &block->reach);
    struct joint_inner *own = &block->inner;
    own->is_stopped = joint_damped_follow(&work->region, &own->reduced, &own->hold, line->damping, shared_step);
    block->inner.candidate_distance = 0;
    for (size_t k = 0; k < work->n + work->s; k++) {
        double *to = &block->inner.candidate[k];
        *to = line->part * (k < work->n ? work->region.model.step[k] : shared_step[k - work->n]);
        block->inner.candidate_distance += k < work->n ? *to * block->inner.scale[k] * *to * block->inner.scale[k] : 0;
    }
    if (!evaluate(work, block->inner.candidate, &inner, arena))
        return false;
    block->inner.candidate_value = inner.value;
    return true;
}
