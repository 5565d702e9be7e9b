/* Computes the rows of an evaluation from the state at their time.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/observer.h"

/* Predictions, noise and their derivatives for all rows of task time `i_time`, from the state and its sensitivities at that
 * time (contiguous blocks). NULL if there are no states. False: the model failed. */
bool observation_fill(struct observer *observer, size_t i_time, const double *y);
/* Call this after observation_fill, but not at the initial time. Whether these rows need more accurate states than the states'
 * sizes give: for example, the logarithm of a state that has decayed far. */
bool observation_asks_relative(struct observer *observer, size_t i_time, const double *y);
/* The same for rows first ... last - 1, from the errors of their observables (n_observable) that are due to absolute
 * tolerances; NULL: these are unknown, and only predictions count. */
bool observation_rows_ask_relative(struct observer *observer, size_t first, size_t last, const double *error);
/* The end of the rows of the next time; and marks their observables. */
size_t observation_end(const struct observer *observer);
void observation_mark(const struct observer *observer, bool *is_wanted);
/* For the backward pass, from the last time to the first: adds the derivatives of these rows, weighted as in
 * evaluation.adjoint: those by the state to by_state (n_state, or NULL if none is wanted), the direct ones by parameter to
 * gradient (n_sens). */
bool observation_weigh(struct observer *observer, size_t i_time, const double *y, double *by_state, double *gradient);
