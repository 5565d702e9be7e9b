/* Shared by the files of the problem reader: an open problem, its tables, the window over its measurements, and the list of
 * faults, which is complete before anything is refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "io/hdf5_file.h"
#include "io/problem.h"
#include "io/problem_adopt.h"
#include "io/problem_error.h"
#include "io/problem_prior.h"
#include "io/problem_rows.h"

enum { /* limits on memory that a file may make us use */
    PROBLEM_MAX_NAME = 4096,           /* bytes of a name or id */
    PROBLEM_MAX_SOURCE = 64 << 20,     /* bytes of model text */
    PROBLEM_MAX_PLUGIN = 256 << 20,    /* bytes of an embedded plugin */
    PROBLEM_MAX_PARAMETER = 100000,
    PROBLEM_MAX_DATASET_ROW = 1 << 24, /* measurements of one dataset */
    PROBLEM_WINDOW = 1 << 16,          /* rows of /measurements read at once */
    PROBLEM_FIXED_NAN = 2              /* in block->fixed of a bad dataset */
};
#define PROBLEM_MAX_DATASET ((uint64_t)UINT32_MAX - 1)

/* All faults of a file are found before one error reports them. A part that cannot be read, or for which there is no memory,
 * counts as absent until then. */
enum { PROBLEM_MAX_FAULT = 20 /* listed; the others are counted */ };

struct problem_faults {
    uint64_t n;
    size_t used;
    bool no_memory;  /* reported instead of the faults */
    char text[1800]; /* a line each */
};
/* Adds one line; control characters in it become '?'. */
void faults_add(struct problem_faults *faults, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what another function reported about this file. */
void faults_add_error(struct problem_faults *faults, const char *path, const struct error *error);
/* STATUS_OK if there are none; otherwise the message that lists them. */
enum status faults_report(const struct problem_faults *faults, const char *path, struct error *error);

enum { TABLE_START, TABLE_LOWER, TABLE_UPPER, TABLE_FIXED, N_TABLE };

/* One of /parameters/start, lower, upper, fixed. */
struct problem_table {
    const char *path;
    struct hdf5_column column; /* open where the file has it */
    bool per_dataset;
    double *vector;            /* n_parameter values where not per dataset: the file's or the default */
};

struct problem {
    struct hdf5_file file;
    struct problem_info info;
    struct arena arena; /* names and small tables */
    struct problem_faults faults;
    struct problem_table table[N_TABLE];
    struct hdf5_column id, covariate, t0, row_dataset, row[N_MEASUREMENT]; /* dataset = 0: not in the file */
    const char *line_file; /* the table to which /measurements/line refers */
    struct problem_window window;
    uint64_t next; /* dataset that is read next */
    bool (*wanted)(const void *context, uint64_t dataset); /* NULL: all are */
    const void *wanted_context;
    void (*beat)(void *context); /* NULL: none */
    void *beat_context;
    size_t n_scale;        /* rows of /parameters/scale */
    const char *const *file_scale; /* n_scale, or NULL */
    struct problem_adopted adopted;
    bool matched, checking;
    size_t n_parameter;    /* this and the following fields are set by problem_match */
    const char *const *parameter_name, *const *parameter_scale;
    uint32_t *to_model;
    bool *is_log;
    size_t n_model_covariate, n_model_observable;
    const char *const *model_covariate_name;
    size_t *covariate_column;     /* of each covariate of the model in the file */
    uint32_t *observable_model;   /* of each observable of the file, the model's */
    size_t n_observable_index;    /* valid indices are below this */
    double default_t0;
    struct problem_prior_tables prior_tables;
    struct problem_prior *prior;  /* n_parameter, or NULL */
    bool has_noise;               /* as in struct problem_expectation */
    struct problem_errors errors;
    uint64_t n_censored;          /* found by problem_validate */
};

enum status problem_no_memory(const struct problem *problem, struct error *error);
/* problem_schema.c: the file's kind, names in our groups that are not ours, and the attributes of /options as text. */
enum status problem_check_kind(struct problem *problem, struct error *error);
void problem_check_names(struct problem *problem);
void problem_read_options(struct problem *problem);

/* problem_table.c: zeros, or a copy of a text, in the problem's arena; NULL if out of memory, which is noted as a fault. */
void *problem_alloc(struct problem *problem, size_t count, size_t size);
char *problem_strdup(struct problem *problem, const char *text);
/* Opens a column; false if the file does not have it, or if it has a fault (which is added). */
bool problem_open_column(struct problem *problem, const char *path, struct hdf5_column *column);
/* A column of at most `max` strings; *list stays NULL if it is absent or has a fault. Names must be distinct and not empty;
 * values need not. */
void problem_read_names(struct problem *problem, const char *path, size_t max, size_t *n, const char *const **list);
void problem_read_values(struct problem *problem, const char *path, size_t max, size_t *n, const char *const **list);
/* Converts strings that are not UTF-8 from Latin-1; false: no memory. */
bool problem_as_utf8(struct arena *arena, size_t n, char **text);
void problem_open_tables(struct problem *problem);
/* Decides which tables are per dataset and reads the others, once the number of parameters is known. */
void problem_settle_tables(struct problem *problem, size_t n_parameter);
/* Rows [first, first + n) of a settled table into out[n * n_parameter]. */
enum status problem_read_table(struct problem *problem, int which, uint64_t first, size_t n, double *out,
                               struct error *error);
/* problem_match.c: the file against the model; faults are added to problem->faults. */
enum status problem_match(struct problem *problem, const struct problem_expectation *expectation, struct error *error);
/* problem_check.c: writes the first fault of dataset d of a block into `text`; false if there is none. */
bool problem_dataset_fault(const struct problem *problem, const struct problem_block *block, size_t d, char *text,
                           size_t size);
