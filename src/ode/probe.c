/* The probe: one combination of all sensitivities that is integrated, under error control, along with the states of
 * an evaluation whose gradient is found by going backward. It is there for the sake of the step sizes alone.
 *
 * The gradient is that of the steps which were taken, so these must resolve how the states depend on the parameters,
 * too, and states alone do not always ask for that: where they are at rest (start values in balance), steps grow
 * without limit, while a sensitivity may still be moving (y' = c - k y, y(0) = c/k: 36 % of error without the probe,
 * below 3 rtol with it). On the example models gradients at the same rtol become up to 20 times more accurate, as
 * accurate as forward sensitivities, and an evaluation 1.2 to 1.9 times as expensive.
 *
 * Each wanted parameter enters with its size (the combination then has the states' units, and their tolerances), times
 * a fixed factor of either sign between 0.5 and 1.5 that is nobody's in particular, so that nothing cancels; divided by
 * the square root of their number, so that the sum is about as large as one of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/wide.h"
#include "ode/workspace.h"

#include <math.h>
#include <string.h>

static double factor_of(uint32_t j)
{
    /* the golden ratio's multiples fill (0, 1) evenly */
    double fraction = fmod(0.6180339887498949 * ((double)j + 1), 1);
    return j * 2654435761u >> 31 ? -0.5 - fraction : 0.5 + fraction;
}

/* Without wanted derivatives the states have a companion, too: s' = J s + f, s(t0) = 0, their sensitivity to the unit of time.
 * By states alone steps come out longer, and predictions at the same rtol are off by 4 times (hare-lynx, whose errors grow with
 * the periods, 54 times) what they are with forward sensitivities. With it 0.9 times, at most 3.3, in 1.3 times the steps.
 * Where f does not depend on time, s = (t - t0) f: it grows no faster than the states move. No derivative by parameters is
 * needed. */
void pace_begin(struct workspace *ws)
{
    ws->n_block = 1;
    ws->block_rhs[0] = true;
    ws->block_unit[0] = 1;
}

bool probe_begin(struct workspace *ws)
{
    const struct evaluation *evaluation = ws->evaluation;
    size_t n_used = 0;
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        uint32_t j = evaluation->sens[k];
        double size = fabs(evaluation->p[j]);
        ws->probe_factor[k] = factor_of(j) * (size > 0 ? size : 1);
        n_used += (derivatives_use(ws->abi, j) & (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL)) != 0;
    }
    if (n_used == 0 || ws->n_state == 0)
        return false;
    for (size_t k = 0; k < evaluation->n_sens; k++)
        ws->probe_factor[k] /= sqrt((double)n_used);
    ws->n_block = 1;
    ws->block_rhs[0] = true;
    ws->block_unit[0] = 1;
    return true;
}

WIDE void probe_combine(const struct workspace *ws, const double *by_parameter, unsigned use, double *restrict column)
{
    const struct evaluation *evaluation = ws->evaluation;
    size_t n = ws->n_state;
    memset(column, 0, n * sizeof(double));
    for (size_t k = 0; k < evaluation->n_sens; k++) {
        uint32_t j = evaluation->sens[k];
        if (!(derivatives_use(ws->abi, j) & use))
            continue;
        const double *from = by_parameter + (size_t)j * n;
        double factor = ws->probe_factor[k];
        for (size_t i = 0; i < n; i++)
            column[i] += factor * from[i];
    }
}
