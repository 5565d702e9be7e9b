/* A state cannot fall through zero if its slope at zero is not negative. A numerical solution
 * can: in x' = -V x / (K + x) with K far below x, a step passes the pole at -K, and x goes on
 * falling beyond it. Tighter tolerances do the same, so comparing tolerances does not reveal it.
 * Such a step is repeated, shorter; a trajectory that falls all the same, because K is below the
 * tolerance, must not count as a solution.
 *
 * Errors of the states that feed x make its slope at zero a bit negative, so that a slope counts
 * only if it is comparable with the mean slope of the step.
 *
 * A state that the model's equations are proved to keep non-negative (stiffit/model.h) is looked
 * at below zero, too, each time it has fallen to twice its depth, since a pole may lie within its
 * tolerance; and it may not go on falling there, however little it has fallen. One that is below
 * a pole already, or where the model cannot be computed, is set to zero, within its tolerance
 * (Shampine, Thompson, Kierzenka and Byrne 2005, Non-negative solutions of ODEs).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/positive.h"

#include "ode/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Within its tolerance, and within that of what could drive it, a state may be below zero. This
 * many times rtol times its size or its reach (tolerance.c) is no such error. */
#define FAR 1000
/* A repeated step goes this part of the way to zero; one that began below zero is so much
 * shorter. */
#define AS_FAR 0.9
#define SHORTER 0.1
/* A slope below zero that is at most this part of the mean slope of the step did not lead there;
 * one of at least this part goes on. */
#define SLIGHT 0.01
#define ONWARD 0.1
/* A state is looked at again at so many times its depth. */
#define DEEPER 2

enum side { ABOVE, BELOW, FALLEN }; /* fallen: below zero although the equations forbid it */

struct positive {
    double *size; /* the largest |y| so far */
    double *low;  /* see positive_lows */
    unsigned char *side;
    bool *is_kept; /* the equations keep it non-negative */
    bool *is_lost; /* within its tolerance it is at the wrong side of a pole */
};

struct positive *positive_new(size_t n_state)
{
    struct positive *p =
        calloc(1, sizeof *p + n_state * (2 * sizeof(double) + sizeof *p->side + 2 * sizeof(bool)));
    if (p) {
        p->size = (double *)(p + 1);
        p->low = p->size + n_state;
        p->side = (unsigned char *)(p->low + n_state);
        p->is_kept = (bool *)(p->side + n_state);
        p->is_lost = p->is_kept + n_state;
    }
    return p;
}

void positive_free(struct positive *p) { free(p); }

const bool *positive_kept(const struct positive *p) { return p->is_kept; }

const double *positive_lows(const struct simulation *sim) { return sim->positive->low; }

static bool is_input_kept(const struct simulation *sim, uint32_t i)
{
    const struct input *input = &sim->evaluation->task->experiment.input[i];
    bool is_kept = true;
    for (size_t k = 0; k < input->n; k++)
        is_kept = is_kept && input->value[k] >= 0;
    return is_kept;
}

static bool holds(const struct simulation *sim, const struct stiffit_need *need)
{
    const struct stiffit_point *at = &sim->model.at;
    switch (need->kind) {
    case STIFFIT_NEED_STATE: return sim->positive->is_kept[need->index];
    case STIFFIT_NEED_PARAMETER: return at->p[need->index] >= 0;
    case STIFFIT_NEED_COVARIATE: return at->covariate[need->index] >= 0;
    case STIFFIT_NEED_POSITIVE_PARAMETER: return at->p[need->index] > 0;
    case STIFFIT_NEED_POSITIVE_COVARIATE: return at->covariate[need->index] > 0;
    case STIFFIT_NEED_INPUT: return is_input_kept(sim, need->index);
    case STIFFIT_NEED_TIME: return sim->t >= 0;
    default: return false;
    }
}

/* Of the states in is_kept, which are not negative, the equations keep those so from here on
 * whose proof holds, and from which no infusion takes. A state on which a proof rests must be
 * one of them. */
static void find_kept(struct simulation *sim, const double *y)
{
    const struct stiffit_model *abi = sim->abi;
    const struct derivatives *model = &sim->model;
    struct positive *p = sim->positive;
    bool is_settled = !abi->nonnegative_start;
    for (size_t i = 0; i < sim->n_state; i++)
        p->is_kept[i] = p->is_kept[i] && abi->nonnegative_start &&
                        !(model->is_infused && model->rate[i] < 0);
    while (!is_settled) {
        is_settled = true;
        for (size_t i = 0; i < sim->n_state; i++) {
            bool was_kept = p->is_kept[i];
            for (int32_t k = abi->nonnegative_start[i]; k < abi->nonnegative_start[i + 1]; k++)
                p->is_kept[i] = p->is_kept[i] && holds(sim, &abi->nonnegative_need[k]);
            is_settled = is_settled && p->is_kept[i] == was_kept;
        }
    }
    for (size_t i = 0; i < sim->n_state; i++)
        p->low[i] = p->is_kept[i] && p->side[i] == BELOW ? DEEPER * y[i] : -INFINITY;
}

