/* A model as equations over one expression graph: what a front end (model text; others later) makes and what the back
 * ends read. Nothing in it depends on how the model was written but lines and names.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_EQUATIONS_H
#define MODEL_GRAPH_EQUATIONS_H

#include "model/graph/graph.h"

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
    char *source;        /* the text, NUL-terminated, for quoting lines; or NULL */
    char *origin;        /* path of the text, for messages and comments */
};

void equations_free(struct equations *equations); /* NULL is legal */

#endif
