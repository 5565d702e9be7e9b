/* The plugin interface of stiffit: a model is a shared object that exports one constant
 * `stiffit_model`. This is the only header that a model needs; it includes nothing but <stdint.h>
 * and is valid C11 and C++11.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A complete plugin for y' = -k y with y(0) = 1, where y is observed:
 *
 *     #include <stiffit/model.h>
 *     static const char *const states[] = {"y"}, *const parameters[] = {"k"};
 *     static const char *const observables[] = {"y"};
 *     static int rhs(const struct stiffit_point *at, double *ydot)
 *     {
 *         ydot[0] = -at->p[0] * at->y[0];
 *         return 0;
 *     }
 *     static int initial(const struct stiffit_point *at, double *y)
 *     {
 *         (void)at;
 *         y[0] = 1;
 *         return 0;
 *     }
 *     static int observe(const struct stiffit_point *at, double *h)
 *     {
 *         h[0] = at->y[0];
 *         return 0;
 *     }
 *     STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
 *         STIFFIT_MODEL_HEADER, .name = "decay",
 *         .n_state = 1, .n_parameter = 1, .n_observable = 1,
 *         .state_name = states, .parameter_name = parameters, .observable_name = observables,
 *         .rhs = rhs, .initial = initial, .observe = observe,
 *     };
 *
 * To compile it:
 *
 *     cc -std=c11 -O3 -march=native -fPIC -shared -I INCLUDE -o decay.so decay.c -lm
 *
 * Rules for every function below
 * - It is pure and re-entrant: the same inputs give the same bits on any thread. It keeps no state,
 *   allocates nothing, and writes only to `out`. Several threads call it at once. It must not
 *   change the floating-point environment (rounding mode, traps, flush to zero); otherwise the
 *   evaluation fails.
 * - Parameters are on their natural scale (never logarithms), in the order of parameter_name, and
 *   finite.
 * - Matrices are column-major: entry (i, j) of an m x n matrix is out[i + j*m]. Every entry must be
 *   written, zeros too: `out` holds garbage on entry.
 * - Derivatives with respect to a parameter are total: they include its effect through `work`.
 * - It returns STIFFIT_OK, STIFFIT_RECOVERABLE (not computable here, for example the logarithm of a
 *   negative state: the integrator tries a smaller step) or STIFFIT_FATAL (not computable with
 *   these parameters: the evaluation fails). A result that is not finite counts as
 *   STIFFIT_RECOVERABLE. The exception is `work`, which `prepare` fills: it may hold infinities and
 *   NaN (for example for a branch that is not taken), and only the return code counts.
 * - From `observe`, `noise` and their derivatives, only the entries that a measurement at this time
 *   needs are used. The others may be NaN, such as the logarithm of a state that is still zero.
 *   Such a function returns STIFFIT_OK; any other return code fails all observables.
 */
#ifndef STIFFIT_MODEL_H
#define STIFFIT_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STIFFIT_EXPORT __attribute__((visibility("default")))

/* The version changes when an old plugin can no longer be used. Otherwise fields are only added
 * at the end of the descriptor, and struct_size says which of them the plugin has, so a plugin
 * built with an older or newer header of the same version loads. Fields beyond struct_size count
 * as absent. */
#define STIFFIT_ABI_VERSION 1u

enum { STIFFIT_OK = 0, STIFFIT_RECOVERABLE = 1, STIFFIT_FATAL = -1 };

/* The point at which a function is evaluated. New fields are only added at its end. All arrays
 * belong to the caller, have the lengths given here, and are valid only during the call. */
struct stiffit_point {
    double t;                 /* time, in the model's unit */
    /* n_state values; NULL where only t, p and covariates count: `initial`, `prepare`,
     * `forcing`, `lag`, `bioavailability`, `switching_time`, and their derivatives */
    const double *y;
    const double *p;          /* n_parameter values, natural scale */
    const double *covariate;  /* n_covariate values of this dataset */
    /* n_input values at time t, on the side of a knot where the integrator is; NULL if n_input =
     * 0, and in `prepare` and `forcing` */
    const double *input;
    /* n_work values filled by `prepare` for this p and covariate; NULL if n_work = 0 */
    const double *work;
    uint32_t event;           /* index of the event: in `event_assign` and its derivatives only */
};

