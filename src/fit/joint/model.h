/* The model of the shared parameters at the best point of a fit over many datasets, and what it
 * promises; and the parts of a search that work with it, in files of their own.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"
#include "fit/joint/pass.h"

/* The model of all blocks, each at this point. ASKED_FAILED: numbers are not finite; ASKED_END:
 * memory is out. */
enum asked joint_set_model(struct joint *joint, enum joint_which which);
/* The model of all blocks at the best point, with its step, what that promises and what the
 * stopping tests need. */
enum asked joint_set_step(struct joint *joint);
/* The decrease predicted without trust regions for the model that is set, of the best points or
 * the trials. */
double joint_promise_free(struct joint *joint, enum joint_which which);
/* The trials of all blocks, and of the parameters above, become the best point. */
void joint_take(struct joint *joint);
/* Evaluates all blocks in a pass that needs no step; and their trials become the best point; or
 * both. */
enum asked joint_ask(struct joint *joint, enum joint_pass pass);
void joint_take_first(struct joint *joint);
enum asked joint_evaluate(struct joint *joint, enum joint_pass pass);
/* After a pass that needs a best point: where blocks have left, the others evaluate it without
 * them. */
enum asked joint_judge(struct joint *joint, enum joint_went went);
/* The objective at the best point has become another one, by tolerances or an engine: so may that
 * at the start. */
void joint_doubt(struct joint *joint, double before);
/* After a pass: whether blocks have their best point by another method now. Takes its sums. */
bool joint_renew(struct joint *joint);
/* Steps of shared and own parameters may be as long as those near an optimum, and no radius is
 * below this. */
void joint_free_reaches(struct joint *joint, double least_radius);
/* The best point is a new one, or has another accuracy: begins the stopping tests anew, and values
 * before are not compared with later ones. */
void joint_begin_stopping(struct joint *joint);

/* Leaps of shared parameters (fit/search/leap.h) from the start, which has been evaluated; each try
 * is a pass. *any: there was a leap. Other than JOINT_COUNTS: what has ended them. */
enum joint_went joint_leap(struct joint *joint, bool *any);

/* L-BFGS from the best point to where a stopping test is met, or nothing better is found: *outcome,
 * and stopping.met. Other than JOINT_COUNTS: the pass that has ended it. */
enum joint_went joint_descend(struct joint *joint, enum outcome *outcome);

/* Where the objective is far from a sum of squares: the best inner step, and what it promises, take
 * the place of the model's. ASKED_END with joint->line.has_fewer: blocks have left, and the best
 * point is not that of the others. */
enum asked joint_line_look(struct joint *joint);
/* The best inner step becomes the trial of the parameters above the blocks. */
void joint_line_target(struct joint *joint);
/* After a trial that decreased the objective by this ratio of what was promised. */
void joint_line_adapt(struct joint *joint, double ratio);

/* A search has ended, at a stopping test or because it is cut short. ASKED_OK: another one goes on
 * from the best point, or from the start, which is lower; ASKED_FAILED: the fit ends like this, and
 * its statistics are known; ASKED_END: it is cut short. */
enum asked joint_confirm(struct joint *joint, enum outcome *outcome, enum stop_test *stop);
/* The best point of a fit that is cut short, for its record; and its statistics, if it was a
 * budget that ended it, or where the best point's derivatives are kept. */
void joint_keep_best(struct joint *joint, enum outcome outcome);
