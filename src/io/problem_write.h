/* Writes problem files, for import and simulate. One thread only (HDF5). Appends in blocks, so
 * memory stays small.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/experiment.h"
#include "base/measurements.h"
#include "io/own_columns.h"

struct problem_header {
    const char *model_plugin;         /* written as /model@plugin, or NULL */
    const char *model_source;         /* written as /model/source, or NULL */
    /* written as /model@name if the source has no name, or NULL */
    const char *model_name;
    const void *model_bytes;          /* embedded as /model/plugin, or NULL */
    size_t n_model_byte;
    const char *model_sha256;         /* or NULL */
    size_t n_parameter;               /* 0: no /parameters */
    const char *const *parameter_name;
    const double *start, *lower, *upper; /* n_parameter each, or NULL */
    bool start_per_dataset;           /* then `start` is NULL and each dataset has its own */
    bool fixed_per_dataset;           /* the same for `fixed`; only with start_per_dataset */
    const char *const *scale;         /* or NULL */
    const uint8_t *fixed;             /* or NULL */
    const char *const *level;         /* or NULL */
    const double *from_model;         /* n_parameter x N_FROM_MODEL (problem_adopt.h), or NULL */
    /* n_parameter words each; prior NULL: the model's own, if any */
    const char *const *prior, *const *prior_on;
    /* location, scale, lower, upper: n_parameter each if there are priors */
    const double *prior_number[4];
    size_t n_covariate;
    const char *const *covariate_name;
    size_t n_observable;
    const char *const *observable_name;
    const char *const *observable_error; /* n_observable words; or NULL */
    struct own_columns column;        /* /datasets/columns */
    bool has_t0;
    bool has_experiments;             /* then covariates and t0 are those of experiments */
    bool has_steady;                  /* experiments may begin at steady states of others */
    /* names of states, inputs, events and parameters of the model, by which rows mean them */
    size_t n_target, n_input, n_event, n_substituted;
    const char *const *target_name, *const *input_name, *const *event_name,
                                                            *const *substituted_name;
    /* the table to which lines refer; NULL: lines are not written */
    const char *line_file;
    struct petab_source petab;
    size_t n_option;                  /* attributes of /options, as text */
    const char *const *option_name, *const *option_value;
};

struct problem_writer;
/* Writes under a temporary name in the folder of `path`; problem_writer_finish renames it. An
 * existing file is refused unless `overwrite`. The header's arrays must stay until the writer is
 * closed. */
enum status problem_writer_open(struct problem_writer **writer, const char *path, bool overwrite,
                                const struct problem_header *header, struct error *error);
/* A dataset or, with has_experiments, its first experiment; id NULL: another experiment of the
 * dataset before. */
struct problem_dataset {
    const char *id;
    double t0;
    const double *covariate;  /* n_covariate */
    const struct own_value *own; /* column.n, or NULL: missing; of the first experiment */
    const double *start;      /* n_parameter where start_per_dataset, else NULL */
    const int8_t *fixed;      /* n_parameter where fixed_per_dataset, else NULL */
    size_t n_row;
    struct measurements measured;
    const char *experiment_id;
    /* where has_steady: index among the dataset's experiments, or EXPERIMENT_NONE */
    uint32_t steady;
    size_t n_dose, n_call, n_substitute;
    const struct event_call *call; /* `event` is an index of event_name */
    const struct dose *dose;  /* `target` is an index of target_name */
    const struct input *input; /* n_input, or NULL */
    /* `parameter` is an index of substituted_name, `by` of parameter_name */
    const struct substitute *substitute;
};
enum status problem_writer_add(struct problem_writer *writer, const struct problem_dataset *dataset,
                               struct error *error);
/* Completes the temporary file, which can then be read under the name *temporary, the writer's,
 * before it replaces another. */
enum status problem_writer_complete(struct problem_writer *writer, const char **temporary,
                                    struct error *error);
/* Completes the temporary file, unless that is done, and renames it. */
enum status problem_writer_finish(struct problem_writer *writer, struct error *error);
/* Without finish: removes the temporary file. NULL is legal. */
void problem_writer_close(struct problem_writer *writer);