/* Whether positive_look must see each step. */
static void set_watched(struct simulation *sim)
{
    sim->is_watched = false;
    for (size_t i = 0; i < sim->n_state; i++)
        sim->is_watched = sim->is_watched || sim->positive->side[i] == FALLEN;
}

void positive_begin(struct simulation *sim, const double *y)
{
    struct positive *p = sim->positive;
    for (size_t i = 0; i < sim->n_state; i++) {
        p->size[i] = fabs(y[i]);
        p->side[i] = y[i] < 0 ? BELOW : ABOVE;
        p->is_kept[i] = y[i] >= 0;
    }
    find_kept(sim, y);
    sim->is_watched = false;
}

void positive_jump(struct simulation *sim, const double *y)
{
    struct positive *p = sim->positive;
    for (size_t i = 0; i < sim->n_state; i++) {
        /* An error is no jump to below zero. */
        p->is_kept[i] =
            y[i] >= 0 || (p->is_kept[i] && p->side[i] == BELOW && y[i] >= p->low[i]);
        if (p->side[i] != FALLEN || y[i] >= 0)
            p->side[i] = y[i] < 0 ? BELOW : ABOVE;
    }
    find_kept(sim, y);
    set_watched(sim);
}

/* Whether a step to y[i] must be looked at. */
static bool sinks(const struct positive *p, size_t i, double y)
{
    return y < 0 && (p->side[i] == ABOVE || y < p->low[i]);
}

bool positive_crosses(const struct simulation *sim, const double *y)
{
    for (size_t i = 0; i < sim->n_state; i++)
        if (sinks(sim->positive, i, y[i]))
            return true;
    return false;
}

bool positive_is_plain(struct simulation *sim, const double *y)
{
    struct positive *p = sim->positive;
    for (size_t i = 0; i < sim->n_state; i++)
        if (!(y[i] >= 0) && !(y[i] < 0 && p->side[i] == BELOW && y[i] >= p->low[i]))
            return false;
    for (size_t i = 0; i < sim->n_state; i++) {
        double magnitude = fabs(y[i]);
        p->size[i] = magnitude > p->size[i] ? magnitude : p->size[i];
        p->side[i] = y[i] >= 0 ? ABOVE : BELOW;
    }
    sim->is_watched = false;
    return true;
}

/* Whether the slope of state i would not be below zero, beyond a slight part of `fall`, if the
 * state were zero. */
static bool cannot_fall(struct simulation *sim, size_t i, double t, const double *y, double fall)
{
    double *moved = sim->columns;
    memcpy(moved, y, sim->n_state * sizeof(double));
    moved[i] = 0;
    return derivatives_rhs(&sim->model, t, moved, sim->f) == STIFFIT_OK &&
           sim->f[i] >= -SLIGHT * fall;
}

/* Whether the equations do not explain that state i has fallen below zero in a step. */
static bool is_odd(struct simulation *sim, size_t i, double t_before, const double *before,
                   const double *y)
{
    double fall = (before[i] - y[i]) / fabs(sim->t - t_before);
    return cannot_fall(sim, i, t_before, before, fall) && cannot_fall(sim, i, sim->t, y, fall);
}

/* Whether state i goes on falling at the end of the step, at y. */
static bool goes_on(struct simulation *sim, size_t i, double t_before, const double *before,
                    const double *y)
{
    double fall = (before[i] - y[i]) / fabs(sim->t - t_before);
    return derivatives_rhs(&sim->model, sim->t, y, sim->f) != STIFFIT_OK ||
           sim->f[i] <= -ONWARD * fall;
}

/* The error that is allowed for state i at the value y. */
static double error_of(const struct simulation *sim, size_t i, double y)
{
    return POSITIVE_ERRORS * (sim->tolerance.rtol * fabs(y) + sim->tolerance.beyond[i]);
}

double positive_part(struct simulation *sim, double t_before, const double *before, const double *y)
{
    struct positive *p = sim->positive;
    double part = 1;
    for (size_t i = 0; i < sim->n_state; i++) {
        bool is_far = -y[i] > error_of(sim, i, before[i]);
        p->is_lost[i] = false;
        if (!sinks(p, i, y[i]) || !(p->is_kept[i] || (is_far && before[i] > 0)) ||
            !is_odd(sim, i, t_before, before, y) ||
            !(is_far || goes_on(sim, i, t_before, before, y)))
            continue;
        part = fmin(part, before[i] > 0 ? AS_FAR * before[i] / (before[i] - y[i]) : SHORTER);
        p->is_lost[i] = !is_far && !(before[i] > 0);
    }
    return part;
}

