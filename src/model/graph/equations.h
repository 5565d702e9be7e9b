/* A model as equations over one expression graph: what a front end (model text; others later) makes and what the back ends
 * read; and the functions of the plugin interface as matrices of nodes: values from the equations, derivatives made of them.
 * Nothing in it depends on how the model was written but lines and names.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_EQUATIONS_H
#define MODEL_GRAPH_EQUATIONS_H

#include "base/arena.h"
#include "model/graph/derive.h"

#include <stiffit/model.h>

/* Names are [A-Za-z_][A-Za-z0-9_]*, unique over all kinds (an observable may be named like the state or intermediate
 * that it is). Strings are UTF-8 without control characters, or NULL where there is none. Lines count from 1; 0:
 * none. */
struct equation_state {
    char *name, *unit;
    node initial; /* of parameters, covariates and time (which is t0) */
    node rhs;
    uint32_t initial_line, rhs_line;
};

/* What is known of a parameter beforehand. first and second: location and scale, of "uniform" its ends; on_optimizer: of what
 * the optimiser sees of the parameter. */
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
    const char *error; /* distribution of the measurement errors, as in stiffit/model.h, or NULL: the model leaves it open */
    uint32_t line;
};

/* Intermediates: for readable output; the back ends need none. Constants are intermediates whose node is a constant. */
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
    struct arena arena;  /* what the strings and arrays above are made of */
    char *source;        /* the text, NUL-terminated, for quoting lines, to be freed; or NULL */
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

#endif
