/* Problem files: opens and validates them, and reads them in blocks. One thread only (HDF5).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/error_kind.h"
#include "base/parameters.h"
#include "io/problem/own_columns.h"
#include "io/problem/block.h"
#include "io/problem/model.h"

struct problem; /* an open file; holds HDF5 handles and the small tables, never the datasets */

/* The small tables, valid while the problem is open. NULL: the file has no such part. */
struct problem_info {
    const char *path;
    struct problem_model model;
    /* 0: no /parameters/name, the model's own parameters are meant */
    size_t n_parameter;
    const char *const *parameter_name;
    const char *const *parameter_scale; /* n_parameter, or NULL */
    const char *const *parameter_level; /* n_level words, as problem_level; or NULL */
    size_t n_level;
    const char *const *parameter_prior; /* /parameters/prior, not checked yet; or NULL */
    size_t n_prior;                     /* its rows that are not "none" */
    bool has_steady;                /* some experiments begin at steady states */
    bool has_periods, has_times;    /* /doses/steady, /substitutes/time are there */
    uint64_t n_dataset, n_measurement;
    bool has_experiments;           /* otherwise each dataset is one experiment */
    uint64_t n_experiment; /* without /experiments n_dataset */
    uint64_t n_dose, n_knot, n_call, n_substitute; /* rows of their groups */
    size_t n_covariate, n_experiment_covariate; /* of datasets; of experiments */
    const char *const *covariate_name, *const *experiment_covariate_name;
    struct own_columns column;      /* /datasets/columns, then covariates of datasets */
    size_t n_observable;            /* 0: the model has one */
    const char *const *observable_name;
    /* /measurements/observable_error, not checked yet; or NULL */
    const char *const *observable_error;
    size_t n_error;                 /* its entries */
    struct petab_source petab;      /* yaml NULL: the file was not made from a PEtab problem */
    size_t n_option;                /* attributes of /options, as text */
    const char *const *option_name, *const *option_value;
};

/* The model's requirements, so that faults can be reported before any fit starts; and its
 * defaults. */
struct problem_expectation {
    const char *model_name;
    struct parameters parameter; /* names, and defaults where the model has them */
    size_t n_covariate, n_observable, n_state, n_input, n_event;
    const char *const *covariate_name, *const *observable_name, *const *state_name,
        *const *input_name;
    /* n_state, as in stiffit/model.h; NULL: the model has no rates and durations of doses */
    const uint8_t *infusion_kind;
    const char *const *event_name;
    /* as in stiffit/model.h; bits other than those of use_of_rows: states depend on it */
    const uint8_t *parameter_use;
    unsigned use_of_rows;
    double t0;
    bool has_noise;         /* the model has a noise function: no row needs a sigma */
    const char *const *observable_error; /* as in stiffit/model.h, checked; NULL: all "default" */
    enum error_kind error;  /* of observables for which neither the file nor the model names one */
    bool allows_empty;      /* a dataset without a measurement is no bad one */
};
struct stiffit_model;
struct hdf5_file;
/* Of this model, to which the pointers point; error: normal. */
struct problem_expectation problem_expectation_of(const struct stiffit_model *abi);

/* STATUS_BAD_PROBLEM: the file is no problem, but a result, say, or has another format. Reads
 * attributes only. */
enum status problem_check_kind(struct hdf5_file *file, struct error *error);

/* Opens and reads the small tables; checks formats, names and shapes. The message lists up to 20
 * faults, one per line. STATUS_SYSTEM: the file does not exist or cannot be read. */
enum status problem_open(struct problem **problem, const char *path, struct error *error);
/* Opens the file for its number of datasets and their ids alone: nothing else is checked,
 * and only problem_info's path, n_dataset and column, problem_read_ids, problem_read_columns and
 * problem_close may be used. */
enum status problem_open_ids(struct problem **problem, const char *path, struct error *error);
void problem_close(struct problem *problem);
const struct problem_info *problem_info(const struct problem *problem);
/* The plugin's path relative to the working directory; free() it. */
char *problem_model_path(const struct problem *problem);
/* The name of /model/source in messages: it ends in "/NAME.ode" if there is a model_name. free()
 * it; NULL: out of memory. */
