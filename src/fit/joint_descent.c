/* A fit over many datasets by libLBFGS, as data-parallel training does it: objectives and gradients are summed, and nothing is
 * known of the arrowhead. For comparison, and for many shared parameters. As in descent.c it searches over what no bound holds
 * until a bound is met or nothing better is found. Stopping tests and statistics are those of the other method.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_descent.h"

#include "fit/joint_internal.h"
#include "fit/joint_model.h"
#include "fit/lbfgs.h"
#include "fit/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 10, FEW_BARREN = 3, MAX_MISSED = 20 };
/* As in descent.c: the largest remaining decrease that is no failure, in tolerances, if nothing better is found. */
static const double LOOSEST_TEST = 1e3;

/* All parameters in a vector: the shared ones, those of groups, and those of the blocks that take part. */
struct joint_descent {
    struct joint *joint;
    enum joint_went went;             /* of the latest pass */
    size_t n, n_loose;
    double *block;                    /* the memory of all arrays */
    double *theta, *slope, *lower, *upper, *length; /* n: the best point; length: of the derivatives' columns */
    double *trial, *trial_slope, *base, *place; /* n: libLBFGS's latest trial; its latest iterate and trial in the box */
    double *origin, *origin_slope, *diagonal;   /* n_loose: of the round */
    size_t *loose;                    /* n */
    double f, shrink;                 /* of the trial: NaN: it could not be evaluated; of the first step of a round */
    int n_missed;
};

/* Where the parameters above block i are in the vector. */
static void find_columns(struct joint *joint, size_t i, uint32_t *column)
{
    size_t n = joint->above.n_group;
    joint_columns(joint, i, column);
    for (size_t k = 0; k < joint->above.s_block; k++)
        column[k] = (uint32_t)(column[k] >= n ? column[k] - n : joint->above.s + joint->levels.group[0][i] * n + column[k]);
}