/* Sets a state to zero, where it does not depend on parameters. */
static void lift(struct simulation *sim, size_t i, double *y)
{
    for (size_t block = 0; block <= sim->blocks.n; block++)
        y[block * sim->n_state + i] = 0;
    sim->positive->side[i] = ABOVE;
}

bool positive_is_lost(const struct simulation *sim)
{
    bool is_lost = false;
    for (size_t i = 0; i < sim->n_state; i++)
        is_lost = is_lost || sim->positive->is_lost[i];
    return is_lost;
}

void positive_lift(struct simulation *sim, double *y)
{
    for (size_t i = 0; i < sim->n_state; i++)
        if (sim->positive->is_lost[i] && y[i] < 0)
            lift(sim, i, y);
}

/* Whether state i is zero within its error, and no longer above it or on the way there. */
static bool is_spent(const struct simulation *sim, size_t i, double y, bool has_slope)
{
    return y != 0 && fabs(y) <= error_of(sim, i, y) && (y < 0 || !has_slope || sim->f[i] < 0);
}

bool positive_rescue(struct simulation *sim, double *y)
{
    bool is_rescued = false;
    bool has_slope = derivatives_rhs(&sim->model, sim->t, y, sim->f) == STIFFIT_OK;
    for (size_t i = 0; i < sim->n_state; i++)
        if (sim->positive->is_kept[i] && is_spent(sim, i, y[i], has_slope)) {
            lift(sim, i, y);
            is_rescued = true;
        }
    return is_rescued;
}

void positive_fall(struct simulation *sim, double t_before, const double *before, const double *y)
{
    struct positive *p = sim->positive;
    for (size_t i = 0; i < sim->n_state; i++)
        if (sinks(p, i, y[i]) && is_odd(sim, i, t_before, before, y) &&
            (!p->is_kept[i] || goes_on(sim, i, t_before, before, y)))
            p->side[i] = FALLEN;
    set_watched(sim);
}

/* Beyond a pole a state goes on falling, as fast as it came. One that began at zero and has only
 * just left it, as the last of a cascade, may be below zero by an error that is large for its
 * present size; its slope is positive, and it returns. Nor is it a pole where the equations lead
 * below zero by now, a bit later than an error of the step did; where errors of the states that
 * feed this one explain the slope, as those of y in total - y; or where the slope is too small
 * to have led there in the time so far. */
static bool goes_on_falling(struct simulation *sim, size_t i, const double *y)
{
    size_t n = sim->n_state;
    double *tolerance = sim->tolerance.scratch, *inflow = tolerance + n, *decay = inflow + n;
    if (derivatives_rhs(&sim->model, sim->t, y, sim->f) != STIFFIT_OK)
        return true;
    double slope = sim->f[i];
    if (!(-slope * fabs(sim->t - sim->evaluation->task->experiment.t0) >= -y[i]) ||
        !cannot_fall(sim, i, sim->t, y, -slope))
        return false;
    for (size_t j = 0; j < n; j++)
        tolerance[j] = sim->tolerance.rtol * fabs(y[j]) + sim->tolerance.beyond[j];
    bool is_known = derivatives_inflow(&sim->model, sim->t, y, tolerance, sim->tolerance.jacobian,
                                       inflow, decay) == STIFFIT_OK;
    return !is_known || -slope > FAR * inflow[i];
}

size_t positive_look(struct simulation *sim, const double *y)
{
    struct positive *p = sim->positive;
    size_t fallen = sim->n_state;
    for (size_t i = 0; i < sim->n_state && fallen == sim->n_state; i++) {
        double magnitude = fabs(y[i]);
        p->size[i] = magnitude > p->size[i] ? magnitude : p->size[i];
        if (y[i] >= 0) {
            p->side[i] = ABOVE;
            continue;
        }
        bool is_deep = p->side[i] == ABOVE || y[i] < p->low[i];
        if (is_deep && p->is_kept[i])
            p->low[i] = p->side[i] == FALLEN ? -INFINITY : DEEPER * y[i];
        if (p->side[i] == ABOVE)
            p->side[i] = BELOW;
        double size = fmax(p->size[i], fmax(sim->tolerance.sizes[i], sim->tolerance.reach[i]));
        double allowed = sim->tolerance.rtol * size + sim->tolerance.atol;
        if (p->side[i] == FALLEN && magnitude > FAR * fmax(allowed, sim->tolerance.beyond[i]) &&
            goes_on_falling(sim, i, y))
            fallen = i;
    }
    set_watched(sim);
    return fallen;
}
