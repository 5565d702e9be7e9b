/* The functions of the modules that stops.c puts in order. Those that return bool return false
 * if the evaluation is finished.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"
#include "ode/stops.h"

#include "base/experiment.h"

#include <float.h>
#include <math.h>

/* Stops closer together than this, relative to their times, are one. */
#define STOPS_CLOSEST (16 * DBL_EPSILON)

/* inputs.c */
/* Moves on to the knots until `limit`. True: any was passed. The integrator then begins anew,
 * also where an input only turns: with its history kept, the error test accepted steps with 100
 * times the error and saved none. */
bool inputs_pass_knots(struct simulation *simulation, double limit);
/* The next knot of an input that is due; INFINITY: none. */
double inputs_next_knot(const struct simulation *simulation, size_t i);

/* pending.c */
/* Adds an entry and returns its numbers, n of which are zero; NULL: no memory. */
double *pending_add(struct simulation *simulation, struct pending_item item);
void pending_remove(struct stops *stops, size_t i);
double *pending_numbers(const struct stops *stops, size_t i);
/* Whether an execution is due, before or, in stops.is_late, after the measurements of this time. */
bool pending_is_due(const struct stops *stops, const struct pending_item *item);
/* An event's trigger has become false: what waits for the measurements never fires, and what can
 * lapse is cancelled. */
void pending_cancel(struct stops *stops, size_t event);
/* Makes room for one more element in an array of n; NULL: no memory. pending_no_memory then ends
 * the evaluation. */
void *pending_grow(void *array, size_t n, size_t *most, size_t size);
bool pending_no_memory(struct simulation *simulation);
static inline unsigned stops_kind(const struct stops *stops, size_t event)
{
    return stops->abi->event_kind ? stops->abi->event_kind[event] : 0;
}

/* root.c */
/* Values and signs of all functions at (t, y). */
void root_evaluate(struct simulation *simulation, double t, const double *y, double *value);
/* A function whose value is a number of the other sign. */
bool root_differs(const struct stops *stops, size_t i);
/* Whether function i is a switch where the right-hand side has a kink and does not jump. */
bool root_is_kink(const struct stops *stops, size_t i);
void root_take(struct stops *stops, size_t i);
/* Whether this is a stop: a switch, an event that fires, or one whose execution is cancelled. */
bool root_matters(const struct stops *stops, size_t i);
/* The derivatives of the time at which function i has its root; f: the right-hand side before
 * it. Sets *slope = d value / d t along the trajectory, and evaluation.crosses where the
 * derivative does not exist. */
bool root_differentiate(struct simulation *simulation, const double *y, size_t i, const double *f,
                        double *dt, double *slope);

/* Whether a value counts as true. */
static inline bool root_is_true(const struct stops *stops, size_t i, double value)
{
    return value >= 0 || -value <= stops->roots.near[i];
}

/* jump.c. dt: n_block derivatives of the stop's time. */
/* s += sign f dt, with f from the model (or the given one). */
bool jump_travel(struct simulation *simulation, double *y, const double *f, const double *dt,
                 double sign);
/* Derivatives by parameter of one row, or by time, as numbers for block k; 0 for the pace. */
double jump_by_block(const struct simulation *simulation, const double *matrix, size_t n_row,
                     size_t row, size_t k);
/* The derivatives of the time of a switch or event that does not depend on states. */
bool jump_fixed(struct simulation *simulation, const double *y, size_t i, double *dt);

/* doses.c */
/* Times closer than this to that of a steady dose are the same. */
static inline double doses_slack(const struct dose *dose)
{
    return 64 * DBL_EPSILON * (fabs(dose->time) + dose->interval);
}
/* The dose that has not begun is given at this stop or the next one at the earliest: it begins. */
bool doses_begin(struct simulation *simulation);
/* The first dose that is due before the measurements of this side; doses.n: none. doses_repeat goes
 * on to its next repetition. */
size_t doses_due(const struct simulation *simulation, int side);
bool doses_repeat(struct simulation *simulation, size_t i);
/* The time at which it is given, where the model's functions of doses are computed: those before
 * a steady one at its time. */
double doses_time(const struct simulation *simulation, const struct next_dose *next);
/* How a dose enters its state: `amount` at once or, if length > 0, so long at this rate.
 * Derivatives by block: of the amount or rate in doses.by_rate, of the length in
 * doses.by_length, of its beginning in jump.dt. */
struct course {
    double amount, rate, length;
};
bool doses_course(struct simulation *simulation, const struct next_dose *next,
                  struct course *course);
/* Whether it is an infusion that does not end within this stop. */
static inline bool doses_infuses(const struct stops *stops, double since,
                                 const struct course *course)
{
    return course->length > 0 && since + course->length > stops->limit;
}
bool doses_give(struct simulation *simulation, double *y, size_t i);
/* the states of a steady dose */
bool doses_give_steady(struct simulation *simulation, double *y, size_t i);
/* i: the pending item */
bool doses_end_infusion(struct simulation *simulation, double *y, size_t i);
/* In a new phase. */
bool doses_change_phase(struct simulation *simulation);

/* events.c */
/* An event fires: its execution is added. */
bool events_fire(struct simulation *simulation, double *y, size_t event, const double *dt);
/* An event fires: its execution is added, for one of the kind AFTER behind the measurements of this
 * time. */
bool events_fire_later(struct simulation *simulation, double *y, size_t event, const double *dt);
/* The execution that comes first of those that are due and have all bits of `kind`; pending.n:
 * none is; above: it fails. */
size_t events_next(struct simulation *simulation, const double *y, unsigned kind);
bool events_execute(struct simulation *simulation, double *y, size_t i);

/* coincidence.c. Before anything happens at a stop: sets evaluation.crosses if the derivatives
 * do not exist there. */
bool coincidence_look(struct simulation *simulation, const double *y);