typedef int stiffit_function(const struct stiffit_point *at, double *out);

/* Bits of parameter_use: the functions that a parameter enters. A parameter that enters neither
 * the right-hand side nor the initial state costs no sensitivity equation. */
enum { STIFFIT_USE_RHS = 1, STIFFIT_USE_INITIAL = 2, STIFFIT_USE_OBSERVE = 4, STIFFIT_USE_NOISE = 8,
       STIFFIT_USE_EVENT = 16 /* lag, bioavailability, infusion, events, times of switches */ };

/* What a parameter does to a switch (switching_parameter). */
enum { STIFFIT_SWITCH_MOVES = 1, STIFFIT_SWITCH_KINK = 2 };

/* infusion_kind. */
enum { STIFFIT_INFUSION_NONE = 0, STIFFIT_INFUSION_RATE = 1, STIFFIT_INFUSION_DURATION = 2 };

/* Bits of event_kind. */
enum {
    /* `event_when` is its time, which depends on p and covariates only; else a trigger */
    STIFFIT_EVENT_TIMED = 1,
    /* a trigger that holds at t0 fires there; else it must become false first */
    STIFFIT_EVENT_INITIALLY_FALSE = 2,
    /* its execution is cancelled if the trigger becomes false before it */
    STIFFIT_EVENT_CAN_LAPSE = 4,
    /* assigns values computed when it fires, before its delay; else when it is executed */
    STIFFIT_EVENT_EARLY_VALUES = 8,
    /* a timed one that is executed before the triggers and values of others of its time are
     * computed */
    STIFFIT_EVENT_FIRST = 16,
    /* measurements of the time of its execution see the state before it */
    STIFFIT_EVENT_AFTER = 32
};

/* Lanes: the right-hand side and its derivatives for STIFFIT_LANES independent evaluations at
 * once, one in each lane of the CPU's vector registers. Optional: a model without them is fitted
 * one evaluation at a time.
 *
 * Number i of lane k is at [i*STIFFIT_LANES + k] of every array, and arrays begin at multiples
 * of 64 bytes. Lanes are independent: the bits of a lane's results depend on the arguments of
 * that lane alone; those of other lanes may even be numbers that are not finite. There is no
 * return code: what cannot be computed in a lane is NaN or infinite in that lane. Otherwise the
 * rules of the functions above apply, and the results must agree with theirs up to rounding. */
enum { STIFFIT_LANES = 8 };

struct stiffit_lanes_point {
    const double *t;         /* 1 number (in each lane) */
    const double *y;         /* n_state */
    const double *p;         /* n_parameter, natural scale */
    const double *covariate; /* n_covariate */
    const double *work;      /* n_work, from `prepare` */
    /* n_state + 1: a change of the states, then of time; for `curve` only */
    const double *direction;
    const double *input;       /* n_input, at time t */
    const double *input_slope; /* n_input, by time: not 0 only for linear ones */
};

typedef void stiffit_lanes_function(const struct stiffit_lanes_point *at, double *out);

/* A sparse matrix, compressed by columns: column j has the entries start[j] <= k < start[j+1],
 * in rows row[k], which increase within a column. */
struct stiffit_pattern {
    const int32_t *start; /* columns + 1 */
    const int32_t *row;
};

/* What the integrator does in one stage of a step, for one model: the model compiler writes it;
 * a plugin written by hand leaves it out. It does what the program's own kernel does for any
 * model, in the same order, so that the bits are the same. A program whose plan of these
 * operations has another key does not call them. Matrices of sensitivities are here by column. */
struct stiffit_lanes_states {
    const struct stiffit_lanes_point *at;   /* of the stage */
    const struct stiffit_lanes_point *base; /* of the step's beginning; direction: out */
    /* 1/(h gamma) in the first stage, in which it is factored; else NULL */
    const double *inverse;
    const double *direct;     /* the factor of d rhs / d t */
    const double *minus_rate; /* of infusions, or NULL */
    const double *first;      /* derive's output in the first stage */
    double *right;            /* the right-hand side without the model; is overwritten */
    double *derived, *curved; /* out: outputs of derive and curve; stages: derived may be NULL */
    double *entry;            /* out: d rhs / d p with the outputs of curve */
    double *factor;           /* the factored matrix; out in the first stage */
    /* out: what a step of iterative refinement adds to `out` (stages), or the right-hand side
     * (states) */
    double *correction;
    double *out;              /* the stage */
    int32_t n_lane;           /* lanes from there on are not computed */
    int32_t has_columns;      /* 0: no curve, no entries */
};
/* The entry at `value` is added to the right-hand side at `row`, in the lanes of the mask at
 * `rank`; all three are counted in doubles. */
