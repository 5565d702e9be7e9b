/* A state cannot fall through zero if its slope at zero is not negative. A numerical solution
 * can: in x' = -V x / (K + x) with K far below x, a step passes the pole at -K, and x goes on
 * falling beyond it. Tighter tolerances do the same, so comparing tolerances does not reveal it.
 * Such a step is repeated, shorter; a trajectory that falls all the same, because K is below the
 * tolerance, must not count as a solution.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/positive.h"

#include "ode/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Within its tolerance, and within that of what could drive it, a state may be below zero. This
 * many times rtol times its size or its reach (tolerance.c) is no such error. */
#define FAR 1000
/* A repeated step goes this part of the way to zero. */
#define AS_FAR 0.9

enum side { ABOVE, BELOW, FALLEN }; /* fallen: below zero although the equations forbid it */

struct positive {
    unsigned char *side;
    double *size; /* the largest |y| so far */
};

struct positive *positive_new(size_t n_state)
{
    struct positive *p = calloc(1, sizeof *p + n_state * (sizeof *p->size + sizeof *p->side));
    if (p) {
        p->size = (double *)(p + 1);
        p->side = (unsigned char *)(p->size + n_state);
    }
    return p;
}

void positive_free(struct positive *p) { free(p); }

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
    }
    sim->is_watched = false;
}

void positive_jump(struct simulation *sim, const double *y)
{
    for (size_t i = 0; i < sim->n_state; i++)
        if (sim->positive->side[i] != FALLEN || y[i] >= 0)
            sim->positive->side[i] = y[i] < 0 ? BELOW : ABOVE;
    set_watched(sim);
}

bool positive_crosses(const struct simulation *sim, const double *y)
{
    const unsigned char *side = sim->positive->side;
    for (size_t i = 0; i < sim->n_state; i++)
        if (y[i] < 0 && side[i] == ABOVE)
            return true;
    return false;
}

bool positive_is_plain(struct simulation *sim, const double *y)
{
    struct positive *p = sim->positive;
    for (size_t i = 0; i < sim->n_state; i++)
        if (!(y[i] >= 0) && !(y[i] < 0 && p->side[i] == BELOW))
            return false;
    for (size_t i = 0; i < sim->n_state; i++) {
        double magnitude = fabs(y[i]);
        p->size[i] = magnitude > p->size[i] ? magnitude : p->size[i];
        p->side[i] = y[i] >= 0 ? ABOVE : BELOW;
    }
    sim->is_watched = false;
    return true;
}

/* Whether the slope of state i would not be negative if the state were zero. */
static bool cannot_fall(struct simulation *sim, size_t i, double t, const double *y)
{
    double *moved = sim->columns;
    memcpy(moved, y, sim->n_state * sizeof(double));
    moved[i] = 0;
    return derivatives_rhs(&sim->model, t, moved, sim->f) == STIFFIT_OK && sim->f[i] >= 0;
}

double positive_part(struct simulation *sim, double t_before, const double *before, const double *y)
{
    double part = 1;
    for (size_t i = 0; i < sim->n_state; i++)
        if (y[i] < 0 && before[i] > 0 &&
            -y[i] >
                POSITIVE_ERRORS * (sim->tolerance.rtol * before[i] + sim->tolerance.beyond[i]) &&
            sim->positive->side[i] == ABOVE && cannot_fall(sim, i, t_before, before) &&
            cannot_fall(sim, i, sim->t, y))
            part = fmin(part, AS_FAR * before[i] / (before[i] - y[i]));
    return part;
}

void positive_fall(struct simulation *sim, double t_before, const double *before, const double *y)
{
    unsigned char *side = sim->positive->side;
    for (size_t i = 0; i < sim->n_state; i++)
        if (y[i] < 0 && side[i] == ABOVE && cannot_fall(sim, i, t_before, before) &&
            cannot_fall(sim, i, sim->t, y))
            side[i] = FALLEN;
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
        !cannot_fall(sim, i, sim->t, y))
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
