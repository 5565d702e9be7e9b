/* The functions of the plugin interface as matrices of nodes: values from the equations of a
 * model, and their derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/derive.h"
#include "model/graph/equations.h"

#include <stiffit/model.h>

/* What the rows and columns of a function's result are. ASSIGNED: the states after the first
 * event, then those after the second one, ...; STATE_TIME: states, then time. */
enum function_axis {
    OF_NOTHING,
    OF_RATE,
    OF_INITIAL,
    OF_OBSERVABLE,
    OF_NOISE,
    OF_STATE,
    OF_PARAMETER,
    OF_STATE_TIME,
    OF_SWITCH,
    OF_EVENT,
    OF_ASSIGNED
};

/* name as in struct stiffit_model, rows, columns, the function whose derivative it is (or
 * itself) */
#define MODEL_FUNCTIONS(X) \
    X(initial, INITIAL, NOTHING, initial) X(rhs, RATE, NOTHING, rhs) \
      X(observe, OBSERVABLE, NOTHING, observe) \
    X(noise, NOISE, NOTHING, noise) X(switching, NOTHING, NOTHING, switching) \
      X(forcing, NOTHING, NOTHING, forcing) \
    X(switching_time, SWITCH, NOTHING, switching_time) X(lag, STATE, NOTHING, lag) \
    X(bioavailability, STATE, NOTHING, bioavailability) X(infusion, STATE, NOTHING, infusion) \
    X(event_when, EVENT, NOTHING, event_when) \
    X(event_assign, ASSIGNED, NOTHING, event_assign) X(event_delay, EVENT, NOTHING, event_delay) \
    X(event_priority, EVENT, NOTHING, event_priority) \
    X(jacobian, RATE, STATE, rhs) X(rhs_parameter, RATE, PARAMETER, rhs) \
      X(initial_parameter, INITIAL, PARAMETER, initial) \
    X(observe_state, OBSERVABLE, STATE, observe) \
      X(observe_parameter, OBSERVABLE, PARAMETER, observe) \
    X(noise_state, NOISE, STATE, noise) X(noise_parameter, NOISE, PARAMETER, noise) \
    X(switching_time_parameter, SWITCH, PARAMETER, switching_time) \
      X(switching_state, SWITCH, STATE_TIME, switching) \
    X(switching_slope, SWITCH, PARAMETER, switching) X(lag_parameter, STATE, PARAMETER, lag) \
    X(bioavailability_parameter, STATE, PARAMETER, bioavailability) \
      X(infusion_parameter, STATE, PARAMETER, infusion) \
    X(event_when_state, EVENT, STATE_TIME, event_when) \
    X(event_when_parameter, EVENT, PARAMETER, event_when) \
      X(event_assign_state, ASSIGNED, STATE_TIME, event_assign) \
    X(event_assign_parameter, ASSIGNED, PARAMETER, event_assign) \
      X(event_delay_parameter, EVENT, PARAMETER, event_delay) \
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
    /* values: one column with every row. noise and its derivatives: empty (0 x 0) if no
     * observable has noise; otherwise 1 for observables without; switching and forcing: n as
     * found, NaN: a switch without a time; lags, bioavailabilities, infusions and events: empty
     * if the model has none */
    struct graph_matrix of[N_MODEL_FUNCTION];
    /* n_parameter, STIFFIT_USE_*: the functions that depend on it, even through floor() alone */
    uint8_t *parameter_use;
    /* n_switching x n_parameter, as in struct stiffit_model */
    uint8_t *switching_parameter;
    struct graph_matrix forcing_slope;        /* d forcing / d t */
    struct lane_functions lanes;
};

/* Adds the derivatives to the equations' graph; the equations do not change. Fails as
 * graph_status does; *functions is then empty. */
enum status functions_derive(const struct equations *equations, struct functions *functions,
                             struct error *error);
void functions_fini(struct functions *functions);

/* Whether lanes may integrate these rates: unless they round (floor, ceil) states or inputs. In
 * one of the long steps of lanes that may jump several times, unseen; it is left to CVODES.
 * False: out of memory. */
bool lane_functions_suit(const struct graph *graph, const struct graph_matrix *rates, bool *suit);
/* The last step of functions_derive: second derivatives, for models for which lanes pay. Fails
 * as graph_status does. */
enum status lane_functions_derive(const struct equations *equations, struct functions *functions,
                                  struct error *error);
