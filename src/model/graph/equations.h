/* A model as equations over one expression graph, made by a front end (now model text) and read by the back ends; and the
 * functions of the plugin interface as matrices of nodes: values from the equations, and their derivatives. Independent of how
 * the model was written, except for lines and names.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "model/graph/derive.h"

#include <stiffit/model.h>

/* Names are [A-Za-z_][A-Za-z0-9_]*, unique over all kinds (an observable may have the name of the state or intermediate that it
 * is). Strings are UTF-8 without control characters, or NULL. Lines count from 1; 0: none. */
struct equation_state {
    char *name, *unit;
    node initial; /* depends on parameters, covariates and time (t0) */
    node rhs;
    uint32_t initial_line, rhs_line;
};

/* The prior of a parameter. first and second: location and scale; of "uniform" the bounds; on_optimizer: on the optimiser's
 * scale. */
struct equation_prior {
    const char *kind; /* "normal", "log-normal", "laplace", "uniform", or NULL: none */
    bool on_optimizer;
    double first, second;
};

struct equation_parameter {
    char *name, *unit;
    const char *scale; /* "lin", "log" or "log10" */
    double start, lower, upper;
    struct equation_prior prior;
    uint32_t line;
};

struct equation_covariate {
    char *name, *unit;
    uint32_t line;
};

/* A covariate that varies in time: linear between its knots, or constant after each. */
struct equation_input {
    char *name, *unit;
    bool is_linear;
    uint32_t line;
};

/* The lag time or bioavailability of doses into a state. */
struct equation_dosing {
    uint32_t state, line;
    bool is_lag;
    node value; /* depends on parameters, covariates, inputs and time (of the dose) */
};

struct equation_assignment {
    uint32_t state, line;
    node value;
};

struct equation_event {
    char *name;
    uint8_t kind;    /* STIFFIT_EVENT_*, as in stiffit/model.h */
    uint32_t line, n_assignment;
    struct equation_assignment *assignment;
    node condition;  /* or the time; as it was written */
    node when;       /* the time, or what is negative where the condition is false */
    node delay, priority; /* or NODE_NONE */
};

struct equation_observable {
    char *name, *unit;
    node value;
    node noise; /* standard deviation, or NODE_NONE */
    const char *error; /* distribution of the measurement errors, as in stiffit/model.h; NULL: unspecified */
    uint32_t line;
};

/* Intermediates make output readable; the back ends do not need them. Constants are intermediates whose node is a constant. */
struct equation_intermediate {
    char *name;
    node value;
    uint32_t line;
};

struct equations {
    char *name, *description, *time_unit;
    double t0;
    struct equation_state *state;
    struct equation_parameter *parameter;
    struct equation_covariate *covariate;
    struct equation_observable *observable;
    struct equation_intermediate *intermediate; /* each after those that it uses */
    struct equation_input *input;
    struct equation_dosing *dosing;
    struct equation_event *event;
    uint32_t n_state, n_parameter, n_covariate, n_observable, n_intermediate, n_input, n_dosing, n_event;
    struct graph *graph; /* owned */
    struct arena arena;  /* memory of the strings and arrays above */
    char *source;        /* the text, NUL-terminated, for quoting lines; freed here; or NULL */
    char *origin;        /* path of the text, for messages and comments */
};

void equations_free(struct equations *equations); /* NULL is legal */

/* What the rows and columns of a function's result are. ASSIGNED: the states after the first event, then those after the second
 * one, ...; STATE_TIME: states, then time. */
enum function_axis { OF_NOTHING, OF_RATE, OF_INITIAL, OF_OBSERVABLE, OF_NOISE, OF_STATE, OF_PARAMETER, OF_STATE_TIME, OF_SWITCH,
                     OF_EVENT, OF_ASSIGNED };

/* name as in struct stiffit_model, rows, columns, the function whose derivative it is (or itself) */
#define MODEL_FUNCTIONS(X) \
    X(initial, INITIAL, NOTHING, initial) X(rhs, RATE, NOTHING, rhs) X(observe, OBSERVABLE, NOTHING, observe) \
    X(noise, NOISE, NOTHING, noise) X(switching, NOTHING, NOTHING, switching) X(forcing, NOTHING, NOTHING, forcing) \
    X(switching_time, SWITCH, NOTHING, switching_time) X(lag, STATE, NOTHING, lag) \
    X(bioavailability, STATE, NOTHING, bioavailability) X(event_when, EVENT, NOTHING, event_when) \
    X(event_assign, ASSIGNED, NOTHING, event_assign) X(event_delay, EVENT, NOTHING, event_delay) \
    X(event_priority, EVENT, NOTHING, event_priority) \
    X(jacobian, RATE, STATE, rhs) X(rhs_parameter, RATE, PARAMETER, rhs) X(initial_parameter, INITIAL, PARAMETER, initial) \
    X(observe_state, OBSERVABLE, STATE, observe) X(observe_parameter, OBSERVABLE, PARAMETER, observe) \
    X(noise_state, NOISE, STATE, noise) X(noise_parameter, NOISE, PARAMETER, noise) \
    X(switching_time_parameter, SWITCH, PARAMETER, switching_time) X(switching_state, SWITCH, STATE_TIME, switching) \
    X(switching_slope, SWITCH, PARAMETER, switching) X(lag_parameter, STATE, PARAMETER, lag) \
    X(bioavailability_parameter, STATE, PARAMETER, bioavailability) X(event_when_state, EVENT, STATE_TIME, event_when) \
    X(event_when_parameter, EVENT, PARAMETER, event_when) X(event_assign_state, ASSIGNED, STATE_TIME, event_assign) \
    X(event_assign_parameter, ASSIGNED, PARAMETER, event_assign) X(event_delay_parameter, EVENT, PARAMETER, event_delay) \
    X(event_delay_state, EVENT, STATE_TIME, event_delay)

#define MODEL_FUNCTION_NUMBER(name, ...) FUNCTION_##name,
enum model_function { MODEL_FUNCTIONS(MODEL_FUNCTION_NUMBER) N_MODEL_FUNCTION };

/* Of each event a plugin has a function of its own for these. */
enum { N_EVENT_FUNCTION = 3 };
extern const enum model_function event_functions[N_EVENT_FUNCTION];

extern const struct model_function_info {
    const char *name;
    enum function_axis row, column;
    enum model_function value;
} model_functions[N_MODEL_FUNCTION];

struct functions {
    struct graph_matrix of[N_MODEL_FUNCTION]; /* values: one column with every row. noise and its derivatives: empty (0 x 0) if
                                               * no observable has noise; otherwise 1 for observables without; switching and
                                               * forcing: n as found, NaN: a switch without a time; lags,
                                               * bioavailabilities and events: empty if the model has none */
    uint8_t *parameter_use;                   /* n_parameter, STIFFIT_USE_*: the functions that depend on it, even through
                                               * floor() alone */
    uint8_t *switching_parameter;             /* n_switching x n_parameter, as in struct stiffit_model */
    struct lane_functions lanes;
};

/* Adds the derivatives to the equations' graph; the equations do not change. Fails as graph_status does; *functions is then
 * empty. */
enum status functions_derive(const struct equations *equations, struct functions *functions, struct error *error);
void functions_fini(struct functions *functions);

/* The last step of functions_derive: second derivatives, for models for which lanes pay. Fails as graph_status does. */
enum status lane_functions_derive(const struct equations *equations, struct functions *functions, struct error *error);
