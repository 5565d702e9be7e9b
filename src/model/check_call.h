/* Watched calls of a model's functions: guard zones, canaries, inputs compared afterwards, every
 * call made twice; and derivatives by differences with reliable error estimates, the reference
 * of the model check. Private to it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "model/check.h"

/* POINT: the states, then time. */
enum check_axis {
    AXIS_NONE,
    AXIS_TIME,
    AXIS_WORK,
    AXIS_STATE,
    AXIS_PARAMETER,
    AXIS_OBSERVABLE,
    AXIS_SWITCHING,
    AXIS_FORCING,
    AXIS_EVENT,
    AXIS_POINT
};

/* The shape of a function's result: rows, or rows x columns for a derivative of `base`. */
struct check_shape {
    const char *name;
    enum check_axis row, column;
    enum check_function base;
    bool at_time; /* takes t, and y unless it is forcing */
};
const struct check_shape *check_shape(enum check_function function);
size_t check_axis_size(const struct stiffit_model *abi, enum check_axis axis);
/* Number of doubles that a function writes. */
size_t check_size(const struct stiffit_model *abi, enum check_function function);
bool check_is_there(const struct stiffit_model *abi, enum check_function function);
bool check_is_of_lanes(enum check_function function);
/* NULL for those of lanes. */
stiffit_function *check_pointer(const struct stiffit_model *abi, enum check_function function);

/* Whether its numbers may be infinite or NaN: those of `prepare`, and times. They then count as
 * 0. */
bool check_may_be_infinite(enum check_function function);

enum { CHECK_NO_INDEX = -1 };
/* Adds a finding, or counts it towards an equal one. Its names of row and column are made from
 * their indices, or CHECK_NO_INDEX. */
void check_add(struct check_report *report, const struct stiffit_model *abi,
               const struct check_finding *found, int64_t row, int64_t column);

/* The point at which the model is called, and the buffers around it. y, p, covariate and work
 * may be written freely between calls; after a change of p, caller_prepare. Lives as long as its
 * arena. */
enum { N_CHECK_INPUT = 5 };
struct caller {
    int alarm_s; /* as in struct ode_alone, for each call; 0: none */
    const struct stiffit_model *abi;
    struct check_report *report;
    double t;
    uint32_t event; /* of event_assign */
    union { /* with NaN around, so that a read beyond an end shows */
        /* knot: the values of the model's inputs */
        struct { double *y, *p, *covariate, *work, *knot; };
        double *input[N_CHECK_INPUT];
    };
    double *out;                      /* of the largest function, with guard zones around */
    double *second;                   /* the same result again */
    double *shadow;                   /* copies of the inputs */
    size_t n_out;
    /* If the model has lanes: n_state + 1 numbers for `curve`, which may be written freely;
     * arrays of a call. */
    double *direction, *lane_input, *lane_out;
    /* n_input: the slopes of inputs, which move along with t since t_moved if is_moving;
     * scratch. */
    double *slope, *moved, t_moved;
    bool is_moving;
    size_t n_lane_call;
};

enum status caller_init(struct caller *caller, const struct stiffit_model *abi,
                        struct check_report *report, struct arena *arena);
/* check_lanes.c: room for calls of functions of lanes; and one call, each time in another lane
 * and beside other neighbours. What is not written holds the bits of `unwritten`. False:
 * something was written outside of the output. */
enum status check_lanes_init(struct caller *caller, struct arena *arena);
bool check_lanes_call(struct caller *caller, enum check_function function,
                      const struct stiffit_point *at, double unwritten, double *out);

/* Fills work for the present p; true if it could. Its numbers need not be finite: a model may
 * not use them all. */
bool caller_prepare(struct caller *caller);
/* One plain call into `result`; true: it returned OK and finite numbers. */
bool caller_value(struct caller *caller, enum check_function function, double *result);
/* A finding about a call as a whole. */
void caller_add(struct caller *caller, enum check_kind kind, enum check_function function,
                double got, double expected);
/* One watched call: every fault but failure becomes a finding. Returns what the model did, or
 * STIFFIT_RECOVERABLE where its numbers (other than those of prepare) are not finite. The result
 * counts into the fingerprint. */
int caller_watch(struct caller *caller, enum check_function function, double *result);

/* Scratch for derivatives of functions of up to n_row values. Lives as long as its arena. */
struct differences {
    size_t n_row;
    double *derivative, *error; /* n_row each: the results */
    double *size;               /* n_row: largest magnitude of the function's values so far */
    double *table, *value;
};

enum status differences_init(struct differences *differences, size_t n_row, struct arena *arena);

/* d base / d y[column] or d p[column] (axis) at the caller's point, which is restored. `scale` >
 * 0 is a typical magnitude of the variable. Central differences with steps scale/16, /32, ...
 * extrapolated to step 0 (Ridders 1982): for each row the entry of the table with the smallest
 * error estimate. False: the function cannot be evaluated around this point, however small the
 * step. */
bool differences_column(struct differences *differences, struct caller *caller,
                        enum check_function base, enum check_axis axis, size_t column,
                        double scale);

/* Whether `got` is certainly not d base_row / d x at the caller's point: central differences at
 * two small steps and both one-sided ones agree with each other, and `got` is further from all
 * of them than 4 times their disagreement and than 1e-3 of it. So a kink, a step narrower than
 * 1e-6 of the variable, noise and rounding prove nothing, nor does a variable at 0, whose scale
 * is unknown. `terms` is the size of the terms inside the function. */
bool differences_contradict(struct differences *differences, struct caller *caller,
                            enum check_function base, enum check_axis axis, size_t column,
                            size_t row, double got, double terms);
