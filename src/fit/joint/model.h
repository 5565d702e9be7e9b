/* The model of the shared parameters at the best point of a fit over many datasets, and what it
 * promises.
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
