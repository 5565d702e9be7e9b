/* A PEtab problem as model text and rows of a problem file. A constant of a period becomes a
 * substitute for a parameter; a period's change of a state becomes an event.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "petab/problem.h"
#include "sbml/sbml.h"

/* Something that conditions change. */
struct lower_target {
    const char *id, *sbml_id;
    struct petab_place place;
    const struct sbml_name *plain; /* as the model has it; NULL: the model does not */
    bool changes;     /* it is a state, or becomes one */
    bool is_initial;  /* its initial value is a parameter */
    size_t n_given;   /* runs whose first period gives it a value */
    /* its parameter in the text; for a state, the parameter of its initial value, or NULL */
    const char *name;
    const char *is_given; /* the covariate that says whether `name` counts; or NULL */
    /* the parameter whose value an event at the beginning gives it; or NULL */
    const char *set;
    const struct sbml_name *model; /* as the text has it; NULL: the model does not have it */
};

/* An experiment of the problem file: a simulation, or what comes before it until a steady state. */
struct lower_run {
    size_t experiment;   /* of the PEtab problem: the first one that needs it */
    bool is_before;
    size_t steady;       /* the run in whose steady state it begins; SIZE_MAX: none */
    double t0;
    size_t n_period;
    const struct petab_period *period;
    /* whose constants still hold in the first period; or NULL */
    const struct petab_period *inherited;
};

/* How a placeholder of an observable is filled: by what all measurements have, by a parameter
 * that each experiment substitutes, or by an observable for each of its values. */
enum lower_filling { FILL_SAME, FILL_EXPERIMENT, FILL_VARIANT };

struct lower_observable {
    enum lower_filling *filling;      /* for each placeholder */
    const struct postfix **same;   /* FILL_SAME: the value */
    const char **parameter;           /* FILL_EXPERIMENT: its name */
    bool sigma_in_table;              /* each row has its own number for sigma */
    /* its formula is being written: it must not be in there itself */
    bool is_open;
    /* observables of the text that are made of it by different overrides */
    size_t n_variant;
};

/* An observable of the text. */
struct lower_variant {
    size_t observable;
    const struct postfix *const *override; /* of one of its measurements */
    const char *name;
};

/* How often a run has used each text of assignments; zero-initialise. */
struct lower_uses {
    struct petab_keys texts;
    size_t *count, room;
};

struct lower_event {
    const char *name, *time; /* time: the covariate with its time */
};

struct lowering {
    struct petab_reader *reader;
    struct petab_problem *problem;
    struct sbml_model plain, model; /* without requests; with them */
    size_t n_target, room_target;
    struct lower_target *target;
    size_t next_target; /* where the next one is sought first */
    size_t n_run, room_run;
    /* those of a dataset one after another, in the order of datasets */
    struct lower_run *run;
    size_t *run_of;                /* of each experiment of the PEtab problem */
    const char **dataset;          /* n_dataset ids */
    size_t n_dataset, *first_run;  /* n_dataset + 1 */
    const char **parameter_name;   /* of the problem's parameters, in the text */
    struct lower_observable *observable;
    size_t n_variant, room_variant;
    struct lower_variant *variant;
    size_t *variant_of;            /* of each measurement */
    size_t n_event, room_event;
    struct lower_event *event;
    struct petab_keys events;      /* by assignments and how often they are used */
    struct petab_keys taken;       /* names in the text that are ours */
    struct petab_text text;
};

/* A name for the text: the id, with a few _ if it is reserved or taken; cut, and with a number, if
 * it is too long. */
const char *lower_name(struct lowering *it, const char *id);
/* A value that a substitute can have: a number, or a parameter of the problem (*by its index;
 * SIZE_MAX: a number). */
bool lower_is_plain(const struct lowering *it, const struct postfix *value, size_t *by,
                    double *number);
/* The id in the model: the mapping's, or its own. */
const char *lower_sbml_id(const struct lowering *it, const char *id);
struct lower_target *lower_find_target(struct lowering *it, const char *id); /* NULL: it is none */

/* Steps, in this order. */
void lower_make_runs(struct lowering *it);
/* Measurements in the order of the problem file: by runs. (*first)[r] (n_run + 1): where those
 * of run r begin. */
size_t *lower_rows(struct lowering *it, size_t **first);
void lower_find_targets(struct lowering *it);
/* SBML, with what the targets ask for, and parameters of our own */
void lower_translate(struct lowering *it);
/* decides how placeholders are filled; puts observables into the text */
void lower_observables(struct lowering *it);

/* Appends an expression in the context of an observable and the overrides of its placeholders
 * (NULL: none). */
void lower_put(struct lowering *it, struct petab_text *out, const struct postfix *formula,
               struct petab_place place, const struct lower_variant *variant, bool is_noise);
/* The event that changes states as period p of a run does; SIZE_MAX: it changes none. Its
 * statement is appended to the text where it is new. `used` numbers the events of the run. */
size_t lower_event_of(struct lowering *it, const struct lower_run *run, size_t p,
                      struct lower_uses *uses);