struct stiffit_lanes_entry {
    int64_t value, row, rank;
};
struct stiffit_lanes_columns {
    /* from the states' stage; curve's output follows derive's */
    const double *derived, *factor, *entry;
    const double *sens, *argument;          /* at the step's beginning, and of the stage */
    const double *minus_rate;               /* of infusions, or NULL */
    const double *of_rank;                  /* masks of lanes, by rank; NULL: of all */
    const struct stiffit_lanes_entry *place;
    /* for stages: by number of right, what to add of entry, besides place: an entry's number
     * times STIFFIT_LANES; the number of entries stands for -0 */
    const int64_t *which;
    double *right, *out;                    /* the right-hand sides, and the stage */
    int32_t n_place, n_column, n_lane;
};
/* All stages of the states, each followed by those of all columns. begin makes right-hand sides
 * and arguments of a stage from those before it, and sets `direct`, `out`, `inverse` and `derived`
 * in states, and `out` in the blocks. Of derive's output the part by state is written, where
 * `derived` is not NULL; nothing of curve's, and no entries. */
struct stiffit_lanes_stages {
    void (*begin)(void *context, int32_t i_stage);
    void *context;
    const struct stiffit_lanes_states *states;
    const struct stiffit_lanes_columns *block; /* n_block */
    int32_t n_stage, n_block;
};
struct stiffit_lanes_algebra {
    uint64_t key;
    /* for the states */
    void (*solve)(const double *factor, const double *right, double *out, int32_t n_lane);
    /* For small models stages, else the other two; those that are not there are NULL. */
    void (*stages)(const struct stiffit_lanes_stages *all);
    void (*states)(const struct stiffit_lanes_states *stage);
    void (*columns)(const struct stiffit_lanes_columns *stage);
};

struct stiffit_lanes {
    /* sizeof(struct stiffit_lanes); fields are only added at the end */
    uint32_t struct_size;
    /* STIFFIT_LANES of the header that the plugin was built with */
    uint32_t n_lane;
    stiffit_lanes_function *rhs;     /* out: n_state, dy/dt */
    /* out: rhs (n_state numbers); then the entries of by_state, d rhs_i / d y_j, whose column
     * n_state is d rhs_i / d t with inputs that move along; then those of by_parameter,
     * d rhs_i / d p_j, which include the effect through `work`. */
    stiffit_lanes_function *derive;
    /* The second derivatives in one direction. With g = (d rhs / d y) v + (d rhs / d t) w, where
     * v and w are at->direction, out: the entries of curve_state, d g_i / d y_j; then those of
     * curve_parameter, d g_i / d p_j. */
    stiffit_lanes_function *curve;
    struct stiffit_pattern by_state;        /* n_state + 1 columns */
    struct stiffit_pattern by_parameter;    /* n_parameter columns */
    struct stiffit_pattern curve_state;     /* n_state columns */
    struct stiffit_pattern curve_parameter; /* n_parameter columns */
    const struct stiffit_lanes_algebra *algebra; /* NULL: none */
    /* out: the observables (n_observable numbers); then the entries of observe_state, d
     * observe_i / d y_j; then those of observe_parameter, d observe_i / d p_j. NULL: the
     * functions above are called for one lane after the other. */
    stiffit_lanes_function *observe;
    struct stiffit_pattern observe_state;     /* n_state columns */
    struct stiffit_pattern observe_parameter; /* n_parameter columns */
    /* For engines on a GPU: the functions again, lanes_rhs, ..., for one lane, as text for
     * OpenCL in pieces, the last one followed by NULL; the program brings the definitions of
     * what they are written in. NULL: there are none. calls: the functions of the C library that
     * they would call, "tan, erf", which is why there are none; or NULL. */
    const char *const *opencl;
    const char *calls;
    /* out: as of observe, for the model's noise: n_observable standard deviations; then the
     * entries of noise_state; then those of noise_parameter. NULL: noise and its derivatives are
     * called for one lane after the other; of a model without noise it must be NULL. */
    stiffit_lanes_function *noise;
    struct stiffit_pattern noise_state;     /* n_state columns */
    struct stiffit_pattern noise_parameter; /* n_parameter columns */
};

