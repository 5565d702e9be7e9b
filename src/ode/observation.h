/* The measurements of an evaluation: which one is the next, and their rows from the state at
 * their time.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"

/* False: out of memory; rows_fini is legal then. */
bool rows_init(struct rows *rows, const struct stiffit_model *abi,
               const struct ode_options *options);
void rows_fini(struct rows *rows);

/* Answers the rows of the next task time from the state and its sensitivities there (blocks;
 * NULL if there are no states). False: they cannot be computed. If begins_anew is set, the
 * evaluation must be begun again, with relative tolerances. */
bool observation_answer(struct simulation *simulation, const double *y, bool initial);
/* Answers all measurements before t, and those at t up to a side, from the state at t. If
 * begins_anew is set, the rest is not answered. False: the evaluation is finished. */
bool observation_answer_until(struct simulation *simulation, double t, int side, const double *y,
                              bool initial);

/* For integrators that compute rows themselves: whether rows first ... last - 1 need more accurate
 * states than the states' sizes give, from the errors of their observables (n_observable, each
 * `stride` after the one before) that are due to absolute tolerances; NULL: these are unknown, and
 * only predictions count. */
bool observation_rows_ask_relative(struct simulation *simulation, size_t first, size_t last,
                                   const double *error, size_t stride);
/* Whether rows of a finished evaluation with `excess`, of a model without noise, need more accurate
 * states: what integrators have asked above, for standard deviations that need not be those then.
 * largest: n_observable zeros. */
bool observation_would_ask(const struct evaluation *evaluation, double rtol, double *largest);
#define OBSERVATION_NOT_ASKED (-1.0)
/* Marks the observables of the rows of the next time, and n_observable behind them those whose
 * noise is wanted. Returns the end of these rows. */
size_t observation_mark(const struct simulation *simulation, bool *is_wanted);
/* The end of the rows from `first` on, up to `last`, that have standard deviations of their own
 * (*is_own) or take the model's noise, as the first one does. */
size_t observation_end_of_own(const struct ode_task *task, size_t first, size_t last, bool *is_own);
/* The noise of rows first ... last - 1, which have standard deviations of their own. */
void observation_take_own(const struct evaluation *evaluation, size_t first, size_t last);
/* For the backward pass, from the last time to the first: adds the derivatives of these rows,
 * weighted as in evaluation.adjoint: those by the state to by_state (n_state, or NULL if none is
 * wanted), the direct ones by parameter to gradient (n_sens). */
bool observation_weigh(struct simulation *simulation, size_t i_time, const double *y,
                       double *by_state, double *gradient);
