/* What the files of stops.h call of each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/stops.h"

#include "base/experiment.h"

#include <float.h>
#include <math.h>

/* Stops closer together than this, relative to their times, are one. */
#define STOPS_CLOSEST (16 * DBL_EPSILON)

/* schedule.c */
/* Times closer than this to that of a steady dose are the same. */
static inline double schedule_slack(const struct dose *dose)
{
    return 64 * DBL_EPSILON * (fabs(dose->time) + dose->interval);
}
void schedule_begin(struct simulation *simulation);
/* The next stop after `limit`. False: a lag cannot be computed, or no memory; the evaluation is finished. */
bool schedule_look(struct simulation *simulation);
/* Moves on to the knots until `limit`. True: any was passed. The integrator then begins anew, also where an input only turns:
 * with what it knows of the time before, its error test accepts steps with a hundred times the error, and takes as many. */
bool schedule_pass_knots(struct simulation *simulation, double limit);
/* The next knot of an input that is due; INFINITY: none. */
double schedule_next_knot(const struct simulation *simulation, size_t i);
/* Adds an entry and returns its numbers, n of which are zero; NULL: no memory. */
double *schedule_add(struct simulation *simulation, struct later later);
void schedule_remove(struct stops *stops, size_t i);
double *schedule_numbers(const struct stops *stops, size_t i);
static inline unsigned stops_kind(const struct stops *stops, size_t event)
{
    return stops->abi->event_kind ? stops->abi->event_kind[event] : 0;
}
/* Whether an execution is due, before or, in stops.is_late, after the measurements of this time. */
bool schedule_is_due(const struct stops *stops, const struct later *later);
/* The execution that comes first of those that are due and have all bits of `kind`; n_later: none is; above: it fails. */
size_t schedule_execution(struct simulation *simulation, const double *y, unsigned kind);
/* An event's trigger has become false: what waits for the measurements never fires, and what can lapse is cancelled. */
void schedule_cancel(struct stops *stops, size_t event);
/* Adds those of a steady dose's earlier repetitions that have not taken effect, or have not ended. */
bool schedule_past(struct simulation *simulation, size_t dose);
/* The time at which a repetition of a dose takes effect. */
bool schedule_find_effect(struct simulation *simulation, struct next_dose *next);
/* The time at which it is given, where the model's functions of doses are computed: those before a steady one at its time. */
double schedule_dose_time(const struct simulation *simulation, const struct next_dose *next);
/* Removes what earlier doses and events have left to be done, but for doses from `dose` on. */
void schedule_forget(struct stops *stops, size_t dose);
/* The first dose that is due; n_dose: none. schedule_repeat goes on to its next repetition. */
size_t schedule_dose(const struct stops *stops);
bool schedule_repeat(struct simulation *simulation, size_t i);
/* In a new phase: the lags of later doses; those that are on their way lose the derivatives of their times. */
bool schedule_again(struct simulation *simulation);

/* root.c */
/* Values and signs of all functions at (t, y). */
void root_evaluate(struct simulation *simulation, double t, const double *y, double *value);
/* A function whose value is a number of the other sign. */
bool root_differs(const struct stops *stops, size_t i);
void root_take(struct stops *stops, size_t i);
/* Whether this is a stop: a switch, an event that fires, or one whose execution is cancelled. */
bool root_matters(const struct stops *stops, size_t i);
/* The derivatives of the time at which function i has its root; f: the right-hand side before it. Sets *slope = d value / d t
 * along the trajectory, and evaluation.crosses where the derivative does not exist. */
bool root_differentiate(struct simulation *simulation, const double *y, size_t i, const double *f, double *dt, double *slope);

/* Whether a value counts as true. */
static inline bool root_is_true(const struct stops *stops, size_t i, double value)
{
    return value >= 0 || -value <= stops->near[i];
}

/* jump.c. dt: n_block derivatives of the stop's time. */
/* s += sign f dt, with f from the model (or the given one). */
bool jump_travel(struct simulation *simulation, double *y, const double *f, const double *dt, double sign);
/* Derivatives by parameter of one row, or by time, as numbers for block k; 0 for the pace. */
double jump_by_block(const struct simulation *simulation, const double *matrix, size_t n_row, size_t row, size_t k);
/* The derivatives of the time of a switch or event that does not depend on states. */
bool jump_fixed(struct simulation *simulation, const double *y, size_t i, double *dt);
/* How a dose enters its state: `amount` at once or, if length > 0, so long at this rate. Derivatives by block: of the amount or
 * rate in stops.by_rate, of the length in stops.by_length, of its beginning in stops.dt. */
struct course {
    double amount, rate, length;
};
bool jump_course(struct simulation *simulation, const struct next_dose *next, struct course *course);
/* Whether it is an infusion that does not end within this stop. */
static inline bool jump_infuses(const struct stops *stops, double since, const struct course *course)
{
    return course->length > 0 && since + course->length > stops->limit;
}
bool jump_dose(struct simulation *simulation, double *y, size_t i);
/* An infusion that took effect earlier, unless it has ended: false in *runs. */
bool jump_resume(struct simulation *simulation, const struct next_dose *past, bool *runs);
/* The states of a steady dose. */
bool jump_steady(struct simulation *simulation, double *y, size_t i);
void jump_sum_rates(struct simulation *simulation);
bool jump_end_infusion(struct simulation *simulation, double *y, size_t i);
/* In a new phase infusions keep their rates, and lose derivatives by parameters that the model no longer has. */
void jump_keep_rates(struct simulation *simulation);
/* An event fires: its execution is added. */
bool jump_fire(struct simulation *simulation, double *y, size_t event, const double *dt);
/* The same, or for one of the kind AFTER: it will do so after the measurements. */
bool jump_fire_later(struct simulation *simulation, double *y, size_t event, const double *dt);
bool jump_execute(struct simulation *simulation, double *y, size_t i);

/* meet.c. Before anything happens at a stop: sets evaluation.crosses if the derivatives do not exist there. */
bool meet_look(struct simulation *simulation, const double *y);
