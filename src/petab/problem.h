/* A PEtab problem in memory, in the terms of version 2: what version 1 says otherwise is
 * translated on reading.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "petab/formula.h"
#include "petab/table.h"

struct petab_parameter {
    const char *id;
    struct petab_place place;
    const char *scale;             /* "lin", "log" or "log10" */
    double lower, upper, nominal;  /* natural scale */
    bool estimate;
    const char *prior, *prior_on;  /* words of /parameters/prior and prior_on */
    /* the table names it; otherwise it is uniform between the bounds */
    bool has_prior;
    double prior_number[4];        /* location, scale, lower, upper; NaN: none */
};

struct petab_observable {
    const char *id;
    struct petab_place place;
    const struct postfix *formula, *noise;
    const char *error;             /* a word of error_kind.h */
    const char *distribution, *transformation; /* in the table's words, with their defaults */
    /* the standard deviation is the noise formula times this: log 10 for decadic logarithms */
    double noise_factor;
    /* Placeholders of the formula, then those of the noise formula. */
    size_t n_formula_placeholder, n_placeholder;
    const char *const *placeholder;
};

/* One assignment of a condition. */
struct petab_change {
    const char *target;
    const struct postfix *value;
    struct petab_place place;
};
struct petab_condition {
    const char *id;
    size_t n;
    const struct petab_change *change;
};

/* Conditions that hold from `time` on. -inf: they hold until a steady state is reached, and the
 * next period begins there. */
struct petab_period {
    double time;
    size_t n_condition;
    const size_t *condition;
};
struct petab_experiment {
    const char *id, *dataset; /* dataset: "" without a dataset column */
    size_t n_period;
    const struct petab_period *period; /* in the order of time */
};

struct petab_measurement {
    size_t observable, experiment;
    double time, value;
    int8_t censored;               /* as in base/measurements.h */
    double limit;
    const struct postfix *const *override; /* one for each placeholder of its observable */
    struct petab_place place;
    uint64_t number; /* its row of the table of measurements, from 0, through all files */
};

struct petab_problem {
    struct petab_files files;
    const char *dataset_column; /* or NULL */
    size_t n_parameter, n_observable, n_condition, n_experiment, n_measurement;
    struct petab_parameter *parameter;
    struct petab_observable *observable;
    struct petab_condition *condition;
    /* those with measurements, in the order of their first ones */
    struct petab_experiment *experiment;
    struct petab_measurement *measurement;
    struct petab_index parameters, observables, conditions;
    struct petab_index mapping;         /* ids that stand for one of the model */
    const char **mapped;                /* the model's ids */
    struct petab_index placeholders;    /* of all observables: places where they must not be */
    /* of several problems, each of which is a dataset: n_parameter each; else NULL */
    const double **nominal;
};

/* Reads the files, and reports their faults. */
void petab_problem_read(struct petab_reader *reader, struct petab_problem *problem);

/* Reads n problems with all their files. They become one, in which those after the first are
 * datasets named by their files. */
void petab_problems_read(struct petab_reader *reader, struct petab_problem *problem,
                         const char *const *yaml, size_t n, const char *model, bool outside);

/* The columns of measurements that say what kind of data a row is, which are no part of PEtab. */
struct petab_kinds {
    const struct petab_table *table;
    size_t type, bounds, category;             /* columns; SIZE_MAX: there is none */
    size_t transformation, distribution;       /* these belong into the table of observables */
    struct petab_keys refused;                 /* each reason is a fault once */
};
struct petab_kinds petab_find_kinds(const struct petab_table *table);
/* Sets value, censored and limit of a row whose observable is known. */
void petab_read_kind(struct petab_reader *reader, const struct petab_problem *problem,
                     struct petab_kinds *kinds, size_t row, struct petab_measurement *measurement);

/* Parts of it. */
void petab_read_parameters(struct petab_reader *reader, struct petab_problem *problem);
void petab_read_observables(struct petab_reader *reader, struct petab_problem *problem);
void petab_read_experiments(struct petab_reader *reader, struct petab_problem *problem);
