/* A fit over many datasets by libLBFGS, as data-parallel training does it: objectives and gradients are summed, and nothing is
 * known of the arrowhead. For comparison, and for many shared parameters. libLBFGS runs in a coroutine, which is suspended
 * while the blocks evaluate its trial. As in descent.c it searches over what no bound holds until a bound is met or nothing
 * better is found. Stopping tests and statistics are those of the other method.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_descent.h"

#include "fit/joint_internal.h"
#include "fit/lbfgs.h"
#include "fit/matrix.h"
#include "par/coroutine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 10, FEW_BARREN = 3, MAX_MISSED = 20, STACK = 256 * 1024 };
/* As in descent.c: the largest remaining decrease that is no failure, in tolerances, if nothing better is found. */
static const double LOOSEST_TEST = 1e3;

/* All parameters in a vector: the shared ones, those of groups, and those of the blocks that take part. */
struct joint_descent {
    struct joint *joint;
    struct coroutine *coroutine;
    bool is_running, is_stopping, has_ended;
    enum outcome outcome;             /* once it has ended */
    size_t n, n_loose;
    double *block;                    /* the memory of all arrays */
    double *theta, *slope, *lower, *upper, *length; /* n: the best point; length: of the derivatives' columns */
    double *trial, *trial_slope, *base, *place; /* n: libLBFGS's latest trial; its latest iterate and trial in the box */
    double *origin, *origin_slope, *diagonal;   /* n_loose: of the round */
    size_t *loose;                    /* n */
    double f, shrink;                 /* of the trial: NaN: it could not be evaluated; of the first step of a round */
    int n_missed;
};

bool joint_descent_init(struct joint *joint)
{
    struct joint_descent *descent = joint->descent = calloc(1, sizeof *descent);
    if (!descent)
        return false;
    descent->joint = joint;
    return (descent->coroutine = coroutine_new(STACK)) != NULL;
}

static void stop(struct joint_descent *descent)
{
    descent->is_stopping = true;
    while (descent->is_running)
        descent->is_running = coroutine_resume(descent->coroutine);
    descent->is_stopping = false;
    free(descent->block);
    free(descent->loose);
    descent->block = NULL;
    descent->loose = NULL;
}

void joint_descent_fini(struct joint *joint)
{
    struct joint_descent *descent = joint->descent;
    if (!descent)
        return;
    if (descent->coroutine) {
        stop(descent);
        coroutine_free(descent->coroutine);
    }
    free(descent);
    joint->descent = NULL;
}

static size_t n_groups(const struct joint *joint) { return joint->group ? joint->levels.n_group[0] : 0; }

/* Where the parameters above block i are in the vector. */
static void find_columns(struct joint *joint, size_t i, uint32_t *column)
{
    size_t n = joint->n_group;
    joint_columns(joint, i, column);
    for (size_t k = 0; k < joint->s_block; k++)
        column[k] = (uint32_t)(column[k] >= n ? column[k] - n : joint->s + joint->levels.group[0][i] * n + column[k]);
}

static bool make(struct joint_descent *descent)
{
    struct joint *joint = descent->joint;
    size_t n = joint->s + n_groups(joint) * joint->n_group, at = n;
    for (size_t i = 0; i < joint->n_active; i++)
        n += joint_active(joint, i)->n;
    descent->n = n;
    descent->block = calloc(12 * n + 1, sizeof *descent->block);
    descent->loose = calloc(n + 1, sizeof *descent->loose);
    if (!descent->block || !descent->loose)
        return false;
    double **const array[] = {&descent->theta, &descent->slope, &descent->lower, &descent->upper, &descent->length,
                              &descent->trial, &descent->trial_slope, &descent->base, &descent->place, &descent->origin,
                              &descent->origin_slope, &descent->diagonal};
    for (size_t k = 0; k < sizeof array / sizeof *array; k++)
        *array[k] = descent->block + k * n;
    memcpy(descent->lower, joint->asker.map.lower, joint->s * sizeof(double));
    memcpy(descent->upper, joint->asker.map.upper, joint->s * sizeof(double));
    for (size_t g = 0; g < n_groups(joint); g++)
        for (size_t k = 0; k < joint->n_group; k++) {
            descent->lower[joint->s + g * joint->n_group + k] = joint->group_own->asker.map.lower[k];
            descent->upper[joint->s + g * joint->n_group + k] = joint->group_own->asker.map.upper[k];
        }
    for (size_t i = 0; i < joint->n_active; at += joint_active(joint, i++)->n) {
        const struct joint_block *block = joint_active(joint, i);
        memcpy(descent->lower + at, block->box, block->n * sizeof(double));
        memcpy(descent->upper + at, block->box + block->n, block->n * sizeof(double));
    }
    return true;
}

