/* Compares a model's claims with what its functions do: derivatives with differences, masks with
 * effects, repeated calls with each other. Calls the model on the calling thread and keeps no
 * state, so a caller may run it on several threads and compare the reports.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "model/plugin.h"

/* X: fields of the descriptor; L: what the functions of lanes write, and LANES_CHANGE, the
 * change g of the rates along a direction, computed from `derive`, whose derivatives `curve`
 * writes. Name, what it returns: rows, or rows x columns as the derivative of the function
 * `base`; whether it is given t (and y but for forcing) */
#define CHECK_FUNCTIONS(X, L) \
    X(PREPARE, prepare, WORK, NONE, PREPARE, false) X(RHS, rhs, STATE, NONE, RHS, true) \
    X(INITIAL, initial, STATE, NONE, INITIAL, false) \
      X(OBSERVE, observe, OBSERVABLE, NONE, OBSERVE, true) \
    X(NOISE, noise, OBSERVABLE, NONE, NOISE, true) \
      X(SWITCHING, switching, SWITCHING, NONE, SWITCHING, true) \
    X(FORCING, forcing, FORCING, NONE, FORCING, true) \
    X(SWITCHING_TIME, switching_time, SWITCHING, NONE, SWITCHING_TIME, false) \
    X(LAG, lag, STATE, NONE, LAG, false) \
      X(BIOAVAILABILITY, bioavailability, STATE, NONE, BIOAVAILABILITY, false) \
    X(INFUSION, infusion, STATE, NONE, INFUSION, false) \
    X(EVENT_WHEN, event_when, EVENT, NONE, EVENT_WHEN, true) \
      X(EVENT_ASSIGN, event_assign, STATE, NONE, EVENT_ASSIGN, true) \
    X(EVENT_DELAY, event_delay, EVENT, NONE, EVENT_DELAY, true) \
    X(EVENT_PRIORITY, event_priority, EVENT, NONE, EVENT_PRIORITY, true) \
    L(LANES_RHS, lanes_rhs, STATE, NONE, RHS, true) \
        L(LANES_DERIVE, lanes_derive, STATE, NONE, RHS, true) \
    L(LANES_OBSERVE, lanes_observe, OBSERVABLE, NONE, OBSERVE, true) \
        L(LANES_NOISE, lanes_noise, OBSERVABLE, NONE, NOISE, true) \
    L(LANES_CHANGE, lanes_change, STATE, NONE, LANES_CHANGE, true) \
        X(JACOBIAN, jacobian, STATE, STATE, RHS, true) \
    X(JACOBIAN_SPARSE, jacobian_sparse, STATE, STATE, RHS, true) \
      X(RHS_PARAMETER, rhs_parameter, STATE, PARAMETER, RHS, true) \
    X(INITIAL_PARAMETER, initial_parameter, STATE, PARAMETER, INITIAL, false) \
    X(OBSERVE_STATE, observe_state, OBSERVABLE, STATE, OBSERVE, true) \
    X(OBSERVE_PARAMETER, observe_parameter, OBSERVABLE, PARAMETER, OBSERVE, true) \
    X(NOISE_STATE, noise_state, OBSERVABLE, STATE, NOISE, true) \
    X(NOISE_PARAMETER, noise_parameter, OBSERVABLE, PARAMETER, NOISE, true) \
    X(SWITCHING_STATE, switching_state, SWITCHING, POINT, SWITCHING, true) \
    X(SWITCHING_SLOPE, switching_slope, SWITCHING, PARAMETER, SWITCHING, true) \
    X(SWITCHING_TIME_PARAMETER, switching_time_parameter, SWITCHING, PARAMETER, SWITCHING_TIME, \
      false) \
    X(LAG_PARAMETER, lag_parameter, STATE, PARAMETER, LAG, false) \
    X(BIOAVAILABILITY_PARAMETER, bioavailability_parameter, STATE, PARAMETER, BIOAVAILABILITY, \
      false) \
    X(INFUSION_PARAMETER, infusion_parameter, STATE, PARAMETER, INFUSION, false) \
    X(EVENT_WHEN_STATE, event_when_state, EVENT, POINT, EVENT_WHEN, true) \
    X(EVENT_WHEN_PARAMETER, event_when_parameter, EVENT, PARAMETER, EVENT_WHEN, true) \
    X(EVENT_ASSIGN_STATE, event_assign_state, STATE, POINT, EVENT_ASSIGN, true) \
    X(EVENT_ASSIGN_PARAMETER, event_assign_parameter, STATE, PARAMETER, EVENT_ASSIGN, true) \
    X(EVENT_DELAY_STATE, event_delay_state, EVENT, POINT, EVENT_DELAY, true) \
    X(EVENT_DELAY_PARAMETER, event_delay_parameter, EVENT, PARAMETER, EVENT_DELAY, true) \
    L(LANES_BY_STATE, lanes_by_state, STATE, STATE, RHS, true) \
        L(LANES_BY_TIME, lanes_by_time, STATE, TIME, RHS, true) \
    L(LANES_BY_PARAMETER, lanes_by_parameter, STATE, PARAMETER, RHS, true) \
    L(LANES_CURVE_STATE, lanes_curve_state, STATE, STATE, LANES_CHANGE, true) \
    L(LANES_CURVE_PARAMETER, lanes_curve_parameter, STATE, PARAMETER, LANES_CHANGE, true) \
    L(LANES_OBSERVE_STATE, lanes_observe_state, OBSERVABLE, STATE, OBSERVE, true) \
    L(LANES_OBSERVE_PARAMETER, lanes_observe_parameter, OBSERVABLE, PARAMETER, OBSERVE, true) \
    L(LANES_NOISE_STATE, lanes_noise_state, OBSERVABLE, STATE, NOISE, true) \
    L(LANES_NOISE_PARAMETER, lanes_noise_parameter, OBSERVABLE, PARAMETER, NOISE, true)

