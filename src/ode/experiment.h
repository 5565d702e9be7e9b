/* What an evaluation simulates.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/experiment.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stiffit/model.h>

/* The experiment to simulate: constant during a fit, and owned by it. */
struct ode_task {
    struct experiment experiment;   /* its substitutes are p, and the following */
    /* times after t0 from which the evaluation has other parameters */
    size_t n_phase;
    const double *phase;            /* n_phase, increasing, finite */
    /* Rows with parameters of their own, which only observables and noise depend on: those of
     * variant v are variant_parameter[first_variant[v]] and so on. */
    size_t n_variant;
    const size_t *first_variant;    /* n_variant + 1 */
    /* of the model; index among the experiment's substitutes */
    const uint32_t *variant_parameter, *variant_substitute;
    const uint32_t *row_variant;    /* n_row: its variant, or EXPERIMENT_NONE. NULL: none has one */
    size_t n_time;
    /* n_time, the first >= t0; strictly increasing, or equal with increasing sides. +infinity,
     * the last, is the steady state that the trajectory approaches */
    const double *time;
    /* n_time: -1: before all that happens at this time; 0: before doses and after everything else;
     * s > 0: after doses of a side below s. NULL: all 0 */
    const int8_t *time_side;
    size_t n_row;                   /* measurements, in order of time */
    const uint32_t *row_time;       /* n_row, index into time, non-decreasing */
    const uint32_t *row_observable; /* n_row, index of the model's observable */
    /* n_row: the row's own standard deviation, which replaces the model's noise; NaN: none.
     * NULL: these are not measurements */
    const double *row_sigma;
    /* n_row: sigma and noise are those of the prediction's logarithm; NULL: none are */
    const bool *row_is_log;
};

/* The last finite time, or t0. */
static inline double ode_task_last(const struct ode_task *task)
{
    for (size_t i = task->n_time; i-- > 0;)
        if (task->time[i] <= DBL_MAX)
            return task->time[i];
    return task->experiment.t0;
}

static inline size_t ode_task_n_own(const struct ode_task *task)
{
    return task->n_variant ? task->first_variant[task->n_variant] : 0;
}

/* Whether something happens that does not come from a switch. */
static inline bool ode_is_eventful(const struct stiffit_model *abi, const struct ode_task *task)
{
    bool is_endless = task->n_time && task->time[task->n_time - 1] == INFINITY;
    return abi->n_input || task->n_phase ||
           (abi->n_state && (task->experiment.n_dose || abi->n_event || is_endless));
}

/* Whether evaluations of this task may have stops (doses, inputs, events, phases, switches;
 * stops.h). */
static inline bool ode_has_stops(const struct stiffit_model *abi, const struct ode_task *task)
{
    return ode_is_eventful(abi, task) || (abi->n_state && abi->n_switching);
}

/* Whether some of its doses are steady. */
static inline bool ode_has_periods(const struct ode_task *task)
{
    for (size_t i = 0; i < task->experiment.n_dose; i++)
        if (task->experiment.dose[i].steady)
            return true;
    return false;
}

/* Whether they can have adjoint gradients, which do not go through doses, inputs, events and
 * phases, nor know variants; if they pass a switch that a wanted parameter moves, they have
 * `crosses`. */
static inline bool ode_takes_adjoint(const struct stiffit_model *abi, const struct ode_task *task)
{
    return !ode_is_eventful(abi, task) && !task->n_variant;
}
