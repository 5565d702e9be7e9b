/* Computes the rows of an evaluation from the state at their time.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_OBSERVATION_H
#define ODE_OBSERVATION_H

#include "ode/workspace.h"

/* Predictions, noise and their derivatives for all rows of task time `i_time`, from the state and its
 * sensitivities at that time (contiguous blocks). False: the model failed. */
bool observation_fill(struct workspace *workspace, size_t i_time, const double *y);
/* After observation_fill, but not at the initial time: whether these rows need a higher accuracy of states than their sizes
 * give, such as a state that has decayed far and is observed by its logarithm. */
bool observation_asks_relative(struct workspace *workspace, size_t i_time, const double *y);
/* For the backward pass, from the last time to the first: adds these rows' derivatives, with the weights of
 * evaluation.adjoint: by the state to by_state (n_state), and the direct ones by the wanted parameters to gradient (n_sens). */
bool observation_weigh(struct workspace *workspace, size_t i_time, const double *y, double *by_state, double *gradient);

#endif