char *problem_source_origin(const struct problem *problem);

/* Checks everything against the model, streaming through all datasets; must succeed before
 * blocks are read. Faults of the file as a whole (unknown observable, missing parameter, lower >
 * upper for all, ids not unique, dataset column decreasing or out of range, ...) are errors, all
 * of them (up to 20) in one message with path, row and dataset id. A fault of single datasets
 * makes them bad (see block) and is no error. `sha256` (32 bytes) receives the hash of all
 * values in a canonical form: the problem's identity, the same however the file stores them, and
 * different if any number, name or id differs. */
enum status problem_validate(struct problem *problem, const struct problem_expectation *expectation,
                             unsigned char sha256[32], uint64_t *n_bad, struct error *error);
/* Makes problem_validate call `beat` after each block, as a sign of life. */
void problem_set_beat(struct problem *problem, void (*beat)(void *context), void *context);
/* After problem_validate: makes problem_read return only datasets for which `wanted` is true;
 * NULL: all. */
void problem_select(struct problem *problem, bool (*wanted)(const void *context, uint64_t dataset),
                    const void *context);
/* Reads the next block: max_dataset datasets, wanted or not, but at most max_row wanted rows
 * unless one dataset has more. end = first: there are no more datasets. n may be 0 earlier, but
 * only after problem_select. Zero-initialise the block first. */
enum status problem_read(struct problem *problem, struct problem_block *block, size_t max_dataset,
                         size_t max_row, struct error *error);
enum status problem_rewind(struct problem *problem, struct error *error);
/* The ids of datasets [first, first + n) into the arena; at any time after problem_open,
 * independent of problem_read. */
enum status problem_read_ids(const struct problem *problem, uint64_t first, size_t n,
                             struct arena *arena, char **ids, struct error *error);
/* Cells of problem_info's column i for datasets [first, first + n), at out[0], out[stride], ...;
 * and all columns of each, out[n x column.n]. */
enum status problem_read_column(const struct problem *problem, size_t i, uint64_t first, size_t n,
                                struct arena *arena, struct own_value *out, size_t stride,
                                struct error *error);
enum status problem_read_columns(const struct problem *problem, uint64_t first, size_t n,
                                 struct arena *arena, struct own_value *out, struct error *error);
void problem_block_fini(struct problem_block *block);

/* The parameters as they apply to this run (after problem_validate): the file's, or the model's
 * if it has none. */
size_t problem_n_parameter(const struct problem *problem);
const char *const *problem_parameter_name(const struct problem *problem);
const char *const *problem_parameter_scale(const struct problem *problem);
/* The word of /parameters/level (NULL: none): "dataset", "shared", "random" or a column of
 * datasets. */
const char *problem_level(const struct problem *problem, size_t parameter);
/* Index of the file's parameter in the model; PROBLEM_NOT_OF_MODEL: substitutes alone use it. */
const uint32_t *problem_to_model(const struct problem *problem);
#define PROBLEM_NOT_OF_MODEL UINT32_MAX
/* Whether the parameter is fixed or has two finite bounds (positive on a log scale), perhaps
 * those of a uniform prior; true if datasets differ in this. */
bool problem_is_bounded(const struct problem *problem, size_t parameter);
/* In how many datasets the parameter is fixed; 0 before problem_validate. */
uint64_t problem_n_fixed(const struct problem *problem, size_t parameter);
/* For engines (ode_options.n_none). */
size_t problem_n_none(const struct problem *problem);
uint64_t problem_n_censored(const struct problem *problem); /* measurements of the whole file */
bool problem_has_limits(const struct problem *problem);     /* /measurements/limit is there */
/* The error distribution of each observable of the MODEL: the file's word, otherwise the
 * model's, otherwise the expectation's. An observable that is not in the file has the
 * distribution of the file's first one. */
const enum error_kind *problem_errors(const struct problem *problem);
