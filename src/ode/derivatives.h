/* The model at a point: calls every function of the plugin with one check (only finite numbers
 * go in and come out), and replaces missing derivatives by difference quotients. Nothing else in
 * ode/ calls the model.
 *
 * Difference quotients are central, with a step of eps^(1/3) times the variable's size. The size
 * of a state is the largest of |y|, atol/rtol and a thousandth of its largest |y|; that of a
 * parameter is |p| (or |start|, or 1, if p = 0). They are one-sided if the model cannot be
 * evaluated on the other side or, for the right-hand side, a switch lies there. The matrix of
 * Newton's iteration, which only affects convergence, uses forward quotients with a step of
 * eps^(1/2).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once


#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>
#include <string.h>

/* What a parameter of the model enters. */
static inline unsigned derivatives_use(const struct stiffit_model *abi, size_t i_parameter)
{
    return i_parameter >= abi->n_parameter ? 0
           : abi->parameter_use            ? abi->parameter_use[i_parameter]
                                           : ~0u;
}

/* Whether the states depend on the parameter. */
static inline bool derivatives_has_block(const struct stiffit_model *abi, size_t i_parameter)
{
    return abi->n_state && derivatives_use(abi, i_parameter) &
                               (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL | STIFFIT_USE_EVENT);
}

/* Whether all n numbers are finite. */
static inline bool all_finite(const double *x, size_t n)
{
    /* The exponent of what is not finite has all bits set: one more carries into the sign's. */
    const uint64_t exponent = UINT64_C(0x7ff) << 52, one = UINT64_C(1) << 52;
    uint64_t carry = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        carry |= (bits & exponent) + one;
    }
    return !(carry >> 63);
}

/* The functions with derivatives by state and parameter, other than the right-hand side and the
 * initial state: the fields observe, noise, event_when, event_assign, event_delay, lag,
 * bioavailability, switching_time, switching, event_priority, infusion. */
enum point_function {
    MODEL_OBSERVE,
    MODEL_NOISE,
    MODEL_WHEN,
    MODEL_ASSIGN,
    MODEL_DELAY,
    MODEL_LAG,
    MODEL_BIOAVAILABILITY,
    MODEL_SWITCHING_TIME,
    MODEL_SWITCHING,
    MODEL_PRIORITY,
    MODEL_INFUSION,
    N_POINT_FUNCTION
};

/* An input between two knots: value + slope (t - since). */
struct input_piece {
    double since, value, slope;
};

/* The latest failure. `where` is the name of the function in the plugin. */
struct model_failure {
    const char *where; /* NULL: none yet */
    double t;
    /* the function returned success with numbers that are not finite, or its arguments would not
     * have been finite */
    bool not_finite;
    bool fatal;
};

struct derivatives {
    const struct stiffit_model *abi;
    const double *sizes;             /* the caller's: 2 n_state, the states' sizes (cvodes.h) */
    double floor;                    /* atol / rtol; 0: a fraction of sizes */
    /* n_state: the equations keep these states non-negative (positive.h); NULL: not known */
    const bool *is_kept;
    bool is_relative;                /* for observables: no floor, except for a state that is 0 */
    /* p, covariate and work of the evaluation; t and y of the call */
    struct stiffit_point at;
    /* filled by the caller: the wanted observables, at most n_observable. All others, with their
     * derivatives and noise, are undefined. */
    uint32_t *wanted;
    size_t n_wanted;
    double t0;
    /* the caller's: a typical interval of time, for differences; 0: unknown */
    double span;
    struct input_piece *piece;       /* n_input, the caller's */
    /* The caller's: the right-hand side and its derivatives are evaluated between these times
     * only, that is, on one side of what happens at them. derivatives_begin sets them to
     * infinity. */
    double since, until;
    /* The caller's: infusions. is_infused: `rate` (n_state) is part of the right-hand side, and
     * the wanted columns of rate_parameter (n_state x n_parameter) of its derivative. */
    bool is_infused;
    double *rate, *rate_parameter;
    int64_t n_rhs, n_jacobian;       /* calls, including those for difference quotients */
    struct model_failure failure;
    /* What depends on the evaluation's parameters; those of `other` are another row's
     * (simulation.h). */
    struct parameter_set {
        const double *p;
        size_t n_sens;
        /* parameters for which derivatives are wanted; n_parameter places */
        uint32_t *sens;
        double *work;                /* n_work */
        /* n_work x n_parameter each, for p + h and p - h; empty if not needed */
        double *work_up, *work_down;
        bool *has_up, *has_down;     /* n_parameter: whether `prepare` could fill them */
    } set, other;
    /* scratch */
    double *p_moved;                 /* n_parameter */
    double *y_moved, *y_lifted;      /* n_state each */
    double *up, *down, *base;        /* max(n_state, n_observable) each */
    double *input;                   /* n_input */
    double *signs;                   /* 2 n_switching */
    double *jacobian_values;         /* n_nonzero, if a dense Jacobian is made from a sparse one */
};