/* What keeps a state non-negative: a state, parameter, covariate, input, or time (index 0), that
 * is not negative, or a parameter or covariate above 0. */
enum {
    STIFFIT_NEED_NOTHING, /* never holds */
    STIFFIT_NEED_STATE,
    STIFFIT_NEED_PARAMETER,
    STIFFIT_NEED_COVARIATE,
    STIFFIT_NEED_INPUT,
    STIFFIT_NEED_TIME,
    STIFFIT_NEED_POSITIVE_PARAMETER,
    STIFFIT_NEED_POSITIVE_COVARIATE
};

struct stiffit_need {
    uint32_t kind; /* STIFFIT_NEED_* */
    uint32_t index;
};

struct stiffit_model {
    uint32_t abi_version;  /* STIFFIT_ABI_VERSION */
    /* sizeof(struct stiffit_model) of the header that the plugin was built with */
    uint32_t struct_size;

    const char *name;         /* for display */
    const char *description;  /* one line, or NULL */

    uint32_t n_state;       /* 0: nothing is integrated, the observables do not depend on states */
    uint32_t n_parameter;   /* at least 1 */
    uint32_t n_observable;  /* at least 1 */
    uint32_t n_covariate;   /* per-dataset constants such as dose or temperature */
    uint32_t n_work;        /* doubles of scratch that `prepare` fills once per evaluation */
    uint32_t n_nonzero;     /* entries of the sparse Jacobian's pattern; 0 if there is none */

    /* Names: arrays of as many strings as there are states, parameters, ...; unique within each
     * array, [A-Za-z_][A-Za-z0-9_.]*. covariate_name may be NULL if n_covariate = 0, and
     * state_name if n_state = 0. */
    const char *const *state_name;
    const char *const *parameter_name;
    const char *const *observable_name;
    const char *const *covariate_name;

    /* Defaults: arrays with an entry for each parameter, or NULL. Values in the problem file
     * override them. */
    /* NULL: the problem file must give them; outside the bounds: moved onto them */
    const double *parameter_start;
    const double *parameter_lower;           /* NULL: -infinity */
    const double *parameter_upper;           /* NULL: +infinity */
    const char *const *parameter_scale;      /* "lin", "log" or "log10"; NULL: "lin" */
    const char *const *parameter_unit;       /* labels; NULL: none */
    /* STIFFIT_USE_* bits; NULL: every parameter may enter everything */
    const uint8_t *parameter_use;
    double t0;                               /* initial time if the problem file has none */
    const char *time_unit;                   /* label, or NULL */

    /* Required (rhs and initial only if n_state > 0). */
    stiffit_function *rhs;      /* out: n_state, dy/dt */
    stiffit_function *initial;  /* out: n_state, y(t0) */
    stiffit_function *observe;  /* out: n_observable, the predictions h(t, y, p) */

    /* Optional. If one is NULL, its fall-back is used and every run reports it. */
    /* out: n_work; at->t is t0, at->y and at->work NULL. Needed if n_work > 0 */
    stiffit_function *prepare;
    /* out: n_state x n_state, d rhs_i / d y_j. Else: sparse, or differences */
    stiffit_function *jacobian;
    stiffit_function *jacobian_sparse;    /* out: n_nonzero values in the order of the pattern */
    /* n_state + 1 offsets: the pattern, compressed by columns */
    const int32_t *column_start;
    const int32_t *row_index;             /* n_nonzero rows, increasing within each column */
    /* out: n_state x n_parameter, d rhs_i / d p_j. Else: differences */
    stiffit_function *rhs_parameter;
    stiffit_function *initial_parameter;  /* out: n_state x n_parameter. Else: differences */
    /* out: n_observable x n_state, dh_i / dy_j. Else: differences */
    stiffit_function *observe_state;
    /* out: n_observable x n_parameter, dh_i / dp_j. Else: differences */
    stiffit_function *observe_parameter;