/* The gradient of the best or trial sides, and the squared lengths of their derivatives' columns unless `square` is NULL. */
static void sum_slopes(struct joint_descent *descent, bool of_trial, double *slope, double *square)
{
    struct joint *joint = descent->joint;
    size_t at = joint->s + n_groups(joint) * joint->n_group;
    uint32_t *column = joint->column;
    memset(slope, 0, descent->n * sizeof *slope);
    for (size_t i = 0; i < joint->n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        const struct joint_side *side = of_trial ? &block->trial : &block->best;
        size_t all = block->n + joint->s_block;
        find_columns(joint, joint->active[i], column);
        for (size_t k = 0; k < all; k++) {
            size_t j = k < block->n ? at + k : column[k - block->n];
            slope[j] += joint_slope(side->triangle, all, side->rhs, k);
            if (square)
                square[j] += matrix_squares(k + 1, side->triangle + k * all);
        }
        at += block->n;
    }
}

static void gather_best(struct joint_descent *descent)
{
    const struct joint *joint = descent->joint;
    double *to = descent->theta;
    memcpy(to, joint->theta, joint->s * sizeof *to);
    to += joint->s;
    for (size_t g = 0; g < n_groups(joint); g++, to += joint->n_group)
        memcpy(to, joint->group[g].side.theta, joint->n_group * sizeof *to);
    for (size_t i = 0; i < joint->n_active; to += joint_active(joint, i++)->n)
        memcpy(to, joint_active(joint, i)->best.theta, joint_active(joint, i)->n * sizeof *to);
}

static void scatter_trial(const struct joint_descent *descent)
{
    struct joint *joint = descent->joint;
    const double *from = descent->trial;
    memcpy(joint->trial, from, joint->s * sizeof *from);
    from += joint->s;
    for (size_t g = 0; g < n_groups(joint); g++, from += joint->n_group)
        memcpy(joint->group[g].trial, from, joint->n_group * sizeof *from);
    for (size_t i = 0; i < joint->n_active; from += joint_active(joint, i++)->n)
        memcpy(joint_active(joint, i)->trial.theta, from, joint_active(joint, i)->n * sizeof *from);
}

/* Lets the blocks evaluate descent->trial; takes it if it is better. False: the search must stop. */
static bool evaluate(struct joint_descent *descent, bool *better)
{
    scatter_trial(descent);
    coroutine_suspend(descent->coroutine);
    *better = false;
    if (descent->is_stopping)
        return false;
    if (!isnan(descent->f))
        sum_slopes(descent, true, descent->trial_slope, NULL);
    *better = descent->f < descent->joint->f;
    if (*better) {
        joint_take(descent->joint);
        memcpy(descent->theta, descent->trial, descent->n * sizeof *descent->theta);
        memcpy(descent->slope, descent->trial_slope, descent->n * sizeof *descent->slope);
    }
    descent->n_missed = *better ? 0 : descent->n_missed + 1;
    return true;
}

/* Puts x, clipped to the box, into the trial. Returns whether it was outside. */
static bool place(struct joint_descent *descent, const double *x)
{
    bool is_outside = false;
    memcpy(descent->trial, descent->base, descent->n * sizeof *descent->trial);
    for (size_t k = 0; k < descent->n_loose; k++) {
        size_t j = descent->loose[k];
        descent->trial[j] = fmin(descent->upper[j], fmax(descent->lower[j], x[k]));
        is_outside = is_outside || x[k] != descent->trial[j];
    }
    return is_outside;
}

/* A step onto bounds ends the round if it is better; otherwise it is as one that could not be evaluated, and a shorter one is
 * tried: a short one along the projected gradient goes downhill. */
static bool try_point(void *context, const double *x, double *f, double *gradient)
{
    struct joint_descent *descent = context;
    bool is_outside = place(descent, x), better;
    if (!evaluate(descent, &better) || (is_outside && better))
        return false;
    bool is_failed = is_outside || isnan(descent->f);
    memcpy(descent->place, descent->trial, descent->n * sizeof *descent->place);
    *f = isnan(descent->f) ? INFINITY : descent->f; /* with slope 0 */
    for (size_t k = 0; k < descent->n_loose; k++)
        gradient[k] = is_failed ? 0 : descent->trial_slope[descent->loose[k]];
    return descent->n_missed < MAX_MISSED;
}

