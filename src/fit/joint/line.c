/* Steps of a fit over many datasets whose objective is far from a sum of squares: the inner steps
 * of fit/search/kinks.h. Steps are kept short by one damping for all parameters instead of a radius
 * for each dataset, so that those of all levels together are downhill: the proximal form of
 * Levenberg and Marquardt's method (Nielsen 1999 for the choice of the damping). Each takes two
 * passes without an evaluation: in the first one the blocks reduce the rows at the inner point,
 * seen from the best point; in the second one they follow the step of the parameters above and give
 * their values. A single block without parameters of its own needs no damping: it finds the step
 * within the trust region of the parameters above, in one pass.
 * SPDX-License-Identifier: BSD-3-Clause */

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

/* The squared length of the step of the parameters above all blocks. */
static double distance_above(const struct joint *joint)
{
    const double *scale = joint->line.scale;
    double sum = 0;
    for (size_t i = 0; i < joint_vector_above(joint); i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        for (size_t k = 0; k < part.n; k++) {
            double step = (part.trial[k] - part.best[k]) * *scale++;
            sum += step * step;
        }
    }
    return sum;
}

/* The best point or the latest inner step becomes the best one so far. */
static void keep(struct joint *joint, bool is_best)
{
    double *theta = joint->line.theta;
    for (size_t i = 0; i < joint_vector_above(joint); i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        memcpy(theta, is_best ? part.best : part.trial, part.n * sizeof *theta);
        theta += part.n;
    }
}

/* The trial goes half of the way back to the best inner step; so do the blocks. */
static void go_half(struct joint *joint)
{
    const double *theta = joint->line.theta;
    for (size_t i = 0; i < joint_vector_above(joint); i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        for (size_t k = 0; k < part.n; k++)
            part.trial[k] = 0.5 * (part.trial[k] + *theta++);
    }
    joint->line.halves = true;
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
    keep(joint, false);
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
    joint->line.halves = false;
    enum asked asked = run_pass(joint, JOINT_ROWS);
    if (asked == ASKED_OK)
        asked = set_step(joint);
    return asked == ASKED_OK ? find_value(joint, value) : asked;
}

/* Holds what stopped the first step, if that is new, or halves the step. */
static enum asked shorten(struct kinks_search *search, double *value)
{
    struct joint *joint = search->context;
    struct joint_line *line = &joint->line;
    line->holds = line->begins && !line->halves && line->n_hold < HOLD_MOST && is_stopped(joint);
    line->n_hold += line->holds;
    if (line->holds)
        return step(search, value);
    go_half(joint);
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
    keep(joint, true);
    return kinks_run(&line->search);
}

/* Whether the stage's errors could be as large as what the model promises: then it ends without
 * another search for a step. */
static bool is_stage_over(const struct fit_search *search)
{
    return search->loose > 0 &&
           search->model.promise <= stopping_noise_ceiling(&search->stopping, search->best);
}

static enum asked look(struct joint *joint)
{
    struct fit_search *search = &joint->search;
    const struct kinks_search *found = &joint->line.search;
    /* What the damping hides, or the reach of the first steps, may still be there without them. */
    for (;; joint->line.damping *= 0.1, joint_free_reaches(joint, 0)) {
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

enum asked joint_line_look(struct joint *joint)
{
    struct fit_search *search = &joint->search;
    double promise = search->model.promise;
    if (joint_is_alone(joint))
        return run_pass(joint, JOINT_ALONE);
    enum asked asked = is_stage_over(search) ? ASKED_OK : look(joint);
    /* a stage ends by the model's */
    search->model.promise = search->loose > 0 ? promise : search->model.promise;
    return asked;
}

void joint_line_target(struct joint *joint)
{
    joint_vector_put(joint, joint_vector_above(joint), joint->line.theta);
}

/* The first steps are short, whatever the damping, so that logarithms stay off plateaus. */
static void grow_reaches(struct joint *joint)
{
    trust_reach_grow(&joint->search.model.reach, TRUST_REACH_GROWTH_SHARED);
    for (size_t i = 0; i < joint->part.n_active; i++)
        trust_reach_grow(&joint_active(joint, i)->reach, TRUST_REACH_GROWTH_SHARED);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        trust_reach_grow(&joint->above.group[g].reach, TRUST_REACH_GROWTH_SHARED);
}

void joint_line_adapt(struct joint *joint, double ratio)
{
    struct joint_line *line = &joint->line;
    if (ratio > 0) {
        grow_reaches(joint);
        double bent = 2 * fmin(ratio, 1) - 1;
        line->damping = fmax(NONE, line->damping * fmax(0.1, 1 - bent * bent * bent));
        line->growth = 2;
    } else {
        line->damping *= line->growth;
        line->growth *= 2;
    }
}
