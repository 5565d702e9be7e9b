/* Whether the integrator may step over a pulse of a model that declares nothing about time:
 * found by calls of its right-hand side before the integration.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/pulses.h"

#include "base/floating.h"
#include "ode/derivatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times at which the rates are compared, spread evenly but not regularly: pulses may come at
 * regular times. */
enum { TIMES = 128 };
static const double GOLDEN = 0.61803398874989485;

/* Whether rates differ at two times, in one state. Where they cannot be computed they tell
 * nothing. */
static bool moves(struct derivatives *d, const struct ode_task *task, const double *y,
                  double *first, double *rate)
{
    size_t n = d->abi->n_state;
    double span = ode_task_last(task) - task->experiment.t0;
    bool known = derivatives_rhs(d, task->experiment.t0, y, first) == STIFFIT_OK;
    for (int i = 1; i <= TIMES; i++) {
        double t = task->experiment.t0 + span * fmod(i * GOLDEN, 1);
        if (derivatives_rhs(d, t, y, known ? rate : first) != STIFFIT_OK)
            continue;
        if (known && memcmp(rate, first, n * sizeof *rate) != 0)
            return true;
        known = true;
    }
    return false;
}

bool pulses_are_declared(const struct stiffit_model *abi)
{
    return abi->n_state == 0 || abi->n_forcing > 0 ||
           (abi->n_switching > 0 && abi->switching_time) || abi->max_step > 0;
}

bool pulses_may_hide(const struct stiffit_model *abi, const struct ode_task *task, const double *p,
                     bool *may)
{
    size_t n = abi->n_state;
    struct derivatives d;
    double *numbers = calloc(3 * n, sizeof *numbers), *y = numbers;
    bool has_room = derivatives_init(&d, abi) && numbers;
    if (has_room) {
        const struct experiment *of = &task->experiment;
        bool known = derivatives_begin(&d, p, of->covariate, of->t0, 0, NULL) == STIFFIT_OK
                     && derivatives_initial(&d, y) == STIFFIT_OK;
        *may = known && moves(&d, task, y, numbers + n, numbers + 2 * n);
        for (size_t i = 0; known && i < n;
             i++) /* what is multiplied by a state shows where there is something of it */
            y[i] = y[i] == 0 ? 1 : y[i];
        *may = *may || (known && moves(&d, task, y, numbers + n, numbers + 2 * n));
    }
    floating_reset(); /* whatever the model did to it; an evaluation tells */
    derivatives_fini(&d);
    free(numbers);
    return has_room;
}
