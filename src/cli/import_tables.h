/* The tables that `stiffit import` reads, in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/measurements.h"
#include "cli/import.h"
#include "io/csv.h"
#include "use/id_table.h"

/* Counts numbers with which a dataset cannot be fitted, for a message. They are kept: the dataset's row in the result will say
 * so. */
struct import_faults {
    uint64_t n;
    struct error first;
};
/* A note; hint: "", or words to add. */
void import_say_unused_column(const char *path, const char *name, const char *hint);
/* Notes about text that is not UTF-8 and about comments. */
void import_say_reading(const struct csv_reader *reader, const char *path);
void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column, const char *what);

/* Datasets and their experiments, in the order of their first rows; zero-initialise. Without experiments each dataset is one,
 * whose id is "". */
struct import_owners {
    struct id_table dataset, experiment; /* the second one's ids contain the dataset's */
    uint32_t *dataset_of;                /* of each experiment */
    size_t room;
    bool has_experiments;
};
/* The experiment's number, which is added if it is new; or ID_NO_MEMORY. */
uint32_t import_owner_add(struct import_owners *owners, const char *dataset, const char *experiment);
/* The experiment's number, or ID_NONE. */
uint32_t import_owner_find(const struct import_owners *owners, const char *dataset, const char *experiment);
const char *import_experiment_id(const struct import_owners *owners, uint32_t experiment);
/* The experiments of one dataset after another: those of dataset d are order[first[d]] to order[first[d + 1] - 1]. free
 * both. */
enum status import_owners_order(const struct import_owners *owners, uint32_t **order, uint32_t **first, struct error *error);
void import_owners_fini(struct import_owners *owners);
/* Columns of a table that name a row's owner; CSV_NO_COLUMN: there is none. */
struct import_owner_columns {
    size_t dataset, experiment;
};
enum status import_find_owner(const struct csv_reader *reader, const char *path, const struct import_owners *owners,
                              struct import_owner_columns *columns, struct error *error);
/* ID_NONE: the row's experiment has no measurements. */
uint32_t import_row_owner(const struct csv_reader *reader, const struct import_owners *owners,
                          const struct import_owner_columns *columns);

/* Measurements in the file's order; zero-initialise. */
struct import_rows {
    struct import_owners owners;
    struct measurements measured;
    void *block;       /* its arrays */
    uint32_t *owner;   /* of each row: an experiment */
    size_t n, capacity;
    struct import_faults faults;
};
/* needs_experiment: a column `experiment` is needed; otherwise it is used where it exists. has_units: the row below the header
 * is left out. */
enum status import_measurements(struct import_rows *rows, const char *path, const struct model *model, bool needs_experiment,
                                bool has_units, struct error *error);
/* One more row of missing values; import_rows_end then gives it its owner. */
enum status import_rows_begin(struct import_rows *rows, struct measurements *row, struct error *error);
void import_rows_end(struct import_rows *rows, uint32_t owner);
/* Sorts the rows by experiment, keeping their order within each. first: n experiments + 1 offsets; free(*first). */
enum status import_sort(struct import_rows *rows, size_t **first, struct error *error);
void import_rows_fini(struct import_rows *rows);

/* What belongs to experiments and datasets; zero-initialise. */
struct import_subjects {
    size_t n_covariate, n_parameter;
    bool has_t0, has_start, has_fixed, has_steady; /* has_fixed only with has_start */
    double *t0;        /* n experiments */
    double *covariate; /* n experiments x n_covariate, the model's order */
    double *start;     /* n datasets x n_parameter, the model's order */
    int8_t *fixed;     /* the same */
    uint32_t *steady;  /* n experiments: the one at whose steady state it begins, or ID_NONE; NULL: none does */
    uint64_t n_unused[2]; /* datasets, experiments of the tables without measurements */
    struct import_faults faults;
};
/* Adds experiments at whose steady states others begin, which need no measurements; before the rows are sorted. */
enum status import_steady_read(struct import_rows *rows, const char *path, struct error *error);
/* `start` and `fixed` (n_parameter) are used where the table of datasets has no others. A covariate of the model that is in no
 * table is a fault. */
enum status import_subjects_read(struct import_subjects *subjects, const struct import_options *options,
                                 const struct import_owners *owners, const struct model *model, const double *start,
                                 const unsigned char *fixed, struct error *error);
void import_subjects_fini(struct import_subjects *subjects);