static bool has_met(struct joint_descent *descent)
{
    struct joint *joint = descent->joint;
    struct stopping *stopping = &joint->stopping;
    double promise = joint_promise(joint), tolerance = stopping_tolerance(stopping, &joint->point);
    bool is_exact = stopping_is_exact(stopping, &joint->point);
    stopping->met = is_exact ? STOP_exact : promise <= tolerance ? STOP_decrease : STOP_none;
    return stopping->met != STOP_none || joint->outcome != OUTCOME_not_run;
}

static bool accept(void *context)
{
    struct joint_descent *descent = context;
    memcpy(descent->base, descent->place, descent->n * sizeof *descent->base);
    descent->joint->n_iteration++;
    return !has_met(descent);
}

/* The parameters that no bound holds, and the first guess of their second derivatives: those of the sum of squares. */
static void begin_round(struct joint_descent *descent)
{
    memset(descent->length, 0, descent->n * sizeof *descent->length);
    sum_slopes(descent, false, descent->slope, descent->length);
    descent->n_loose = 0;
    for (size_t j = 0; j < descent->n; j++) {
        double theta = descent->theta[j], slope = descent->slope[j];
        if ((theta <= descent->lower[j] && slope >= 0) || (theta >= descent->upper[j] && slope <= 0))
            continue;
        size_t k = descent->n_loose++;
        descent->loose[k] = j;
        descent->origin[k] = theta;
        descent->origin_slope[k] = slope;
        descent->diagonal[k] = descent->length[j] > 0 ? sqrt(descent->length[j] / descent->shrink) : 1;
    }
    memcpy(descent->base, descent->theta, descent->n * sizeof *descent->base);
    descent->n_missed = 0;
}

static enum outcome run_rounds(struct joint_descent *descent, double *scratch)
{
    struct joint *joint = descent->joint;
    struct stopping *stopping = &joint->stopping;
    for (int n_barren = 0; !has_met(descent);) {
        double before = joint->f, tolerance = stopping_tolerance(stopping, &joint->point);
        begin_round(descent);
        const struct lbfgs_search search = {.n = descent->n_loose, .origin = descent->origin, .f = before, .trial = try_point,
                                            .gradient = descent->origin_slope, .diagonal = descent->diagonal,
                                            .accepted = accept, .context = descent, .memory = MEMORY, .scratch = scratch};
        if (search.n > 0 && lbfgs_search_run(&search) == LBFGS_NO_MEMORY)
            return OUTCOME_out_of_memory;
        if (descent->is_stopping || joint->outcome != OUTCOME_not_run || has_met(descent))
            break;
        bool is_barren = before - joint->f <= tolerance;
        n_barren = is_barren ? n_barren + 1 : 0;
        descent->shrink = is_barren ? 0.1 * descent->shrink : 1;
        if (n_barren < FEW_BARREN)
            continue;
        if (joint_promise(joint) > LOOSEST_TEST * tolerance) {
            snprintf(joint->asker.reason, sizeof joint->asker.reason, "no objective below %.6g was found, and a Gauss-Newton "
                     "step predicts a decrease of %.3g", joint->f, joint_promise(joint));
            return OUTCOME_stalled;
        }
        joint->asker.notes |= NOTE_noise_floor;
        stopping->met = STOP_noise;
        break;
    }
    return OUTCOME_converged;
}

static void search(void *argument)
{
    struct joint_descent *descent = argument;
    double *scratch = aligned_alloc(64, (lbfgs_scratch(descent->n + 1) * sizeof *scratch + 63) / 64 * 64);
    descent->outcome = scratch ? run_rounds(descent, scratch) : OUTCOME_out_of_memory;
    free(scratch);
}

enum outcome joint_descent_next(struct joint *joint)
{
    struct joint_descent *descent = joint->descent;
    if (!descent->has_ended) {
        stop(descent); /* one that fewer blocks or other tolerances have interrupted */
        if (!make(descent))
            return OUTCOME_out_of_memory;
        gather_best(descent);
        descent->shrink = 1;
        coroutine_prepare(descent->coroutine, search, descent);
        descent->is_running = coroutine_resume(descent->coroutine);
    }
    descent->has_ended = false;
    return descent->is_running ? OUTCOME_not_run : joint->outcome != OUTCOME_not_run ? joint->outcome : descent->outcome;
}

static double f_of(const struct joint_block *block) { return block->trial.f; }

bool joint_descent_judge(struct joint *joint)
{
    struct joint_descent *descent = joint->descent;
    bool has_failed = false;
    for (size_t i = 0; i < joint->n_active; i++)
        has_failed = has_failed || joint_active(joint, i)->has_failed;
    descent->f = has_failed ? (double)NAN : joint_total(joint, f_of);
    descent->is_running = coroutine_resume(descent->coroutine);
    descent->has_ended = !descent->is_running;
    return descent->is_running;
}
