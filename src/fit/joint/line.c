/* Steps of a fit over many datasets whose objective has kinks: the inner steps of
 * fit/search/kinks.h. Steps are kept short by one damping for all parameters instead of a radius
 * for each dataset, so that those of all levels together are downhill: the proximal form of
 * Levenberg and Marquardt's method (Nielsen 1999 for the choice of the damping). Each takes two
 * passes without an evaluation: in the first one the blocks reduce the rows at the inner point,
 * seen from the best point; in the second one they follow the step of the parameters above and give
 * their values.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/line.h"

#include "fit/joint/kinks.h"
#include "fit/joint/model.h"
#include "fit/joint/pass.h"
#include "fit/joint/vector.h"

#include <math.h>
#include <string.h>

/* The first damping, in units of the squares of the predictions' derivatives over the standard
 * deviations; below LITTLE it does not matter; and what is none. */
static const double FIRST = 10, LITTLE = 1e-6, NONE = 1e-13;
/* How often parameters that were stopped are held. */
enum { HOLD_MOST = 5 };

/* The part of the way to the trial that is tried. */
static double part_way(const struct joint_line *line, double from, double to)
{
    if (line->part == 0)
        return from;
    return line->part == 1 ? to : from + line->part * (to - from);
}

/* The squared length of the step of the parameters above all blocks. */
static double distance_above(const struct joint *joint)
{
    const double *scale = joint->line.scale;
    double sum = 0;
    for (size_t i = 0; i < joint_vector_above(joint); i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        for (size_t k = 0; k < part.n; k++) {
            double step = (part_way(&joint->line, part.best[k], part.trial[k]) - part.best[k]) *
                        *scale++;
            sum += step * step;
        }
    }
    return sum;
}

/* The inner step becomes the best one so far. */
static void keep(struct joint *joint)
{
    double *theta = joint->line.theta;
    for (size_t i = 0; i < joint_vector_above(joint); i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        for (size_t k = 0; k < part.n; k++)
            *theta++ = part_way(&joint->line, part.best[k], part.trial[k]);
    }
}

static void scale_of(const void *context, const struct joint_block *block, size_t k, double *square)
{
    (void)context;
    *square = block->inner.scale[block->n + k] * block->inner.scale[block->n + k];
}

/* The metric of steps of the parameters above, at the best point. False: out of memory. */
static bool measure(struct joint *joint)
{
    struct joint_line *line = &joint->line;
    if (!line->begins || line->holds)
        return true;
    bool is_good = joint_vector_sums(joint, 1, scale_of, NULL, line->scale);
    for (size_t k = 0; k < joint_vector_size(joint) && is_good; k++)
        line->scale[k] = sqrt(line->scale[k]);
    return is_good;
}

static double value_of(const struct joint_block *block) { return block->inner.candidate_value; }
static double distance_of(const struct joint_block *block)
{
    return block->inner.candidate_distance;
}

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

static void judged(struct kinks_search *search, bool is_better)
{
    struct joint *joint = search->context;
    struct joint_line *line = &joint->line;
    line->begins = line->holds = false;
    line->takes = is_better;
    if (!is_better)
        return;
    keep(joint);
    line->value = line->latest;
}

/* The rows at an inner point lead to the next one: a step of the parameters above from the best
 * point, which leaves the trust region's metric as it is. */
static enum asked set_step(struct joint *joint)
{
    struct trust_model *model = &joint->search.model;
    size_t bytes = joint->above.s * sizeof *model->scale;
    double radius = model->reach.radius;
    if (!measure(joint))
        return joint_end_short(joint);
    memcpy(joint->line.kept, model->scale, bytes);
    enum asked asked = joint_set_model(joint, JOINT_INNER);
    if (asked != ASKED_OK)
        return asked;
    model->reach.radius = INFINITY;
    if (joint->above.s > 0)
        trust_model_step(model, &joint->point);
    trust_model_target(model, &joint->point, joint->above.trial);
    joint_kinks_groups_step(joint);
    model->reach.radius = radius;
    memcpy(model->scale, joint->line.kept, bytes);
    return ASKED_OK;
}

static enum asked run_pass(struct joint *joint, enum joint_pass pass)
{
    enum joint_went went = joint_run_pass(joint, pass);
    joint->line.has_fewer = went == JOINT_FEWER;
    return went == JOINT_COUNTS ? ASKED_OK : ASKED_END;
}

static enum asked find_value(struct joint *joint, double *value)
{
    struct joint_line *line = &joint->line;
    enum asked asked = run_pass(joint, JOINT_VALUE);
    if (asked != ASKED_OK)
        return asked;
    line->latest = joint_total(joint, value_of);
    double distance = joint_total(joint, distance_of) + distance_above(joint);
    *value = line->latest + 0.5 * line->damping * distance;
    return ASKED_OK;
}

static enum asked step(struct kinks_search *search, double *value)
{
    struct joint *joint = search->context;
    joint->line.part = 1;
    enum asked asked = run_pass(joint, JOINT_ROWS);
    if (asked == ASKED_OK)
        asked = set_step(joint);
    return asked == ASKED_OK ? find_value(joint, value) : asked;
}

/* Holds what was stopped, if that is new, or halves the step. */
static enum asked shorten(struct kinks_search *search, double *value)
{
    struct joint *joint = search->context;
    struct joint_line *line = &joint->line;
    line->holds = line->part == 1 && line->n_hold < HOLD_MOST && is_stopped(joint);
    line->n_hold += line->holds;
    if (line->holds)
        return step(search, value);
    line->part *= 0.5;
    return find_value(joint, value);
}

static const struct kinks_method method = {.step = step, .shorten = shorten, .judged = judged};

static enum asked run(struct joint *joint)
{
    struct joint_line *line = &joint->line;
    line->search = (struct kinks_search){.method = &method, .context = joint,
                                         .first = joint->above.f};
    line->damping = line->damping > 0 ? line->damping : FIRST;
    line->growth = fmax(line->growth, 2);
    line->begins = true;
    line->takes = line->holds = line->has_fewer = false;
    line->n_hold = 0;
    line->value = joint->above.f;
    line->part = 0;
    keep(joint);
    return kinks_run(&line->search);
}

enum asked joint_line_look(struct joint *joint)
{
    struct fit_search *search = &joint->search;
    const struct kinks_search *found = &joint->line.search;
    for (;; joint->line.damping *= 0.1) {
        enum asked asked = run(joint);
        if (asked == ASKED_OK)
            asked = joint_set_step(joint);
        if (asked != ASKED_OK)
            return asked;
        search->model.promise = fmax(found->first - joint->line.value, 0);
        /* No step: it may be the search's fault. */
        search->model.is_restricted = !(found->least < found->first);
        bool is_damped = joint->line.damping > LITTLE; /* which may hide what the model promises */
        if (!is_damped ||
            search->model.promise > stopping_tolerance(&search->stopping, search->best))
            return ASKED_OK;
    }
}

void joint_line_target(struct joint *joint)
{
    joint_vector_put(joint, joint_vector_above(joint), joint->line.theta);
}

void joint_line_adapt(struct joint *joint, double ratio)
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
