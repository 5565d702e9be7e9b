/* How a fit ended: the numbers in /fits/status and the bits in /fits/notes. They never change.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

#include <stdbool.h>

/* number, name, success, meaning, what a user may do about it (or NULL) */
#define OUTCOME_LIST(X) \
    X(0, not_run, false, "not run yet", "the same `stiffit run` goes on with them") \
    X(1, converged, true, "a stopping test was met", NULL) \
    X(2, stalled, false, "no further decrease was found, but the stopping tests are not met", \
      "try a smaller --rtol, or other starts (--starts)") \
    X(3, budget, false, "the evaluations or integrator steps of this fit are used up; the best point is kept", \
      "try better starts, or a larger --max-evaluations, --max-steps or --max-total-steps") \
    X(4, timeout, false, "the time of this fit is used up and the best point is kept, or it hung and has none", \
      "try better starts, or a larger --max-seconds") \
    X(5, ode_failed, false, "the integrator could not reach the last measurement at the start", \
      "try other starts (--starts), narrower bounds, or `stiffit simulate` at the start") \
    X(6, model_failed, false, "the model returned an error or numbers that are not finite at the start", \
      "try other starts (--starts), narrower bounds, or `stiffit simulate` at the start") \
    X(7, crashed, false, "the model crashed", "`stiffit model check` looks for what is wrong with the model") \
    X(8, bad_data, false, "its data, start or bounds cannot be used as they are", NULL) \
    X(9, out_of_memory, false, "not enough memory for this fit", NULL)

enum outcome {
#define X(number, name, ...) OUTCOME_##name = number,
    OUTCOME_LIST(X)
#undef X
    N_OUTCOME
};

const char *outcome_name(enum outcome outcome);
const char *outcome_meaning(enum outcome outcome);
const char *outcome_advice(enum outcome outcome); /* NULL: there is none */
bool outcome_is_success(enum outcome outcome);

/* Compromises that a fit made; a bit set in /fits/notes. */
#define NOTE_LIST(X) \
    X(0, difference_jacobian, "the model has no Jacobian: difference quotients were used") \
    X(1, difference_rhs_parameter, "the model has no df/dp: difference quotients were used") \
    X(2, difference_initial, "the model has no derivatives of its initial state: difference quotients were used") \
    X(3, difference_observe, "the model lacks derivatives of its observables: difference quotients were used") \
    X(4, difference_noise, "the model lacks derivatives of its noise: difference quotients were used") \
    X(5, start_moved, "the start lay outside the bounds and was moved onto them") \
    X(6, failed_evaluations, "some trial points could not be evaluated") \
    X(7, missing_values, "some measurements are missing (NaN) and were left out") \
    X(8, no_model_sigma, "no sigma is known for some or all measurements: they weigh the same; " \
      "errors come from the residuals' scatter") \
    X(9, noise_floor, "what is left to gain lies below the integrator's accuracy: a smaller --rtol would show more") \
    X(10, no_influence, "a free parameter has no influence at the best fit: nothing uses it, or the search " \
      "has lost it (try --starts)") \
    X(11, not_certified, "tighter integrator tolerances did not confirm the optimum: try a smaller --rtol or a larger budget") \
    X(12, flat_direction, "the data do not know some combination of parameters: a flat direction") \
    X(13, warm_start, "the start was the median of the pilots' parameters (--warm-start)") \
    X(14, cold_start, "the pilots' median did not lead to a good fit: the fit from the file's start was kept (--warm-start)") \
    X(15, difference_gradient, "derivatives are difference quotients of whole evaluations") \
    X(16, expected_information, "the optimum hardly curves in some direction: standard errors are from expected information") \
    X(17, retried, "this row is from --retry-failed: its options may be others, and /provenance has them") \
    X(19, state_jump, "the right-hand side jumps at a condition, which sensitivities lack: difference quotients were used") \
    X(20, lower_start, "the lowest start did not converge: this row is that start's (raise --max-evaluations)") \
    X(21, one_sided, "only censored data bound some combination of parameters, and from one side: its optimum is at infinity") \
    X(22, changed_engine, "an integration in lanes failed: the fit went on from its best point with CVODES") \
    X(23, engines_differ, "CVODES does not confirm the optimum that was found in lanes: try --engine cvodes, or a smaller " \
      "--rtol")

enum note {
#define X(bit, name, meaning) NOTE_##name = 1 << (bit),
    NOTE_LIST(X)
#undef X
};

/* Why a parameter has no standard error. */
#define LACK_LIST(X) \
    X(0, none, "it has one") \
    X(1, fixed, "it was not fitted") \
    X(2, at_bound, "a bound holds it: the other errors are conditional on that") \
    X(3, flat, "it is part of a direction that the data do not know") \
    X(4, freedom, "no degrees of freedom are left to estimate the measurement error from") \
    X(5, not_run, "there is no best point, or nothing is known of its predictions' derivatives")

enum lack {
#define X(number, name, meaning) LACK_##name = number,
    LACK_LIST(X)
#undef X
    N_LACK
};

/* NULL beyond the last one. */
const char *lack_name(int number);
const char *lack_meaning(int number);

const char *note_meaning(int bit);
const char *note_name(int bit);

#endif
