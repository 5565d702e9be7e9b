/* The functions of the plugin interface as matrices of nodes: values from the equations, derivatives made of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_FUNCTIONS_H
#define MODEL_GRAPH_FUNCTIONS_H

#include "model/graph/derive.h"
#include "model/graph/equations.h"

#include <stiffit/model.h>

/* name as in struct stiffit_model, rows, columns */
#define MODEL_FUNCTIONS(X) \
    X(initial, n_state, 1) X(rhs, n_state, 1) X(observe, n_observable, 1) X(noise, n_observable, 1) \
    X(switching, n_switching, 1) X(forcing, n_forcing, 1) \
    X(jacobian, n_state, n_state) X(rhs_parameter, n_state, n_parameter) X(initial_parameter, n_state, n_parameter) \
    X(observe_state, n_observable, n_state) X(observe_parameter, n_observable, n_parameter) \
    X(noise_state, n_observable, n_state) X(noise_parameter, n_observable, n_parameter)

enum model_function {
#define X(name, rows, columns) FUNCTION_##name,
    MODEL_FUNCTIONS(X)
#undef X
    N_MODEL_FUNCTION
};

struct functions {
    struct graph_matrix of[N_MODEL_FUNCTION]; /* values: one column; every row of a value is there. noise and its
                                                 derivatives: empty (0 x 0) where no observable has one; else 1 for
                                                 those without; switching and forcing: n as found */
    uint8_t *parameter_use;                   /* n_parameter, STIFFIT_USE_*: what it is in, even if only in floor() */
    uint8_t *switching_parameter;             /* n_switching x n_parameter, as in struct stiffit_model */
};

/* Adds the derivatives to the equations' graph; the equations themselves stay as they are. Fails as graph_status does;
 * *functions is empty after a failure. */
enum status functions_derive(const struct equations *equations, struct functions *functions, struct error *error);
void functions_fini(struct functions *functions);

const char *model_function_name(enum model_function function);

#endif
