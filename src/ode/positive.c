/* A state cannot fall through zero if its slope at zero is not negative. A numerical solution can: in x' = -V x / (K + x) with
 * K far below the tolerance, a step passes the pole at -K, and x goes on falling beyond it. Tighter tolerances do the same, so
 * comparing tolerances does not reveal it. Such a trajectory must not count as a solution.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/positive.h"

#include "ode/workspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Within its tolerance a state may be below zero. This many times rtol times its size is no such error. */
#define FAR 1000

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

void positive_begin(struct workspace *ws, const double *y)
{
    struct positive *p = ws->positive;
    for (size_t i = 0; i < ws->n_state; i++) {
        p->size[i] = fabs(y[i]);
        p->side[i] = y[i] < 0 ? BELOW : ABOVE;
    }
}

/* Whether the slope of state i at time t of the last step would not be negative if the state were zero. */
static bool cannot_fall(struct workspace *ws, size_t i, double t)
{
    double *y = vector_data(ws->y);
    if (CVodeGetDky(ws->cvode, t, 0, ws->y) != CV_SUCCESS)
        return false;
    y[i] = 0;
    return derivatives_rhs(&ws->model, t, y, ws->f) == STIFFIT_OK && ws->f[i] >= 0;
}

static bool falls_through(struct workspace *ws, size_t i)
{
    double length;
    bool through = CVodeGetLastStep(ws->cvode, &length) == CV_SUCCESS && cannot_fall(ws, i, ws->t - length)
                   && cannot_fall(ws, i, ws->t);
    CVodeGetDky(ws->cvode, ws->t, 0, ws->y);
    return through;
}

size_t positive_look(struct workspace *ws)
{
    struct positive *p = ws->positive;
    const double *y = vector_data(ws->y);
    for (size_t i = 0; i < ws->n_state; i++) {
        double magnitude = fabs(y[i]);
        p->size[i] = magnitude > p->size[i] ? magnitude : p->size[i];
        if (y[i] >= 0) {
            p->side[i] = ABOVE;
            continue;
        }
        if (p->side[i] == ABOVE)
            p->side[i] = falls_through(ws, i) ? FALLEN : BELOW;
        if (p->side[i] == FALLEN && magnitude > FAR * (ws->rtol * p->size[i] + ws->atol))
            return i;
    }
    return ws->n_state;
}
