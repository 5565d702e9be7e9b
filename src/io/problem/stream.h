/* The groups whose rows belong to datasets or experiments, in their order, such as
 * /measurements. They may be far larger than memory, so each is read through a window. Internal
 * to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/hdf5_file.h"
#include "io/problem/own_columns.h"
#include "io/problem/problem.h"
#include "io/problem/names.h"

/* Groups of rows. Rows of /experiments belong to datasets; those of the others to experiments
 * or, in a file without /experiments, to datasets. */
enum problem_group {
    GROUP_EXPERIMENTS,
    GROUP_MEASUREMENTS,
    GROUP_DOSES,
    GROUP_INPUTS,
    GROUP_EVENTS,
    GROUP_SUBSTITUTES,
    N_GROUP
};

enum { MAX_FIELD = 12 };
_Static_assert((int)N_MEASUREMENT <= (int)MAX_FIELD && (int)N_DOSE_COLUMN <= (int)MAX_FIELD,
               "room for the columns of a group");
_Static_assert((int)N_SUBSTITUTE_COLUMN <= (int)MAX_FIELD, "room for the columns of a group");

/* A column of a group in the file. An index may have names instead of numbers: then an empty one
 * means -1 where that is allowed, and without a list they are one themselves. */
struct problem_field {
    struct hdf5_column column; /* dataset = 0: not in the file */
    /* the window's numbers; NULL: whole ones, not in the file, or not used */
    double *real;
    int64_t *whole;
    /* of an index; 1 if there is no list, which is enough for a model with one */
    size_t n_name;
    const char *const *name;
    struct problem_names names; /* if the column has names: what they mean */
    /* n_name + 1: what each name is in the model; of by_names, in the file's parameters */
    uint32_t *to_model;
};

struct problem_stream {
    const char *path;                 /* of the group */
    const char *what;                 /* its rows, for messages */
    size_t n_info;
    const struct column_info *info;
    const struct record_info *record; /* what a row is; NULL: of measurements, experiments */
    struct problem_field field[MAX_FIELD];
    struct hdf5_column owner;         /* the column `dataset` or `experiment` */
    /* beside names of experiments, which differ within a dataset only */
    struct hdf5_column dataset;
    bool is_there;                    /* the group */
    bool of_experiments;              /* the owner is `experiment` */
    uint64_t n_owner, n_row;
    /* Rows [first, first + n) are in memory; `next` is the next one to be taken. */
    uint64_t first, next;
    size_t n;
    /* rows before this one have been checked for faults of the file */
    uint64_t checked;
    int64_t *key;                     /* the owner; -1: out of range or out of order; skipped */
    int64_t *of;                      /* the dataset of each, if there is that column */
};

/* What belongs to each dataset, or each experiment. */
struct problem_owners {
    const char *path;            /* of the group */
#define CONSTANT_COLUMN(field, name, type, where, meaning) struct hdf5_column field;
    CONSTANT_LIST(CONSTANT_COLUMN)        /* dataset = 0: not in the file */
    struct own_reader own;                /* of datasets: /datasets/columns */
    uint64_t n;
    size_t n_covariate;
    const char *const *covariate_name;
    /* of its ids, if a column means them; within: experiments of a dataset */
    struct problem_names names, names_within;
};

enum status problem_init_windows(struct problem *problem, struct error *error);

/* The next rows of one owner that are together in the window: *n rows from *i on; 0: there are
 * no more. Skips bad rows and those of earlier owners. */
enum status problem_next_rows(struct problem *problem, struct problem_stream *stream,
                              uint64_t owner, size_t *i, size_t *n, struct error *error);
void problem_seek(struct problem_stream *stream, uint64_t row);

/* What the reader knows of a block beside its contents. Arrays have an entry per group: of
 * /experiments, the experiments. */
struct problem_room {
    size_t capacity[N_GROUP], used[N_GROUP];
    /* n_experiment + 1: where the rows of each begin (row, first_dose, ...) */
    size_t *offset[N_GROUP];
    uint64_t *place[N_GROUP];  /* row in the file of the first; of /experiments, its own */
    /* in the file's order; doses get in order of time */
    struct dose *dose;
    struct knot *knot;
    struct event_call *call;
    struct substitute *substitute;
};
