/* How an evaluation ends. All of these fill in its outcome, reason and counts, and return false.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"

bool outcome_set(struct simulation *simulation, enum evaluation_outcome outcome);
/* The model's last failure. */
bool outcome_model_failed(struct simulation *simulation);
/* A reason, to which the time is appended. */
bool outcome_fail(struct simulation *simulation, enum evaluation_outcome outcome, const char *why);
/* outcome_fail for failures of the integrator that a tolerance may cause: names --atol if none is
 * given. */
bool outcome_integrator_failed(struct simulation *simulation, const char *why);
/* A state is below zero where it cannot be (positive.h). */
bool outcome_fell(struct simulation *simulation, size_t state);