    /* Noise model: the standard deviation of each observable's measurement error at this point,
     * > 0. If it is NULL, measurements without a sigma have sigma = 1 (ordinary least squares). */
    stiffit_function *noise;            /* out: n_observable */
    stiffit_function *noise_state;      /* out: n_observable x n_state. Else: differences */
    stiffit_function *noise_parameter;  /* out: n_observable x n_parameter. Else: differences */

    /* Priors of the parameters: arrays of n_parameter. Priors in the problem file replace all of
     * these. A prior that cannot be used is refused when the model is loaded or run. */
    /* "none", "normal", "log-normal", "laplace" or "uniform"; NULL: no priors */
    const char *const *parameter_prior;
    /* "natural", or "optimizer": on the scale of parameter_scale */
    const char *const *parameter_prior_on;
    /* mean, or centre of laplace; of log-normal the mean of the logarithm */
    const double *parameter_prior_location;
    /* standard deviation > 0, of log-normal that of the logarithm; of laplace the mean distance
     * from the centre */
    const double *parameter_prior_scale;
    /* ends of uniform */
    const double *parameter_prior_lower;
    const double *parameter_prior_upper;
    /* A table that no prior needs may be NULL. If parameter_prior_on is, all are natural. */

    /* Distribution of each observable's measurement errors: a word of `stiffit run --error`,
     * such as "normal" or "laplace", or "default", the run's --error; NULL: all "default". The
     * problem file overrides these words. Noise and sigma of a log-normal observable are the
     * standard deviation of its logarithm. */
    const char *const *observable_error;    /* n_observable words */

    /* Where the right-hand side is not smooth, which an integrator cannot see from single
     * points. All of it may be absent; then sensitivities count as exact, and steps are as long
     * as the error estimates allow.
     *
     * Switching functions: each changes its sign (negative or not) where a state, or time and a
     * parameter, makes the right-hand side jump, as y[0] - 1 for `y[0] > 1 ? a : b`. The
     * integrator stops there. */
    uint32_t n_switching;
    uint32_t n_forcing;
    stiffit_function *switching;        /* out: n_switching */
    /* n_switching x n_parameter: STIFFIT_SWITCH_MOVES where the parameter may move the time of
     * the switch, else 0; for all parameters STIFFIT_SWITCH_KINK where the right-hand side does
     * not jump, but its slope does. NULL: all may move all */
    const uint8_t *switching_parameter;
    /* Forcing: functions of time, parameters and covariates only, whose steps, pulses and turns
     * the integrator must not step over, such as the rate of an infusion. They are evaluated
     * before the integration, at about 130 times and wherever one jumps. For a pulse that may be
     * shorter than the gap between two of these times, add a step function that is 0 before the
     * middle of the pulse and 1 from there on. */
    stiffit_function *forcing;          /* out: n_forcing; at->y is NULL */

    const struct stiffit_lanes *lanes;  /* NULL: none */

    /* What the integrator stops for, so that states and sensitivities jump together there. All
     * of it may be absent.
     *
     * Switching functions that are NaN here have their times located along the trajectory. The
     * others change their sign exactly once, at a time that depends on p and covariates only, as
     * that of `t < lag` does; +infinity: never. */
    stiffit_function *switching_time;            /* out: n_switching */
    /* out: n_switching x n_parameter. Else: differences */
    stiffit_function *switching_time_parameter;
    /* out: n_switching x (n_state + 1), by states, then time. Else: differences */
    stiffit_function *switching_state;
    /* out: n_switching x n_parameter, by parameter. Else: differences */
    stiffit_function *switching_slope;

    /* Inputs: covariates that vary in time; their knots are in the problem file. Before the
     * first knot an input has that knot's value, after the last one the last one's. */
    uint32_t n_input;
    uint32_t n_event;
    const char *const *input_name;   /* n_input, unique, also among the covariates */
    /* n_input: 0: constant from each knot to the next; else linear in between. NULL: all 0 */
    const uint8_t *input_linear;

    /* Doses into state i take effect lag[i] >= 0 after their time, and only the share
     * bioavailability[i] of an amount arrives. NULL: 0, and 1. A dose at time t has the lag and
     * bioavailability computed at that t. */
    stiffit_function *lag;                       /* out: n_state */
    stiffit_function *lag_parameter;             /* out: n_state x n_parameter. Else: differences */
    stiffit_function *bioavailability;           /* out: n_state */
    stiffit_function *bioavailability_parameter; /* out: n_state x n_parameter. Else: differences */

