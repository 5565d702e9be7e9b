/* Where the objective has no derivative, although the evaluation is right: where two things happen at once that parameters move
 * differently, so that their order changes, and where one that they move meets a measurement or the initial time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/observer.h"

#include <math.h>
#include <string.h>

/* What happens now moves by dt; `place` is 0 if it may not meet a measurement. With the first, s->dt_cause is set. */
static void meet(struct observer *ob, const double *dt, bool place, bool *is_first)
{
    double *first = ob->stops->dt_cause;
    for (size_t k = 0; k < ob->n_block; k++) {
        bool differs = !*is_first && fabs(dt[k] - first[k]) > 1e-9 * fmax(fabs(dt[k]), fabs(first[k]));
        ob->evaluation->crosses = ob->evaluation->crosses || differs || (place && dt[k] != 0);
    }
    if (*is_first)
        memcpy(first, dt, ob->n_block * sizeof(double));
    *is_first = false;
}

bool meet_look(struct observer *ob, const double *y)
{
    struct stops *s = ob->stops;
    const struct ode_task *task = ob->evaluation->task;
    bool is_first = true, is_after = false, is_start = ob->t == task->t0, is_measured = false;
    if (ob->n_block == 0 || ob->pace)
        return true;
    for (size_t i = ob->i_time; i < task->n_time && task->time[i] <= s->limit; i++) {
        is_measured = true;
        is_after = is_after || (task->time_side && task->time_side[i] > 0);
    }
    memset(s->dt, 0, ob->n_block * sizeof(double));
    for (size_t i = 0; i < s->abi->n_input && !is_start; i++)
        if (!(s->abi->input_linear && s->abi->input_linear[i]) && schedule_next_knot(ob, i) <= s->limit)
            meet(ob, s->dt, false, &is_first);
    for (size_t i = 0; i < s->n_function; i++)
        if (s->fixed[i] <= s->limit) {
            if (!jump_fixed(ob, y, i, s->dt))
                return false;
            meet(ob, s->dt, is_measured || is_start, &is_first);
        }
    for (size_t i = 0; i < s->n_later; i++)
        if (s->later[i].t <= s->limit)
            meet(ob, schedule_numbers(s, i), is_measured, &is_first);
    for (size_t i = 0; i < s->n_dose; i++)
        if (s->dose[i].t <= s->limit && !s->dose[i].is_steady) {
            if (!jump_lag(ob, &s->dose[i], s->dt))
                return false;
            meet(ob, s->dt, is_after || (is_measured && s->dose[i].t > schedule_dose_time(ob, &s->dose[i])), &is_first);
        }
    ob->evaluation->crosses = ob->evaluation->crosses || (s->is_root && (is_measured || !is_first));
    return true;
}
