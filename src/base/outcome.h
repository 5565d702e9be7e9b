/* How a fit ended: the numbers in /fits/status and the bits in /fits/notes. They never change.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/* number, name, success, meaning, what a user may do about it (or NULL) */
#define OUTCOME_LIST(X) \
    X(0, not_run, false, "not run yet", "the same `stiffit run` command fits them") \
    X(1, converged, true, "a stopping test was met", NULL) \
    X(2, stalled, false, "no further decrease was found, but the stopping tests are not met", \
      "try a smaller --rtol, or other starts (--starts)") \
    X(3, budget, false, "the evaluations or integrator steps of this fit are used up; the best " \
      "point is kept", \
      "try better starts, or a larger --max-evaluations, --max-steps or --max-total-steps") \
    X(4, timeout, false, "the time of this fit is used up (the best point is kept), or the fit " \
      "hung (there is no best point)", \
      "try better starts, or a larger --max-seconds") \
    X(5, ode_failed, false, "at the starting point, the integrator did not reach the last " \
      "measurement", \
      "try other starts (--starts) or narrower bounds, or run `stiffit simulate` at the start") \
    X(6, model_failed, false, "at the starting point, the model returned an error or numbers " \
      "that are not finite", \
      "try other starts (--starts) or narrower bounds, or run `stiffit simulate` at the start") \
    X(7, crashed, false, "the model crashed", \
      "`stiffit model check` looks for faults of the model") \
    X(8, bad_data, false, "its data, start or bounds cannot be used as they are", NULL) \
    X(9, out_of_memory, false, "not enough memory for this fit", NULL) \
    X(10, other_failed, false, \
      "another dataset of the same fit could not be used or evaluated: the message says which " \
      "one", \
      "mend that dataset, or fit the others without it (--leave-out-failed)") \
    X(11, evaluated, true, "evaluated at its start, without a search (--evaluate)", NULL)

#define OUTCOME_NUMBER(number, name, ...) OUTCOME_##name = number,
enum outcome { OUTCOME_LIST(OUTCOME_NUMBER) N_OUTCOME };

const char *outcome_name(int outcome); /* "unknown" beyond the last one */
const char *outcome_meaning(enum outcome outcome);
const char *outcome_advice(enum outcome outcome); /* NULL: there is none */
bool outcome_is_success(enum outcome outcome);

/* Compromises that a fit made; a bit set in /fits/notes. */
#define NOTE_LIST(X) \
    X(0, difference_jacobian, "the model has no Jacobian: difference quotients were used") \
    X(1, difference_rhs_parameter, "the model has no df/dp: difference quotients were used") \
    X(2, difference_initial, "the model has no derivatives of its initial state: difference " \
      "quotients were used") \
    X(3, difference_observe, "the model lacks derivatives of its observables: difference " \
      "quotients were used") \
    X(4, difference_noise, "the model lacks derivatives of its noise: difference quotients were " \
      "used") \
    X(5, start_moved, "the start lay outside the bounds and was moved onto them") \
    X(6, failed_evaluations, "some trial points could not be evaluated") \
    X(7, missing_values, "some measurements are missing (NaN) and were left out") \
    X(8, no_model_sigma, "measurements without sigma have equal weights; standard errors are " \
      "estimated from the residuals") \
    X(9, noise_floor, "the predicted decrease is below the integrator's accuracy: a smaller " \
      "--rtol could find more") \
    X(10, no_influence, "a free parameter has no influence on the predictions at the best fit; " \
      "try --starts") \
    X(11, not_certified, "tighter integrator tolerances did not confirm the optimum: try a " \
      "smaller --rtol or a larger budget") \
    X(12, flat_direction, "the data do not determine some combination of parameters: a flat " \
      "direction") \
    X(13, warm_start, "the start was the median of the pilots' parameters (--warm-start)") \
    X(14, cold_start, "the pilots' median did not lead to a good fit: the fit from the file's " \
      "start was kept (--warm-start)") \
    X(15, difference_gradient, "derivatives are difference quotients of whole evaluations") \
    X(16, expected_information, \
      "standard errors use the expected information, because the observed one is not clearly " \
      "positive definite") \
    X(17, retried, "this row is from --retry-failed, perhaps with other options: /provenance has " \
      "them") \
    X(19, state_jump, "the trajectory has no derivative at a switch or an event: difference " \
      "quotients were used") \
    X(20, lower_start, "this row is the start with the lowest objective, which did not converge " \
      "(raise --max-evaluations)") \
    X(21, one_sided, "censored data alone limit some combination of parameters: its optimum is " \
      "at infinity, or anywhere between two limits") \
    X(22, changed_engine, "lanes failed, or their best point was not confirmed: the fit " \
      "continued from it with CVODES") \
    X(23, engines_differ, "CVODES does not confirm the optimum that was found in lanes: try " \
      "--engine cvodes, or a smaller " \
      "--rtol") \
    X(24, hidden_pulses, "the rates depend on time, and the model declares neither breakpoints " \
      "nor a largest step: a short " \
      "pulse may be stepped over (--max-step)") \
    X(25, poor_fit, "the curve does not describe the data: chi-square is far too large for the " \
      "given sigmas " \
      "(probability below 1e-6) or, if sigmas are unknown or fitted, residuals keep their signs " \
      "or a constant fits as well") \
    X(26, all_at_bounds, "all free parameters are at their bounds: the data or the start have " \
      "other units, or the bounds " \
      "are too narrow") \
    X(27, mixed_sigma, "some measurements have a sigma and others have none, which count with " \
      "sigma 1 in their own units") \
    X(28, left_out, "other datasets failed and were left out of this fit of all datasets " \
      "(--leave-out-failed)") \
    X(29, no_signal, "no free parameter has an influence on the predictions at the best fit: the " \
      "data hold no signal (a " \
      "dose of 0?), or the start is far off") \
    X(30, small_scatter, "the residuals are smaller than the certificate's accuracy, 1e-6 of the " \
      "data's spread: standard " \
      "errors may come from the integrator's errors (try a smaller --rtol)")

#define NOTE_NUMBER(bit, name, meaning) NOTE_##name = 1 << (bit),
enum note {
    NOTE_LIST(NOTE_NUMBER) NOTE_DOUBTFUL =
        NOTE_poor_fit | NOTE_all_at_bounds /* what --strict counts as failures of converged fits */
};

/* Why a parameter has no standard error. */
#define LACK_LIST(X) \
    X(0, none, "there is a standard error") \
    X(1, fixed, "the parameter was not fitted") \
    X(2, at_bound, "the parameter is at a bound: the other errors are conditional on that") \
    X(3, flat, "the parameter is part of a direction that the data do not determine") \
    X(4, freedom, "no degrees of freedom are left to estimate the measurement error from") \
    X(5, not_run, "there is no best point, or the derivatives of its predictions are not known")

#define LACK_NUMBER(number, name, meaning) LACK_##name = number,
enum lack { LACK_LIST(LACK_NUMBER) N_LACK };

/* NULL beyond the last one. */
const char *lack_name(int number);
const char *lack_meaning(int number);

const char *note_meaning(int bit);
const char *note_name(int bit);
