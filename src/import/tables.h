/* The tables that `stiffit import` reads, in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/measurements.h"
#include "import/notes.h"
#include "import/own.h"
#include "import/owners.h"

/* Measurements in the file's order; zero-initialise. */
struct import_rows {
    struct import_owners owners;
    struct measurements measured;
    void *block;       /* its arrays */
    uint32_t *owner;   /* of each row: an experiment */
    size_t n, capacity;
    size_t *first;     /* once sorted: n experiments + 1, where the rows of each begin */
    struct import_faults faults;
};
/* With a table of experiments a column `experiment` is needed; otherwise it is used where it
 * exists. */
enum status import_measurements(struct import_rows *rows, const struct import_options *options,
                                const struct model *model, struct error *error);
/* Without a table of measurements: a row at options->last_time for each dataset of the table of
 * datasets or, if there is none, of the other tables; so with experiments. */
enum status import_simulated(struct import_rows *rows, const struct import_options *options,
                             struct error *error);
/* One more row of missing values; import_rows_end then gives it its owner. */
enum status import_rows_begin(struct import_rows *rows, struct measurements *row,
                              struct error *error);
void import_rows_end(struct import_rows *rows, uint32_t owner);
/* Sorts the rows by experiment, keeping their order within each. */
enum status import_sort(struct import_rows *rows, struct error *error);
void import_rows_fini(struct import_rows *rows);

/* What belongs to experiments and datasets; zero-initialise. */
struct import_subjects {
    size_t n_covariate, n_parameter;
    bool has_t0, has_start, has_fixed, has_steady; /* has_fixed only with has_start */
    double *t0;        /* n experiments */
    double *covariate; /* n experiments x n_covariate, the model's order */
    double *start;     /* n datasets x n_parameter, the model's order */
    uint8_t *fixed;    /* n datasets x n_parameter */
    /* n experiments: the one at whose steady state it begins, or ID_NONE; NULL: none does */
    uint32_t *steady;
    struct import_own own; /* columns that the model does not use */
    uint64_t n_unused[2]; /* datasets, experiments of the tables without measurements */
    struct import_faults faults;
};
/* Adds experiments at whose steady states others begin, which need no measurements; before the
 * rows are sorted. */
enum status import_steady_read(struct import_rows *rows, const struct import_options *options,
                               const struct stiffit_model *abi, struct error *error);
/* `start` and `fixed` (n_parameter) are used where the table of datasets has no others. A
 * covariate of the model that is in no table is a fault. */
enum status import_subjects_read(struct import_subjects *subjects,
                                 const struct import_options *options,
                                 struct import_owners *owners, const struct model *model,
                                 const double *start, const unsigned char *fixed,
                                 struct error *error);
void import_subjects_fini(struct import_subjects *subjects);
