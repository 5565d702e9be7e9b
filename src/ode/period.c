/* SPDX-License-Identifier: BSD-3-Clause */
#include "ode/period.h"

#include "ode/dense.h"
#include "ode/outcome.h"
#include "ode/stops_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The factor of the integrator's accuracy, up to the LEAST rtol that it surely reaches: a state
 * that forgets 1/300 of itself in an interval adds up the errors of 300. */
#define TIGHTER 100
#define LEAST 1e-11
/* Steps, relative to the states' largest values, that end Newton's method: at once, and if the
 * one before was NEAR. It also ends where an interval changes the states by no more than NOISE
 * times rtol. */
#define ARRIVED 1e-8
#define ARRIVED_AGAIN 1e-4
#define NEAR 1e-5
#define NOISE 3
/* A linear system with I - (1 - DISCOUNT) M instead of I - M is regular, and solutions are
 * refined with I - M. With a smaller number rounding errors would change conserved totals. What
 * forgets less than a hundredth of this in an interval accumulates for ever. */
#define DISCOUNT 1e-3
enum { MOST_REFINED = 3000 };
#define REFINED 1e-10
/* In an evaluation; steps of Newton's method in a row; intervals at once. */
enum { MOST_PASS = 40, MOST_NEWTON = 8, MOST_INTERVAL = 16 };
/* Powers of M, by squaring, and how large they may be for a trajectory that does not run away. */
enum { N_SQUARE = 8 };
#define STABLE 1e3
/* A state this small, relative to its largest value, may become negative. */
#define NOTHING 1e-6

struct period {
    struct evaluation inner;   /* over an interval, or n_interval of them */
    struct ode_task task;
    struct dose dose;
    /* of the steady dose; of the intervals, which end before anything happens at `time` */
    double time, end_time;
    struct input *input;       /* n_input constants */
    double *knot;              /* 2 n_input */
    size_t n_own;              /* parameters of the outer evaluation */
    size_t i_dose, n_found;
    int n_pass;
    uint32_t n_interval;
    /* steps of Newton's method from the simulated trajectory to the present state */
    int n_newton;
    bool was_near;             /* the last one was small */
    int64_t n_step;
    bool crosses;
    uint32_t *sens;            /* n_parameter + n_state */
    double *begin, *end;       /* n_state x (1 + n_parameter + n_state) */
    double *reached;           /* n_state: the end of the simulated trajectory so far */
    double *by_own;            /* n_state x n_parameter: sensitivities of a simulated trajectory */
    double *size;              /* n_state: the largest absolute value */
    double *step, *rest;       /* n_state, and n_state x (1 + n_parameter) */
    double *matrix, *square;   /* n_state x n_state */
    int *pivot;
    double *found;             /* of stops.steady */
    size_t room;
};

