/* Signs are compared after each step. Where one has changed, bisection on the integrator's polynomial encloses the place, and
 * the right-hand side is evaluated on both sides. Only a crossing at which it jumps matters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/crossing.h"

#include "ode/workspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BISECTIONS = 50, PLACES = 4 };
/* The smallest jump, as a part of the rate along the step. Smaller ones change sensitivities by no larger a part. */
#define JUMP 1e-4

struct crossing {
    size_t n, n_state;
    bool *is_negative, *was_negative;
    double *value;                    /* n */
    double *rate;                     /* n_state x PLACES */
    bool is_wanted;                   /* sensitivities are computed, and no crossing was found so far */
};

struct crossing *crossing_new(const struct stiffit_model *abi)
{
    struct crossing *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->n = abi->n_switching;
    c->n_state = abi->n_state;
    c->is_negative = calloc(2 * c->n + 1, sizeof *c->is_negative);
    c->value = calloc(c->n + PLACES * c->n_state + 1, sizeof *c->value);
    if (c->is_negative && c->value) {
        c->was_negative = c->is_negative + c->n;
        c->rate = c->value + c->n;
        return c;
    }
    crossing_free(c);
    return NULL;
}

void crossing_free(struct crossing *c)
{
    if (!c)
        return;
    free(c->is_negative);
    free(c->value);
    free(c);
}

/* Takes the signs at (t, y). A function that cannot be computed keeps its sign. */
static void take_signs(struct workspace *ws, double t, const double *y)
{
    struct crossing *c = ws->crossing;
    if (derivatives_switching(&ws->o.model, t, y, c->value) != STIFFIT_OK)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (!isnan(c->value[i]))
            c->is_negative[i] = c->value[i] < 0;
}

void crossing_begin(struct workspace *ws, const double *y)
{
    struct crossing *c = ws->crossing;
    c->is_wanted = ws->o.evaluation->n_sens > 0;
    memset(c->is_negative, 0, c->n * sizeof *c->is_negative);
    if (c->is_wanted)
        take_signs(ws, ws->o.evaluation->task->t0, y);
}

/* Whether the time of the switch depends on a wanted parameter. */
static bool is_moved(const struct workspace *ws, size_t i)
{
    const uint8_t *mask = ws->o.abi->switching_parameter;
    for (size_t k = 0; k < ws->o.evaluation->n_sens; k++)
        if (!mask || mask[i + (size_t)ws->o.evaluation->sens[k] * ws->crossing->n])
            return true;
    return false;
}

/* Stores the rates at time t of the last step in column `place`. */
static bool take_rate(struct workspace *ws, double t, size_t place)
{
    return CVodeGetDky(ws->cvode, t, 0, ws->y) == CV_SUCCESS &&
           derivatives_rhs(&ws->o.model, t, vector_data(ws->y), ws->crossing->rate + place * ws->o.n_state) == STIFFIT_OK;
}

/* Whether the rates jump where function i changes sign between two times of the last step. A point that cannot be computed
 * counts as a jump. */
static bool jumps(struct workspace *ws, size_t i, double from, double to)
{
    struct crossing *c = ws->crossing;
    size_t n = c->n_state;
    bool before = c->was_negative[i];
    if (!take_rate(ws, from, 2) || !take_rate(ws, to, 3))
        return true;
    for (int k = 0; k < BISECTIONS; k++) {
        double middle = from + 0.5 * (to - from);
        if (CVodeGetDky(ws->cvode, middle, 0, ws->y) != CV_SUCCESS)
            return true;
        if (derivatives_switching(&ws->o.model, middle, vector_data(ws->y), c->value) != STIFFIT_OK || isnan(c->value[i]))
            return true;
        *((c->value[i] < 0) == before ? &from : &to) = middle;
    }
    const struct ode_task *task = ws->o.evaluation->task;
    if (from >= task->time[task->n_time - 1])
        return false;
    if (!take_rate(ws, from, 0) || !take_rate(ws, to, 1))
        return true;
    for (size_t j = 0; j < n; j++) {
        double most = 0;
        for (size_t place = 0; place < PLACES; place++)
            most = fmax(most, fabs(c->rate[j + place * n]));
        if (fabs(c->rate[j + n] - c->rate[j]) > JUMP * most)
            return true;
    }
    return false;
}

void crossing_look(struct workspace *ws)
{
    struct crossing *c = ws->crossing;
    double length;
    if (!c->is_wanted || CVodeGetLastStep(ws->cvode, &length) != CV_SUCCESS)
        return;
    memcpy(c->was_negative, c->is_negative, c->n * sizeof *c->is_negative);
    take_signs(ws, ws->o.t, vector_data(ws->y));
    for (size_t i = 0; i < c->n && c->is_wanted; i++) {
        bool after = c->is_negative[i];
        if (after == c->was_negative[i] || !is_moved(ws, i) || !jumps(ws, i, ws->o.t - length, ws->o.t))
            continue;
        ws->o.evaluation->crosses = true;
        c->is_wanted = false;
    }
}
