/* The two tables that `stiffit import` reads, as they lie in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "base/option.h"
#include "cli/id_table.h"
#include "model/plugin.h"

struct import_row {
    double time, value, sigma;
    uint32_t dataset, observable;
    int8_t censored; /* as in struct problem_block */
};

/* Measurements in the file's order; zero-initialise. */
struct import_rows {
    struct id_table datasets;
    struct import_row *row;
    size_t n, capacity;
    bool has_sigma, has_censored;
};
enum status import_measurements(struct import_rows *rows, const char *path, const struct model *model,
                                struct error *error);
/* Sorts the rows by dataset, keeping their order within each. first: n datasets + 1 offsets; free(*first). */
enum status import_sort(struct import_rows *rows, size_t **first, struct error *error);
void import_rows_fini(struct import_rows *rows);

/* One row per dataset; zero-initialise. */
struct import_subjects {
    size_t n_covariate, n_parameter;
    bool has_t0, has_start;
    double *t0;        /* n datasets */
    double *covariate; /* n x n_covariate, the model's order */
    double *start;     /* n x n_parameter, the model's order */
    uint64_t n_unused; /* datasets of the table without measurements */
};
/* `start` (n_parameter) stands where the table has no start of a parameter. path NULL: no table, which is a fault if the
 * model has covariates. */
enum status import_subjects_read(struct import_subjects *subjects, const char *path, const struct id_table *datasets,
                                 const struct model *model, const double *start, struct error *error);
void import_subjects_fini(struct import_subjects *subjects);

#endif
