/* A model as equations over one expression graph, made by a front end (now model text) and read
 * by the back ends. Independent of how the model was written, except for lines and names.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "model/graph/graph.h"

/* Names are [A-Za-z_][A-Za-z0-9_]*, unique over all kinds (an observable may have the name of
 * the state or intermediate that it is). Strings are UTF-8 without control characters, or NULL.
 * Lines count from 1; 0: none. */
struct equation_state {
    char *name, *unit;
    node initial; /* depends on parameters, covariates and time (t0) */
    node rhs;
    uint32_t initial_line, rhs_line;
};

/* The prior of a parameter. first and second: location and scale; of "uniform" the bounds;
 * on_optimizer: on the optimiser's scale. */
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

/* What a model says of doses into a state; rate and duration are those of infusions, of which a
 * state has one at most. X(identifier, its word, its noun, the function of the plugin) */
#define DOSING_LIST(X) X(LAG, "lag", "lag time", lag) \
    X(BIOAVAILABILITY, "bioavailability", "bioavailability", bioavailability) \
    X(RATE, "rate", "rate of infusions", infusion) X(DURATION, "duration", \
      "duration of infusions", infusion)
#define DOSING_KIND(id, ...) DOSING_##id,
enum dosing_kind { DOSING_LIST(DOSING_KIND) N_DOSING };
extern const struct dosing_words {
    const char *word, *noun;
} dosing_words[N_DOSING];

struct equation_dosing {
    uint32_t state, line;
    enum dosing_kind kind;
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
    /* distribution of the measurement errors, as in stiffit/model.h; NULL: unspecified */
    const char *error;
    uint32_t line;
};

/* Intermediates make output readable; the back ends do not need them. Constants are
 * intermediates whose node is a constant. */
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
    uint32_t n_state, n_parameter, n_covariate, n_observable, n_intermediate, n_input, n_dosing,
        n_event;
    struct graph *graph; /* owned */
    struct arena arena;  /* memory of the strings and arrays above */
    char *source;        /* the text, NUL-terminated, for quoting lines; freed here; or NULL */
    char *origin;        /* path of the text, for messages and comments */
};

void equations_free(struct equations *equations); /* NULL is legal */