/* Unless stated otherwise, these return STIFFIT_OK, STIFFIT_RECOVERABLE or STIFFIT_FATAL, and
 * record failures in d->failure. Matrices are column-major. Those "by parameter" have
 * n_parameter columns, of which only the wanted ones are always written. Unwanted entries need
 * not be finite. */

/* False: out of memory. derivatives_fini is legal after a failure. */
bool derivatives_init(struct derivatives *d, const struct stiffit_model *abi);
void derivatives_fini(struct derivatives *d);

/* Begins an evaluation: calls `prepare`. Keeps the pointers. */
int derivatives_begin(struct derivatives *d, const double *p, const double *covariate, double t0,
                      size_t n_sens, const uint32_t *sens);

/* Other parameters and wanted ones from now on; wanted ones that are no parameters do not count. */
int derivatives_set(struct derivatives *d, const double *p, size_t n_sens, const uint32_t *sens);
/* Goes to `other`, and back. */
void derivatives_swap(struct derivatives *d);

int derivatives_rhs(struct derivatives *d, double t, const double *y, double *ydot);
/* dense, n_state x n_state. `f` is rhs(t, y) or NULL; rough: accurate enough for Newton's
 * iteration only. */
int derivatives_jacobian(struct derivatives *d, double t, const double *y, const double *f,
                         bool rough, double *jacobian);
/* n_nonzero values; only if the plugin has jacobian_sparse. */
int derivatives_jacobian_sparse(struct derivatives *d, double t, const double *y, double *values);
/* What an amount of each state adds to the rates of the others: inflow_i = sum |J_ij amount_j|
 * over j != i, with J at (t, y), in the model's own form, which is left in `jacobian`. decay:
 * -J_ii, or 0 where this is negative. n_state each. */
int derivatives_inflow(struct derivatives *d, double t, const double *y, const double *amount,
                       double *jacobian, double *inflow, double *decay);
int derivatives_rhs_parameter(struct derivatives *d, double t, const double *y,
                              double *by_parameter);
int derivatives_initial(struct derivatives *d, double *y);
int derivatives_initial_parameter(struct derivatives *d, double *by_parameter);

/* n_forcing values, which are not checked. */
int derivatives_forcing(struct derivatives *d, double t, double *out);

/* The functions above. Values of observables and noise are checked (noise must be > 0), and
 * those of event_assign; the others are not. y may be NULL if the function takes none. By state,
 * and by state and then time; the latter not for observables and noise. The derivative by time
 * includes the slopes of inputs. */
bool derivatives_is_there(const struct derivatives *d, enum point_function which);
int derivatives_value(struct derivatives *d, enum point_function which, double t, const double *y,
                      double *out);
int derivatives_by_state(struct derivatives *d, enum point_function which, double t,
                         const double *y, double *out);
int derivatives_by_state_and_time(struct derivatives *d, enum point_function which, double t,
                                  const double *y, double *out);
int derivatives_by_parameter(struct derivatives *d, enum point_function which, double t,
                             const double *y, double *out);
/* Records a failure that the caller found. Returns STIFFIT_RECOVERABLE. */
int derivatives_fail(struct derivatives *d, const char *where, double t, bool not_finite);

/* forcing_range from one time to another: 4 n_forcing numbers. */
int derivatives_forcing_range(const struct derivatives *d, double from, double to, double *out);
