/* Where the objective has no derivative, although the evaluation is right: where two things
 * happen at once that parameters move differently, so that their order changes, and where one
 * that they move meets a measurement or the initial time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/simulation.h"

#include <math.h>
#include <string.h>

/* What was found to happen at this time. */
struct coincidence {
    bool is_first;
    bool is_observed; /* a measurement or the initial time is there, where nothing may move */
    bool differs;  /* two things move differently */
};

/* What happens now moves by dt; the first's is kept in s->jump.dt_cause. */
static void add(struct simulation *sim, struct coincidence *found, const double *dt,
                bool is_observed)
{
    double *first = sim->stops->jump.dt_cause;
    for (size_t k = 0; k < sim->blocks.n; k++) {
        found->differs |=
            !found->is_first && fabs(dt[k] - first[k]) > 1e-9 * fmax(fabs(dt[k]), fabs(first[k]));
        found->is_observed |= is_observed && dt[k] != 0;
    }
    if (found->is_first)
        memcpy(first, dt, sim->blocks.n * sizeof(double));
    found->is_first = false;
}

/* sum += sign f(y), and *size its terms. */
static void add_rhs(struct simulation *sim, const double *y, double sign, double *sum, double *size)
{
    struct stops *s = sim->stops;
    bool known = derivatives_rhs(&sim->model, sim->t, y, s->jump.f) == STIFFIT_OK;
    for (size_t j = 0; j < sim->n_state; j++) {
        sum[j] += known ? sign * s->jump.f[j] : NAN;
        size[j] += fabs(s->jump.f[j]);
    }
}

/* Whether what is due are doses and infusions alone, whose order does not matter: all together
 * change the right-hand side by the sum of what each changes. They cause no events. */
static bool adds_up(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    double *sum = s->jump.all, *size = s->jump.f_left, *together = s->jump.y_new;
    struct course course;
    memset(sum, 0, n * sizeof *sum);
    memset(size, 0, n * sizeof *size);
    memcpy(together, y, n * sizeof *y);
    add_rhs(sim, y, 1, sum, size);
    for (size_t i = 0; i < s->doses.n; i++) {
        size_t state = sim->evaluation->task->experiment.dose[s->doses.next[i].dose].target;
        if (s->doses.next[i].t > s->limit || s->doses.next[i].is_steady)
            continue;
        if (!doses_course(sim, &s->doses.next[i], &course))
            return false;
        if (doses_infuses(s, sim->t, &course))
            continue;
        memcpy(s->jump.star, y, n * sizeof *y);
        s->jump.star[state] += course.amount;
        add_rhs(sim, s->jump.star, 1, sum, size);
        add_rhs(sim, y, -1, sum, size);
        together[state] += course.amount;
    }
    add_rhs(sim, together, -1, sum, size);
    for (size_t j = 0; j < n; j++)
        if (!(fabs(sum[j]) <= 1e-9 * size[j]))
            return false;
    return true;
}

bool coincidence_look(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    const struct ode_task *task = sim->evaluation->task;
    struct coincidence found = {.is_first = true};
    int last_side = -1; /* of the measurements at this time */
    bool is_start = sim->t == task->experiment.t0, is_measured = false;
    bool is_addition = s->abi->n_event == 0 && !s->roots.is_root;
    size_t n_root = 0;
    double slope;
    if (sim->blocks.n == 0 || sim->blocks.is_pace)
        return true;
    for (size_t i = sim->rows.i_time; i < task->n_time && task->time[i] <= s->limit; i++) {
        is_measured = true;
        const int side = task->time_side ? task->time_side[i] : 0;
        last_side = side > last_side ? side : last_side;
    }
    bool is_fixed = (s->i_call < task->experiment.n_call &&
                     task->experiment.call[s->i_call].time <= s->limit) ||
                    (s->i_phase < task->n_phase && task->phase[s->i_phase] <= s->limit);
    for (size_t i = 0; i < s->abi->n_input; i++)
        is_fixed |= !(s->abi->input_linear && s->abi->input_linear[i]) &&
                    inputs_next_knot(sim, i) <= s->limit;
    if (is_fixed && !is_start) {
        memset(s->jump.dt, 0, sim->blocks.n * sizeof(double));
        add(sim, &found, s->jump.dt, false);
        is_addition = false;
    }
    for (size_t i = 0; i < s->n_function; i++) {
        n_root += s->roots.is_root && root_matters(s, i) && !root_is_kink(s, i);
        if (s->fixed[i] > s->limit || root_is_kink(s, i))
            continue;
        if (!jump_fixed(sim, y, i, s->jump.dt))
            return false;
        add(sim, &found, s->jump.dt, is_measured || is_start);
        is_addition = false;
    }
    for (size_t i = 0; i < s->pending.n; i++)
        if (s->pending.entry[i].t <= s->limit)
            add(sim, &found, pending_numbers(s, i), is_measured);
    for (size_t i = 0; i < s->doses.n; i++)
        if (s->doses.next[i].t <= s->limit && !s->doses.next[i].is_steady) {
            struct course course;
            if (!doses_course(sim, &s->doses.next[i], &course))
                return false;
            add(sim, &found, s->jump.dt,
                last_side > task->experiment.dose[s->doses.next[i].dose].side ||
                    (is_measured && s->doses.next[i].t > doses_time(sim, &s->doses.next[i])));
        }
    for (size_t i = 0; i < s->n_function && (is_measured || !found.is_first || n_root > 1); i++)
        if (s->roots.is_root && root_matters(s, i) && !root_is_kink(s, i)) {
            if (!root_differentiate(sim, y, i, s->jump.f_left, s->jump.dt, &slope))
                return false;
            add(sim, &found, s->jump.dt, is_measured);
        }
    sim->evaluation->meets |= found.is_observed;
    sim->evaluation->crosses |= found.differs && !(is_addition && adds_up(sim, y));
    return true;
}
