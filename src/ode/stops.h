/* What happens during an evaluation: doses, infusions, knots of inputs, events, phases with
 * other parameters, and switches of the right-hand side. Each ends a step of the integrator at
 * its time (a stop), maps the state and its sensitivities, and restarts the integrator.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* If the time of a stop depends on a parameter p, the sensitivities s = dy/dp at a fixed time
 * turn into those at the stop, s + f dt/dp; the stop maps these together with the state; f
 * behind the stop turns them back:
 *
 *     s+ = g_y (s- + f- dt/dp) + g_p + g_t dt/dp - f+ dt/dp
 *
 * At one time, in this order: measurements of side -1; knots; ends of infusions; parameters;
 * switches; events; measurements of side 0; events of the kind AFTER; doses of side 0 and the
 * events that they cause; measurements of side 1; doses of side 1; measurements of side 2; and so
 * on.
 *
 * stops.c has the order and the next time. doses.c, inputs.c and events.c do what happens;
 * pending.c keeps what they have left to be done; root.c finds the times that depend on states;
 * coincidence.c finds where there are no derivatives. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>

struct simulation;

enum { STOPS_PARTS = 4 };

/* The next time at which a dose takes effect. */
struct next_dose {
    size_t dose;
    int64_t number; /* of its repetitions; negative: of a steady one, before its time */
    double t;
    bool is_steady; /* not yet the dose, but the states of a steady one */
};

/* doses.c: doses and infusions. */
struct doses {
    struct next_dose *next;      /* of the doses that have begun and are not over, in order */
    size_t n, max, i_dose;       /* i_dose: the first that has not begun */
    /* period.c: for each steady dose of the task, in order, the states at its time without it,
     * and their derivatives by the wanted parameters: n_state x (1 + n_column) */
    const double *steady;
    size_t n_column;
    bool crosses;                /* as evaluation.crosses, of these states */
    /* n_block: derivatives of a dose's bioavailability, rate and duration */
    double *by_share, *by_rate, *by_length;
    double *rate, *rate_parameter; /* of derivatives.h */
};

/* An execution of an event, or the end of an infusion, later on. Its numbers: dt/dp (n_block);
 * then for an end, the derivatives of its rate (n_block); for an execution with early values,
 * the state and its sensitivities. */
struct pending_item {
    double t;
    bool is_end;
    /* it comes after the measurements of its time; and the event fires only then: numbers dt/dp */
    bool is_late, is_waiting;
    uint32_t index; /* event, or state */
    double rate;
    uint64_t order; /* of creation */
};

/* pending.c: what is still to be done. */
struct pending {
    struct pending_item *entry;
    double *number;              /* max x stride */
    size_t n, max, stride;
    uint64_t n_made;
};

/* root.c: the functions whose roots are stops, switching functions and then events, n_function
 * each. */
struct roots {
    bool *is_watched, *is_true;  /* true: not negative */
    double *value, *last;        /* latest values; those at the end of the last step */
    /* values from -near on count as true (a trigger that became true near its root) */
    double *near;
    double *sample, *point;      /* at STOPS_PARTS times of the step; these and further times */
    /* the time and state (n_state) behind the last stop; then, at a root, the state there */
    double begin, *y_begin;
    /* the stop is a root; the functions that have one have changed their sign in `value` */
    bool has_state, is_root;
};

/* jump.c: numbers of the maps at a stop, each valid within one of them unless it says otherwise. */
struct jump {
    double *f, *f_left;          /* n_state; f_left: on the left side of a root */
    double *y_new;               /* n_state */
    double *star;                /* max(n_state, n_block) */
    double *all;                 /* n_state (1 + n_block) */
    double *row;                 /* values of a function of the model */
    double *by_state, *by_parameter; /* derivatives of one */
    /* n_block: the derivatives of the stop's time, and of what caused an event */
    double *dt, *dt_cause;
    /* n_block: those of the time of the switches that have a root here */
    double *dt_switch;
};

struct stops {
    const struct stiffit_model *abi;
    /* switching functions, then events: what root.c watches; most sensitivities */
    size_t n_function, n_block;
    struct doses doses;
    struct pending pending;
    struct roots roots;
    struct jump jump;
    size_t *i_knot;              /* inputs.c: n_input: the next */

    /* stops.c */
    double next;                 /* time of the next stop; INFINITY: there is none */
    double limit;                /* during a stop: what is due until this time happens now */
    double since;                /* the right-hand side behind the last stop is that of this time */
    /* the next; the evaluation's parameters are those of this number */
    size_t i_call, i_phase;
    /* n_function: times of switches and timed events; INFINITY: none, or over; -INFINITY: an
     * event whose time a new phase has put into the past */
    double *fixed;
    uint64_t n_executed, n_here; /* executions in all, and at this stop */
    uint64_t n_given;            /* doses at this stop */
    bool restarts, has_switch;   /* the integrator must begin anew; jump.dt_switch is in use */
    /* after the stop's measurements, as will be the executions of what fires now */
    bool is_late;
};

/* For at most so many sensitivities. NULL: out of memory. */
struct stops *stops_new(const struct stiffit_model *abi, size_t n_sensitivity);
void stops_free(struct stops *stops); /* NULL is legal */

/* stops.c: called only if simulation.has_stops, at time simulation.t with the state and its
 * sensitivities y (blocks). Those that return bool return false if the evaluation is finished. */
/* Before and after the initial state is computed. */
bool stops_begin(struct simulation *simulation);
bool stops_begin_state(struct simulation *simulation, const double *y);
/* All that happens at this time, with the measurements there, each of which sees the state on
 * its side; sets the next stop. initial: at t0. If begins_anew is set, the rest is undone. */
bool stops_happen(struct simulation *simulation, double *y, bool initial);
/* Whether nothing is left before the time +infinity. */
bool stops_await_steady_state(const struct simulation *simulation);
/* For models without states: sets inputs and parameters at a time, on a side. */
bool stops_set_inputs(struct simulation *simulation, double t, int side);

/* The state (without sensitivities) at a time of the latest step, valid until the next call;
 * NULL: it cannot be computed. */
struct latest_step {
    const double *(*state_at)(void *context, double t);
    void *context;
};

/* root.c: root_find is called after a step from `from` to simulation.t. True: the stop is a
 * root, at simulation.t. */
bool root_find(struct simulation *simulation, const struct latest_step *step, double from);
/* For evaluations with adjoints, which go straight through switches: sets evaluation.crosses if
 * a wanted parameter moves one. root_look_begin at the initial state, root_look after a step. */
void root_look_begin(struct simulation *simulation, const double *y);
void root_look(struct simulation *simulation, const struct latest_step *step, double from);