void period_free(struct period *p)
{
    if (!p)
        return;
    void *const arrays[] = {p->input,   p->knot,   p->sens,  p->begin, p->end,
                            p->reached, p->by_own, p->size,  p->step,  p->rest,
                            p->matrix,  p->square, p->pivot, p->found, p};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static struct period *period_new(const struct stiffit_model *abi)
{
    struct period *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    size_t n = abi->n_state, n_column = 1 + n + abi->n_parameter, n_input = abi->n_input;
    const struct { double **at; size_t n;
    } arrays[] =
        {{&p->knot, 2 * n_input}, {&p->begin, n * n_column},          {&p->end, n * n_column},
         {&p->reached, n},        {&p->by_own, n * abi->n_parameter}, {&p->size, n},
         {&p->step, n},           {&p->rest, n * n_column},           {&p->matrix, n * n},
         {&p->square, 2 * n * n}};
    bool complete = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        complete = (*arrays[i].at = calloc(arrays[i].n + 1, sizeof(double))) && complete;
    p->input = calloc(n_input + 1, sizeof *p->input);
    p->sens = calloc(n_column, sizeof *p->sens);
    p->pivot = calloc(n + 1, sizeof *p->pivot);
    if (complete && p->input && p->sens && p->pivot)
        return p;
    period_free(p);
    return NULL;
}

/* Ends the outer evaluation. */
static bool fail(struct simulation *sim, enum evaluation_outcome outcome, const char *why)
{
    struct period *p = sim->period;
    struct evaluation *outer = sim->request;
    char reason[sizeof outer->reason];
    snprintf(reason, sizeof reason, "%s", why);
    memcpy(outer->reason, reason, sizeof reason);
    outer->n_step = p->n_step;
    outer->t_reached = p->time;
    sim->evaluation = outer;
    return outcome_set(sim, outcome);
}

static bool fail_memory(struct simulation *sim)
{
    return fail(sim, EVALUATION_NO_MEMORY, "no memory for steady doses");
}

/* Evaluates n_interval intervals from the state at the beginning of `begin`; first: from the
 * model's. */
static bool pass(struct simulation *sim, bool is_first)
{
    struct period *p = sim->period;
    size_t n = sim->n_state;
    const struct evaluation *outer = sim->request;
    double tighter = outer->tighter > 0 ? outer->tighter : 1;
    p->dose.time = p->time - p->n_interval * p->dose.interval;
    p->dose.count = p->n_interval;
    p->task.experiment.t0 = p->dose.time;
    memset(p->begin + n, 0, n * (p->n_own + n) * sizeof(double));
    for (size_t i = 0; i < n; i++)
        p->begin[(1 + p->n_own + i) * n + i] = 1;
    p->inner =
        (struct evaluation){.engine = outer->engine,
                            .task = &p->task, .p = outer->p, .sens = p->sens,
                            .n_sens = p->n_own + (is_first ? 0 : n),
                            .begin = is_first ? NULL : p->begin, .end = p->end,
                            .max_steps = outer->max_steps - p->n_step, .deadline_ns = INT64_MAX,
                            .tighter = tighter *
                                       fmax(1, fmin(TIGHTER, sim->options.rtol / tighter / LEAST)),
                            .named = outer->named};
    p->n_pass++;
    sim->evaluation = &p->inner;
    sim->n_factor = 0;
    return true;
}

/* The value of an input at the dose's time stays for ever. */
static void hold_inputs(struct period *p, const struct stiffit_model *abi,
                        const struct input *input)
{
    for (uint32_t i = 0; i < abi->n_input; i++) {
        size_t k = 0;
        while (k + 1 < input[i].n && input[i].time[k + 1] <= p->time)
            k++;
        double value = input[i].value[k], *knot = p->knot + 2 * i;
        if (abi->input_linear && abi->input_linear[i] && k + 1 < input[i].n &&
            input[i].time[k] < p->time)
            value += (input[i].value[k + 1] - value) * (p->time - input[i].time[k]) /
                     (input[i].time[k + 1] - input[i].time[k]);
        knot[0] = p->time;
        knot[1] = value;
        p->input[i] = (struct input){1, knot, knot + 1};
    }
}

/* Goes on to the next steady dose, or to the outer evaluation. */
static bool next_period(struct simulation *sim)
{
    struct period *p = sim->period;
    struct evaluation *outer = sim->request;
    const struct ode_task *task = outer->task;
    while (p->i_dose < task->experiment.n_dose && !task->experiment.dose[p->i_dose].steady)
        p->i_dose++;
    if (p->i_dose < task->experiment.n_dose && task->n_phase &&
        task->experiment.dose[p->i_dose].time >= task->phase[0])
        return fail(sim, EVALUATION_MODEL_FAILED,
                    "a steady dose after a change of parameters is not supported");
    if (p->i_dose < task->experiment.n_dose) {
        p->dose = task->experiment.dose[p->i_dose++];
        p->dose.steady = DOSE_CONTINUES;
        p->time = p->dose.time;
        hold_inputs(p, sim->abi, task->experiment.input);
        p->end_time = p->time - doses_slack(&p->dose);
        p->task = (struct ode_task){.experiment = {.covariate = task->experiment.covariate,
                                                   .n_dose = 1, .dose = &p->dose,
                                                   .input = p->input},
                                    .n_time = 1, .time = &p->end_time};
        p->n_pass = 0;
        p->n_interval = 1;
        p->n_newton = 0;
        p->was_near = false;
        memset(p->size, 0, sim->n_state * sizeof(double));
        return pass(sim, true);
    }
    sim->stops->doses.steady = p->found;
    sim->stops->doses.n_column = p->n_own;
    sim->stops->doses.crosses = p->crosses;
    outer->n_step = p->n_step;
    sim->evaluation = outer;
    sim->n_factor = 0;
    return true;
}

bool period_begin(struct simulation *sim)
{
    struct evaluation *evaluation = sim->request;
    if (sim->n_state == 0 || evaluation->adjoint)
        return true;
    struct period *p = sim->period ? sim->period : period_new(sim->abi);
    size_t n = sim->n_state, n_steady = 0;
    if (!p) {
        return outcome_fail(sim, EVALUATION_NO_MEMORY, "no memory for steady doses");
    }
    sim->period = p;
    p->i_dose = p->n_found = p->n_own = 0;
    p->n_step = 0;
    p->crosses = false;
    while (p->n_own < evaluation->n_sens && evaluation->sens[p->n_own] != ODE_NONE) {
        p->sens[p->n_own] = evaluation->sens[p->n_own];
        p->n_own++;
    }
    for (size_t i = 0; i < n; i++)
        p->sens[p->n_own + i] = ODE_NONE;
    for (size_t i = 0; i < evaluation->task->experiment.n_dose; i++)
        n_steady += evaluation->task->experiment.dose[i].steady != DOSE_SINGLE;
    size_t room = n_steady * n * (1 + p->n_own);
    double *found = room > p->room ? realloc(p->found, room * sizeof *found) : p->found;
    if (!found)
        return fail_memory(sim);
    p->room = room > p->room ? room : p->room;
    p->found = found;
    return next_period(sim);
}

/* x += (I - M)^-1 (b - (I - M) x) for n_column columns, where (I - M) may be singular, with an
 * error that is small beside x or `unit`, in states' sizes. False: some grow for ever; *worst is
 * the state that does so most. */
static bool solve(struct period *p, size_t n, const double *m, const double *b, double *x,
                  size_t n_column, double unit, size_t *worst)
{
    double *rest = p->rest;
    bool done = n_column == 0;
    for (int k = 0; k < MOST_REFINED && !done; k++) {
        dense_multiply(m, n, x, rest, n_column);
        for (size_t i = 0; i < n * n_column; i++)
            rest[i] += b[i] - x[i];
        dense_solve(p->matrix, n, p->pivot, rest, n_column);
        done = true;
        for (size_t c = 0; c < n_column; c++) {
            double largest = 0, change = 0;
            for (size_t i = 0; i < n; i++) {
                double moved = fabs(rest[i + c * n]) / p->size[i];
                x[i + c * n] += rest[i + c * n];
                largest = fmax(largest, fabs(x[i + c * n]) / p->size[i]);
                *worst = moved > change ? i : *worst;
                change = fmax(change, moved);
            }
            done = done && change <= REFINED * fmax(largest, unit);
        }
    }
    return done;
}

/* Whether small changes of the state die away, or stay. */
static bool is_stable(struct period *p, size_t n, const double *m)
{
    double *from = p->square, *to = from + n * n, largest = 0;
    for (size_t i = 0; i < n * n; i++)
        from[i] = m[i] * p->size[i / n] / p->size[i % n];
    for (int k = 0; k < N_SQUARE; k++, from = to, to = p->square + (to == p->square ? n * n : 0)) {
        dense_multiply(from, n, from, to, n);
        largest = 0;
        for (size_t i = 0; i < n * n; i++)
            largest = isfinite(to[i]) ? fmax(largest, fabs(to[i])) : INFINITY;
        if (!(largest <= STABLE))
            return false;
    }
    return true;
}

/* A solution with negative states that the simulated trajectory does not have, as behind the
 * pole of y / (K + y), is none. */
static bool is_elsewhere(const struct period *p, size_t n, const double *y)
{
    for (size_t i = 0; i < n; i++)
        if (p->reached[i] >= 0 && y[i] + p->step[i] < -NOTHING * p->size[i])
            return true;
    return false;
}

/* Follows the simulated trajectory for more intervals at once. */
static bool simulate_on(struct simulation *sim)
{
    struct period *p = sim->period;
    memcpy(p->begin, p->reached, sim->n_state * sizeof(double));
    p->n_newton = 0;
    p->was_near = false;
    p->n_interval = 2 * p->n_interval < MOST_INTERVAL ? 2 * p->n_interval : MOST_INTERVAL;
    return pass(sim, false);
}

static bool fail_to_converge(struct simulation *sim, size_t state, double change)
{
    char why[150];
    snprintf(why, sizeof why,
             "no periodic state of the steady doses at t = %.6g: from one interval to the next, "
             "%.40s changes by %.3g",
             sim->period->time, sim->abi->state_name[state], change / sim->period->n_interval);
    return fail(sim, EVALUATION_ODE_FAILED, why);
}

static bool fail_like_inner(struct simulation *sim)
{
    char why[sizeof sim->period->inner.reason + 20];
    const struct evaluation *inner = &sim->period->inner;
    bool is_budget = inner->outcome == EVALUATION_BUDGET;
    snprintf(why, sizeof why,
             is_budget ? "%sno periodic state of the steady doses within the budget of integrator "
                         "steps"
                       : "steady doses: %s",
             is_budget ? "" : inner->reason);
    return fail(sim, inner->outcome, why);
}

/* The next step after an interval (or several) from y to phi. */
static bool iterate(struct simulation *sim)
{
    struct period *p = sim->period;
    size_t n = sim->n_state, n_own = p->n_own, worst = 0;
    double *y = p->begin, *step = p->step;
    const double *phi = p->end, *by_own = p->end + n, *m = by_own + n * n_own;
    /* the columns of `begin` are not needed any more */
    double *change = p->begin + n, largest_change = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        p->size[i] = fmax(p->size[i], sim->tolerance.sizes[i]);
        p->size[i] = p->size[i] > 0 ? p->size[i] : 1;
        change[i] = phi[i] - y[i];
        step[i] = 0;
        p->reached[i] = p->n_newton ? p->reached[i] : phi[i];
        if (fabs(change[i]) / p->size[i] > largest_change) {
            worst = i;
            largest_change = fabs(change[i]) / p->size[i];
        }
    }
    if (p->n_pass > MOST_PASS)
        return fail_to_converge(sim, worst, change[worst]);
    for (size_t i = 0; i < n * n; i++)
        p->matrix[i] = (i % (n + 1) == 0 ? 1 : 0) - (1 - DISCOUNT) * m[i];
    if (!dense_factor(p->matrix, n, p->pivot) || !is_stable(p, n, m) || p->n_newton > MOST_NEWTON)
        return simulate_on(sim);
    if (!solve(p, n, m, change, step, 1, 1, &worst))
        return fail_to_converge(sim, worst, change[worst]);
    for (size_t i = 0; i < n; i++)
        length = fmax(length, fabs(step[i]) / p->size[i]);
    bool has_arrived = length <= ARRIVED || (p->was_near && length <= ARRIVED_AGAIN) ||
                       (p->n_newton && largest_change <= NOISE * sim->tolerance.rtol);
    if (has_arrived && is_elsewhere(p, n, y))
        return simulate_on(sim);
    if (has_arrived) {
        double *found = p->found + p->n_found++ * n * (1 + n_own);
        for (size_t i = 0; i < n; i++)
            found[i] = y[i] + step[i];
        memcpy(found + n, p->by_own, n * n_own * sizeof *found);
        bool is_solved = solve(p, n, m, by_own, found + n, n_own, 0, &worst);
        return is_solved ? next_period(sim) : fail_to_converge(sim, worst, change[worst]);
    }
    for (size_t i = 0; i < n; i++)
        y[i] += step[i];
    p->n_newton++;
    p->was_near = length <= NEAR;
    return pass(sim, false);
}

bool period_next(struct simulation *sim)
{
    struct period *p = sim->period;
    size_t n = sim->n_state;
    const struct evaluation *inner = &p->inner;
    bool has_failed = inner->outcome != EVALUATION_OK;
    p->n_step += inner->n_step;
    p->crosses = inner->crosses; /* of the last one */
    if (has_failed && p->n_newton && inner->outcome != EVALUATION_BUDGET &&
        inner->outcome != EVALUATION_NO_MEMORY)
        return simulate_on(sim);
    if (has_failed)
        return fail_like_inner(sim);
    if (p->n_pass > 1)
        return iterate(sim);
    memcpy(p->begin, p->end, n * sizeof(double));
    memcpy(p->reached, p->end, n * sizeof(double));
    memcpy(p->by_own, p->end + n, n * p->n_own * sizeof(double));
    return pass(sim, false);
}