#define CHECK_FUNCTION_NUMBER(name, ...) CHECK_##name,
enum check_function {
    CHECK_FUNCTIONS(CHECK_FUNCTION_NUMBER, CHECK_FUNCTION_NUMBER) N_CHECK_FUNCTION
};

/* The name of the descriptor's field, for example "jacobian_sparse". */
const char *check_function_name(enum check_function function);

/* Zero-initialise for the defaults. */
struct check_options {
    uint64_t seed;            /* of the random points; any number */
    size_t n_point;           /* 0: 12 */
    /* n_parameter values to check around; NULL: the model's starts, or 1 without a start */
    const double *p;
    const double *covariate;  /* n_covariate values; NULL: 1 each */
    /* times are t0 ... t0 + t_span; 0: guessed from the right-hand side */
    double t_span;
    size_t max_column;        /* columns of a derivative at each point, chosen at random; 0: 400 */
    /* for runs: of derivatives and masks, only certain faults of more than 1e-3 */
    bool only_certain;
    int alarm_s;              /* limit of a call, as in struct ode_alone; 0: none */
};

enum check_kind {
    CHECK_DERIVATIVE,  /* got and expected differ by more than the error of the differences */
    CHECK_PATTERN,     /* a non-zero entry is missing in the sparse pattern */
    CHECK_MASK,        /* parameter_use denies an effect that a parameter has */
    CHECK_IMPURE,      /* the same inputs gave different bits */
    CHECK_UNWRITTEN,   /* an entry of `out` was not written */
    CHECK_OVERRUN,     /* memory outside `out`, or an input, was written */
    CHECK_FAILED,      /* an error code or non-finite numbers instead of a result */
    CHECK_INVALID,     /* a noise that is not above 0, or a return code that does not exist */
    CHECK_LANES,       /* lanes give other rates, observables or noise than the model's functions */
    /* the rounding mode, or another part of the floating-point environment, was changed */
    CHECK_ENVIRONMENT
};

enum { CHECK_MAX_FINDING = 100 };

/* One fault. The names point into the model, and are NULL where they do not apply. */
struct check_finding {
    enum check_kind kind;
    enum check_function function;
    const char *row, *column;  /* names: d row / d column */
    double t;
    /* by the model, and by differences (or the other call); NaN: neither */
    double got, expected;
    double error;              /* possible error of the differences */
    size_t n_more;             /* further points at which the same entry is wrong */
    char text[320];            /* everything in one line, for people */
};

struct check_report {
    size_t n_finding;                          /* in finding[] */
    size_t n_dropped;                          /* found beyond CHECK_MAX_FINDING */
    size_t n_point;                            /* points at which the model was evaluated */
    size_t n_call[N_CHECK_FUNCTION];           /* 0: absent, or never reached */
    size_t n_compared[N_CHECK_FUNCTION];       /* entries compared with differences */
    /* entries that differences cannot decide (kinks, failures nearby) */
    size_t n_inconclusive[N_CHECK_FUNCTION];
    /* largest |got - expected| / allowed difference among those that agree */
    double worst[N_CHECK_FUNCTION];
    /* the rates depend on time alone; neither `forcing` nor max_step is there */
    bool has_hidden_input;
    /* of all bits that this function returned, in order */
    uint64_t fingerprint[N_CHECK_FUNCTION];
    struct check_finding finding[CHECK_MAX_FINDING];
};

/* Fills the report; faults of the model are findings, not errors. STATUS_NO_MEMORY or STATUS_OK.
 * Two calls with the same model and options fill equal reports on any threads. A faulty model
 * may crash here, so call this in a child process. */
enum status model_check(const struct model *model, const struct check_options *options,
                        struct check_report *report, struct error *error);

/* The first fault of a report with only_certain that was found at two points or more: a
 * derivative, an entry missing in the sparse pattern, or a wrong mask. NULL: there is none. */
const struct check_finding *check_report_certain(const struct check_report *report);

/* Adds to `report` a finding for each function whose fingerprint in `other` (the same call on
 * another thread) differs. Of prepare, initial and rhs only the first is added, since the others
 * depend on it. Returns the number of findings. */
size_t check_report_compare(struct check_report *report, const struct check_report *other);
