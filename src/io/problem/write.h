/* Writes problem files, for import and simulate. One thread only (HDF5). Appends in blocks, so
 * memory stays small.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/experiment.h"
#include "base/measurements.h"
#include "base/parameters.h"
#include "io/problem/own_columns.h"
#include "io/problem/model.h"

/* What the file has besides its datasets. */
struct problem_header {
    struct problem_model model;
    struct parameters parameters;     /* n 0: no /parameters; without `prior` no numbers of it */
    unsigned by_dataset;              /* PARAMETER_BITs of those that each dataset has itself */
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
    /* Targets, events, parameters are indices of the header's names, `by` of parameters.name;
     * steady and its id as has_steady and has_experiments say */
    struct experiment experiment;
    const struct own_value *own; /* column.n, or NULL: missing; of the first experiment */
    struct parameters parameters; /* of each parameter, in the columns of by_dataset */
    size_t n_row;
    struct measurements measured;
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