    /* Events assign new values to states: a timed one at its time unless that is before t0,
     * another one whenever its trigger changes from negative (false) to not negative (true), by
     * the integration or because another event or a dose changes a state. NaN leaves a trigger
     * as it is. An event is executed event_delay after it fires. Of those executed at one time,
     * the one with the highest priority comes first; among equal ones, that of the lower index.
     * Each sees what the earlier ones assigned, and priorities and triggers are computed again
     * after each. An event that is executed for ever fails the evaluation. */
    const char *const *event_name;               /* n_event, unique */
    const uint8_t *event_kind;                   /* n_event: STIFFIT_EVENT_* bits; NULL: all 0 */
    /* out: n_event; the times of timed ones are taken at t0 */
    stiffit_function *event_when;
    /* out: n_event x (n_state + 1), by states, then by time. Else: differences */
    stiffit_function *event_when_state;
    stiffit_function *event_when_parameter;      /* out: n_event x n_parameter. Else: differences */
    /* out: n_state, all of them after event at->event */
    stiffit_function *event_assign;
    /* out: n_state x (n_state + 1), by states, then by time. Else: differences */
    stiffit_function *event_assign_state;
    stiffit_function *event_assign_parameter;    /* out: n_state x n_parameter. Else: differences */
    /* out: n_event, >= 0; NULL: 0. Computed when the event fires */
    stiffit_function *event_delay;
    stiffit_function *event_delay_parameter;     /* out: n_event x n_parameter. Else: differences */
    stiffit_function *event_priority;            /* out: n_event; NULL: all alike */
    /* out: n_event x (n_state + 1), by states, then by time. Else: differences */
    stiffit_function *event_delay_state;
    /* n_state x n_event: 0 where the event leaves the state alone, which matters to EARLY_VALUES
     * only; NULL: each assigns all states */
    const uint8_t *event_assigned;

    /* Bounds of the forcing functions over the times from at->t to t_end, which the integrator
     * halves until nothing can hide between its samples; NULL: it relies on the samples. out:
     * n_forcing x 4, by function: a lower and an upper bound of the value, then of the
     * derivative by time, infinite where the value may jump. Bounds may be wide over long times,
     * but must shrink with them. */
    int (*forcing_range)(const struct stiffit_point *at, double t_end, double *out);

    /* The rate or the duration, above 0, of doses into each state that the data leave to the
     * model: with the rate, the amount that arrives determines the duration, and with the
     * duration the rate. Of states without either the value is not used. */
    const uint8_t *infusion_kind;                /* n_state: STIFFIT_INFUSION_* */
    stiffit_function *infusion;                  /* out: n_state; NULL: there is none */
    stiffit_function *infusion_parameter;        /* out: n_state x n_parameter. Else: differences */

    /* The longest step that cannot pass over a pulse of the right-hand side in time, > 0; the
     * integrator makes no longer one. INFINITY: any step is good, since the right-hand side does
     * not depend on time, or only slowly, or `forcing` and switching_time tell where it changes.
     * 0: nothing is said; if the right-hand side then depends on time, and the model has neither
     * `forcing` nor switching_time, rows carry the note hidden_pulses. */
    double max_step;

    /* States that the right-hand side keeps non-negative, so that no step of the integrator may
     * carry one far below 0, as past the pole at -K of V y/(K + y). The rate of state i is not
     * negative where y[i] is 0 and nonnegative_need[nonnegative_start[i]] up to the next state's
     * first one all hold; a state that has the need STIFFIT_NEED_NOTHING may become negative.
     * NULL: every state may. */
    const int32_t *nonnegative_start;            /* n_state + 1 */
    const struct stiffit_need *nonnegative_need;
};

#define STIFFIT_MODEL_HEADER .abi_version = STIFFIT_ABI_VERSION, \
    .struct_size = sizeof(struct stiffit_model)

/* Every plugin exports this. */
extern STIFFIT_EXPORT const struct stiffit_model stiffit_model;

#ifdef __cplusplus
}
#endif
#endif