static bool make(struct joint_descent *descent)
{
    struct joint *joint = descent->joint;
    size_t n = joint->above.s + joint_n_group(joint) * joint->above.n_group, at = n;
    for (size_t i = 0; i < joint->part.n_active; i++)
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
    memcpy(descent->lower, joint->asker.map.lower, joint->above.s * sizeof(double));
    memcpy(descent->upper, joint->asker.map.upper, joint->above.s * sizeof(double));
    for (size_t g = 0; g < joint_n_group(joint); g++)
        for (size_t k = 0; k < joint->above.n_group; k++) {
            descent->lower[joint->above.s + g * joint->above.n_group + k] = joint->above.group_region->asker.map.lower[k];
            descent->upper[joint->above.s + g * joint->above.n_group + k] = joint->above.group_region->asker.map.upper[k];
        }
    for (size_t i = 0; i < joint->part.n_active; at += joint_active(joint, i++)->n) {
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
    size_t at = joint->above.s + joint_n_group(joint) * joint->above.n_group;
    uint32_t *column = joint->above.column;
    memset(slope, 0, descent->n * sizeof *slope);
    for (size_t i = 0; i < joint->part.n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        const struct joint_reduced *reduced = of_trial ? &block->trial : &block->best;
        size_t all = block->n + joint->above.s_block;
        find_columns(joint, joint->part.active[i], column);
        for (size_t k = 0; k < all; k++) {
            size_t j = k < block->n ? at + k : column[k - block->n];
            slope[j] += joint_slope(reduced->triangle, all, reduced->rhs, k);
            if (square)
                square[j] += matrix_squares(k + 1, reduced->triangle + k * all);
        }
        at += block->n;
    }
}

static void gather_best(struct joint_descent *descent)
{
    const struct joint *joint = descent->joint;
    double *to = descent->theta;
    memcpy(to, joint->above.theta, joint->above.s * sizeof *to);
    to += joint->above.s;
    for (size_t g = 0; g < joint_n_group(joint); g++, to += joint->above.n_group)
        memcpy(to, joint->above.group[g].reduced.theta, joint->above.n_group * sizeof *to);
    for (size_t i = 0; i < joint->part.n_active; to += joint_active(joint, i++)->n)
        memcpy(to, joint_active(joint, i)->best.theta, joint_active(joint, i)->n * sizeof *to);
}

static void scatter_trial(const struct joint_descent *descent)
{
    struct joint *joint = descent->joint;
    const double *from = descent->trial;
    memcpy(joint->above.trial, from, joint->above.s * sizeof *from);
    from += joint->above.s;
    for (size_t g = 0; g < joint_n_group(joint); g++, from += joint->above.n_group)
        memcpy(joint->above.group[g].trial, from, joint->above.n_group * sizeof *from);
    for (size_t i = 0; i < joint->part.n_active; from += joint_active(joint, i++)->n)
        memcpy(joint_active(joint, i)->trial.theta, from, joint_active(joint, i)->n * sizeof *from);
}

static double f_of(const struct joint_block *block) { return block->trial.f; }

/* Lets the blocks evaluate descent->trial; takes it if it is better. False: the search must stop. */
static bool evaluate(struct joint_descent *descent, bool *better)
{
    const struct joint *joint = descent->joint;
    bool has_failed = false;
    *better = false;
    scatter_trial(descent);
    descent->went = joint_run_pass(descent->joint, JOINT_GIVEN);
    if (descent->went != JOINT_COUNTS)
        return false;
    for (size_t i = 0; i < joint->part.n_active; i++)
        has_failed = has_failed || joint_active(joint, i)->has_failed;
    descent->f = has_failed ? (double)NAN : joint_total(joint, f_of);
    if (!isnan(descent->f))
        sum_slopes(descent, true, descent->trial_slope, NULL);
    *better = descent->f < descent->joint->above.f;
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

/* The decrease predicted for the best point. */
static double promise_of(struct joint *joint)
{
    enum asked asked = joint_set_model(joint, JOINT_BEST);
    if (asked == ASKED_FAILED) {
        fit_asker_end(&joint->asker, OUTCOME_stalled, "the derivatives of the residuals are too large to be used");
        joint_end(joint, OUTCOME_stalled);
    }
    return asked == ASKED_OK ? joint_promise_free(joint, JOINT_BEST) : INFINITY;
}

static bool has_met(struct joint_descent *descent)
{
    struct joint *joint = descent->joint;
    struct stopping *stopping = &joint->search.stopping;
    double promise = promise_of(joint), tolerance = stopping_tolerance(stopping, &joint->point);
    stopping->met = stopping_by_value(stopping, &joint->point);
    if (stopping->met == STOP_none && promise <= tolerance)
        stopping->met = STOP_decrease;
    return stopping->met != STOP_none || joint->end.is_cut;
}

static bool accept(void *context)
{
    struct joint_descent *descent = context;
    memcpy(descent->base, descent->place, descent->n * sizeof *descent->base);
    descent->joint->search.n_iteration++;
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
    struct stopping *stopping = &joint->search.stopping;
    for (int n_barren = 0; !has_met(descent);) {
        double before = joint->above.f, tolerance = stopping_tolerance(stopping, &joint->point);
        begin_round(descent);
        const struct lbfgs_search search = {.n = descent->n_loose, .origin = descent->origin, .f = before, .trial = try_point,
                                            .gradient = descent->origin_slope, .diagonal = descent->diagonal,
                                            .accepted = accept, .context = descent, .memory = MEMORY, .scratch = scratch};
        if (search.n > 0 && lbfgs_search_run(&search) == LBFGS_NO_MEMORY)
            return OUTCOME_out_of_memory;
        if (descent->went != JOINT_COUNTS || has_met(descent))
            break;
        bool is_barren = before - joint->above.f <= tolerance;
        n_barren = is_barren ? n_barren + 1 : 0;
        descent->shrink = is_barren ? 0.1 * descent->shrink : 1;
        if (n_barren < FEW_BARREN)
            continue;
        if (promise_of(joint) > LOOSEST_TEST * tolerance) {
            snprintf(joint->asker.reason, sizeof joint->asker.reason, "no objective below %.6g was found, and a Gauss-Newton "
                     "step predicts a decrease of %.3g", joint->above.f, promise_of(joint));
            return OUTCOME_stalled;
        }
        joint->asker.notes |= NOTE_noise_floor;
        stopping->met = STOP_noise;
        break;
    }
    return OUTCOME_converged;
}

enum joint_went joint_descend(struct joint *joint, enum outcome *outcome)
{
    struct joint_descent descent = {.joint = joint, .shrink = 1, .went = JOINT_COUNTS};
    double *scratch = NULL;
    *outcome = OUTCOME_out_of_memory;
    if (make(&descent))
        scratch = aligned_alloc(64, (lbfgs_scratch(descent.n + 1) * sizeof *scratch + 63) / 64 * 64);
    if (scratch) {
        gather_best(&descent);
        *outcome = run_rounds(&descent, scratch);
    }
    free(scratch);
    free(descent.block);
    free(descent.loose);
    return joint->end.is_cut ? JOINT_ENDED : descent.went;
}
