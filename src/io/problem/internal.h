/* Shared by the files of the problem reader: an open problem, its tables, the window over its
 * measurements, and the list of faults, which is complete before anything is refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/faults.h"
#include "base/words.h"
#include "io/file/hdf5_file.h"
#include "io/problem/problem.h"
#include "io/problem/adopt.h"
#include "io/problem/check.h"
#include "io/problem/error.h"
#include "io/problem/prior.h"
#include "io/problem/stream.h"

enum { /* limits on memory that a file may make us use */
    PROBLEM_MAX_NAME = NAME_BYTES,     /* bytes of a name or id */
    PROBLEM_MAX_SOURCE = 64 << 20,     /* bytes of model text */
    PROBLEM_MAX_PLUGIN = 256 << 20,    /* bytes of an embedded plugin */
    PROBLEM_MAX_PARAMETER = 100000,
    PROBLEM_MAX_DATASET_ROW = 1 << 24, /* measurements of one dataset */
    PROBLEM_WINDOW = 1 << 16,          /* rows of /measurements read at once */
    PROBLEM_FIXED_NAN = 2              /* in block->fixed of a bad dataset */
};
#define PROBLEM_MAX_DATASET ((uint64_t)UINT32_MAX - 1)

/* A column of /parameters; NULL: not in the file, or not read yet. */
struct problem_table {
    struct hdf5_column column; /* of numbers: open where the file has it */
    bool per_dataset;
    /* n rows; of numbers that datasets may have themselves n_parameter where they do not: the
     * file's or the default */
    size_t n;
    double *vector;
    const char *const *text;
};

struct problem {
    struct hdf5_file file;
    struct problem_info info;
    struct arena arena; /* names and small tables; that it failed is reported with the faults */
    struct faults faults;
    struct problem_table table[N_PARAMETER_COLUMN];
    bool has_experiments;
    struct problem_owners owners[2]; /* of datasets; of experiments */
    struct hdf5_column plugin, source; /* of the model */
    struct problem_stream stream[N_GROUP];
    const char *line_file; /* the table to which /measurements/line refers */
    uint64_t next; /* dataset that is read next */
    bool (*wanted)(const void *context, uint64_t dataset); /* NULL: all are */
    const void *wanted_context;
    void (*beat)(void *context); /* NULL: none */
    void *beat_context;
    const char *const *level_name; /* of the rows of /parameters/level; NULL: those of the model */
    struct problem_adopted adopted;
    bool matched, checking;
    size_t n_parameter;    /* this and the following fields are set by problem_match */
    const char *const *parameter_name, *const *parameter_scale;
    uint32_t *to_model;
    bool *is_log;
    /* counts, names, infusion_kind, t0 and has_noise, which are copies: the model may be closed
     * before the problem */
    struct problem_expectation model;
    size_t *covariate_column;     /* of each covariate of the model in the file */
    bool *covariate_of_experiment; /* it is in /experiments */
    bool *is_of_state;            /* model.n_parameter: states depend on it */
    /* the most pairs of a model's parameter and another's name in one experiment, of substitutes
     * from a time on or for single rows */
    size_t n_pair;
    bool *must_substitute;        /* model.n_parameter: neither in the file nor constant */
    double *last_knot;            /* model.n_input: scratch */
    uint8_t *seen;                /* model.n_parameter: scratch, zeros */
    struct problem_prior *prior;  /* n_parameter, or NULL */
    struct problem_errors errors;
    uint64_t n_censored;          /* found by problem_validate */
    /* n_parameter: problem_n_fixed, by problem_validate; NULL before */
    uint64_t *n_fixed;
};

static inline enum status problem_no_memory(const struct problem *problem, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", problem->file.path);
}

/* STATUS_OK if no fault has been found so far; otherwise all of them. */
static inline enum status problem_report(const struct problem *problem, struct error *error)
{
    return problem->arena.failed ? problem_no_memory(problem, error)
                                 : faults_report(&problem->faults, problem->file.path, error);
}

/* problem/schema.c: names in our groups that are not ours, and the attributes of /options as
 * text. */
void problem_check_names(struct problem *problem);
void problem_read_options(struct problem *problem);

/* Opens all columns, and reads lists of texts; or those of /datasets alone, and checks them. */
void problem_open_all(struct problem *problem);
void problem_open_datasets(struct problem *problem);
void problem_close_columns(struct problem *problem);
/* Checks those of /parameters, and reads the ones that datasets cannot have themselves; then
 * those of the other groups. */
void problem_check_tables(struct problem *problem);
void problem_check_streams(struct problem *problem);
/* Decides which of these are per dataset and reads the others, once the number of parameters is
 * known. */
void problem_settle_tables(struct problem *problem, size_t n_parameter);
/* What has been read of all tables but flags. */
struct parameters problem_tables(const struct problem *problem);
/* Rows [first, first + n) of a settled table into out[n * n_parameter]. */
enum status problem_read_table(struct problem *problem, int which, uint64_t first, size_t n,
                               double *out, struct error *error);
/* The ids of datasets or experiments [first, first + n). */
enum status problem_read_owner_ids(const struct problem *problem,
                                   const struct problem_owners *owners, uint64_t first, size_t n,
                                   struct arena *arena, char **ids, struct error *error);
/* The users' own columns; after the covariates, whose names they must not have. */
void problem_open_columns(struct problem *problem);
/* The file against the model; faults are added to problem->faults. */
enum status problem_match(struct problem *problem, const struct problem_expectation *expectation,
                          struct error *error);
