/* Compares what a model says of itself with what its functions do: derivatives with differences, masks with effects, a
 * function with itself. It calls the model on the calling thread and keeps no state, so that a caller may run it on
 * several threads at once and compare the reports.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include "base/error.h"
#include "model/plugin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, what it returns: rows, or rows x columns as the derivative of the function `base`; whether it is given t (and y but for
 * forcing) */
#define CHECK_FUNCTIONS(X) \
    X(PREPARE, prepare, WORK, NONE, PREPARE, false) X(RHS, rhs, STATE, NONE, RHS, true) \
    X(INITIAL, initial, STATE, NONE, INITIAL, false) X(OBSERVE, observe, OBSERVABLE, NONE, OBSERVE, true) \
    X(NOISE, noise, OBSERVABLE, NONE, NOISE, true) X(SWITCHING, switching, SWITCHING, NONE, SWITCHING, true) \
    X(FORCING, forcing, FORCING, NONE, FORCING, true) X(JACOBIAN, jacobian, STATE, STATE, RHS, true) \
    X(JACOBIAN_SPARSE, jacobian_sparse, STATE, STATE, RHS, true) X(RHS_PARAMETER, rhs_parameter, STATE, PARAMETER, RHS, true) \
    X(INITIAL_PARAMETER, initial_parameter, STATE, PARAMETER, INITIAL, false) \
    X(OBSERVE_STATE, observe_state, OBSERVABLE, STATE, OBSERVE, true) \
    X(OBSERVE_PARAMETER, observe_parameter, OBSERVABLE, PARAMETER, OBSERVE, true) \
    X(NOISE_STATE, noise_state, OBSERVABLE, STATE, NOISE, true) \
    X(NOISE_PARAMETER, noise_parameter, OBSERVABLE, PARAMETER, NOISE, true)

enum check_function {
#define X(name, ...) CHECK_##name,
    CHECK_FUNCTIONS(X)
#undef X
    N_CHECK_FUNCTION
};

/* The name of the descriptor's field, as "jacobian_sparse". */
const char *check_function_name(enum check_function function);

/* Zero-initialise for the defaults. */
struct check_options {
    uint64_t seed;            /* of the random points; any number */
    size_t n_point;           /* 0: 12 */
    const double *p;          /* n_parameter values to look around; NULL: the model's starts, or 1 where it has none */
    const double *covariate;  /* n_covariate values; NULL: 1 each */
    double t_span;            /* times are t0 ... t0 + t_span; 0: a span guessed from the right-hand side */
    size_t max_column;        /* of a derivative at each point, chosen at random; 0: 400 */
    bool only_certain;        /* for runs: of derivatives and masks, only what is wrong beyond doubt and by more than 1e-3 */
};

enum check_kind {
    CHECK_DERIVATIVE,  /* got and expected differ by more than the error of the differences allows */
    CHECK_PATTERN,     /* an entry that is not 0 is missing in the sparse pattern */
    CHECK_MASK,        /* parameter_use says that a parameter has no effect, and it has */
    CHECK_IMPURE,      /* the same inputs gave other bits */
    CHECK_UNWRITTEN,   /* an entry of `out` was not written */
    CHECK_OVERRUN,     /* memory outside of `out`, or an input, was written */
    CHECK_FAILED,      /* an error code, or numbers that are not finite, where there should be a result */
    CHECK_INVALID,     /* a noise that is not above 0, or a return code that does not exist */
    CHECK_ENVIRONMENT  /* the rounding mode, or another part of the floating-point environment, is changed */
};

enum { CHECK_MAX_FINDING = 100 };

/* One fault. The names point into the model, and are NULL where they do not apply. */
struct check_finding {
    enum check_kind kind;
    enum check_function function;
    const char *row, *column;  /* names: d row / d column */
    double t;
    double got, expected;      /* what the model says and what differences (or the other call) say; NaN where neither */
    double error;              /* how far the differences may be off */
    size_t n_more;             /* further points at which the same entry is wrong */
    char text[320];            /* all of it in one line, for people */
};

struct check_report {
    size_t n_finding;                          /* in finding[] */
    size_t n_dropped;                          /* found beyond CHECK_MAX_FINDING */
    size_t n_point;                            /* points at which the model was looked at */
    size_t n_call[N_CHECK_FUNCTION];           /* 0: absent, or never reached */
    size_t n_compared[N_CHECK_FUNCTION];       /* entries compared with differences */
    size_t n_inconclusive[N_CHECK_FUNCTION];   /* entries where differences say too little (kinks, failures nearby) */
    double worst[N_CHECK_FUNCTION];            /* largest |got - expected| / what is allowed, where they agree */
    bool has_hidden_input;                     /* the rates change with time alone, and the model has no `forcing` */
    uint64_t fingerprint[N_CHECK_FUNCTION];    /* of all bits that this function returned, in order */
    struct check_finding finding[CHECK_MAX_FINDING];
};

/* Fills the report; faults of the model are findings, not errors. STATUS_NO_MEMORY, or STATUS_OK. Two calls with the
 * same model and options fill equal reports, on whatever threads; a model with faults may crash here, so the caller
 * contains it. */
enum status model_check(const struct model *model, const struct check_options *options, struct check_report *report,
                        struct error *error);

/* The first fault of a report with only_certain that was met at two points or more: a derivative, an entry that the sparse
 * pattern lacks or a mask that lies. NULL: there is none. */
const struct check_finding *check_report_certain(const struct check_report *report);

/* Adds to `report` a finding for each function whose fingerprint in `other` (from the same call on another thread)
 * differs, but only the first of prepare, initial and rhs, on which what follows depends. Returns their number. */
size_t check_report_compare(struct check_report *report, const struct check_report *other);

#endif
