/* A model as equations over one expression graph, made by a front end (now model text) and read by the back ends; and the
 * functions of the plugin interface as matrices of nodes: values from the equations, and their derivatives. Independent of how
 * the model was written, except for lines and names.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_EQUATIONS_H
#define MODEL_GRAPH_EQUATIONS_H

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
    uint32_t n_state, n_parameter, n_covariate, n_observable, n_intermediate;
    struct graph *graph; /* owned */
    struct arena arena;  /* memory of the strings and arrays above */
    char *source;        /* the text, NUL-terminated, for quoting lines; freed here; or NULL */
    char *origin;        /* path of the text, for messages and comments */
};

void equations_free(struct equations *equations); /* NULL is legal */

/* What the rows and columns of a function's result are. */
enum function_axis { OF_NOTHING, OF_RATE, OF_INITIAL, OF_OBSERVABLE, OF_NOISE, OF_STATE, OF_PARAMETER };

/* name as in struct stiffit_model, rows, columns, the function whose derivative it is (or itself) */
#define MODEL_FUNCTIONS(X) \
    X(initial, INITIAL, NOTHING, initial) X(rhs, RATE, NOTHING, rhs) X(observe, OBSERVABLE, NOTHING, observe) \
    X(noise, NOISE, NOTHING, noise) X(switching, NOTHING, NOTHING, switching) X(forcing, NOTHING, NOTHING, forcing) \
    X(jacobian, RATE, STATE, rhs) X(rhs_parameter, RATE, PARAMETER, rhs) X(initial_parameter, INITIAL, PARAMETER, initial) \
    X(observe_state, OBSERVABLE, STATE, observe) X(observe_parameter, OBSERVABLE, PARAMETER, observe) \
    X(noise_state, NOISE, STATE, noise) X(noise_parameter, NOISE, PARAMETER, noise)

enum model_function {
#define X(name, ...) FUNCTION_##name,
    MODEL_FUNCTIONS(X)
#undef X
    N_MODEL_FUNCTION
};

extern const struct model_function_info {
    const char *name;
    enum function_axis row, column;
    enum model_function value;
} model_functions[N_MODEL_FUNCTION];

/* What the functions of lanes compute beside values and rhs_parameter (struct stiffit_lanes). */
struct lane_functions {
    bool are_there; /* else the model is too large or has switches: the matrices are empty */
    struct graph_matrix by_state, curve_state, curve_parameter;
};

struct functions {
    struct graph_matrix of[N_MODEL_FUNCTION]; /* values: one column with every row. noise and its derivatives: empty (0 x 0) if
                                               * no observable has noise; otherwise 1 for observables without; switching and
                                               * forcing: n as found */
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
void lane_functions_fini(struct lane_functions *lanes);

#endif
