/* The tables that `stiffit import` reads, in memory, and its options.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/measurements.h"
#include "base/option.h"
#include "base/terminal.h"
#include "use/id_table.h"
#include "io/csv.h"
#include "model/plugin.h"

struct import_options {
    const char *measurements, *datasets, *parameters, *model, *output;
    bool embed, overwrite, quiet;
    struct option_list fix, start, lower, upper, scale, error;
    enum when color;
};

/* The parameters of the new file, n_parameter each, in the model's order. The words are constants. */
struct import_parameters {
    double *start, *lower, *upper;
    const char **scale;
    unsigned char *fixed;
    double *from_model;          /* n_parameter x N_FROM_MODEL (problem_adopt.h) */
    bool has_prior;              /* the table has priors; the arrays then include the model's for parameters without one */
    const char **prior, **prior_on;
    double *prior_number[4];     /* location, scale, lower, upper; NaN: none */
};
/* The model's parameters, changed by the table --parameters and then by the other options. Zero-initialise. */
enum status import_parameters_choose(struct import_parameters *parameters, const struct import_options *options,
                                     const struct model *model, struct error *error);
/* per_dataset: starts may come from the table of datasets, so a missing one is not a fault yet. */
enum status import_parameters_check(const struct import_parameters *parameters, const struct stiffit_model *abi,
                                    bool per_dataset, struct error *error);
void import_parameters_fini(struct import_parameters *parameters);

/* Counts numbers with which a dataset cannot be fitted, for a message. They are kept: the dataset's row in the result will say
 * so. */
struct import_faults {
    uint64_t n;
    struct error first;
};
void import_say_encoding(const struct csv_reader *reader, const char *path); /* for text that is not UTF-8 */
void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column, const char *what);

/* Measurements in the file's order; zero-initialise. */
struct import_rows {
    struct id_table datasets;
    struct measurements measured;
    void *block;       /* its arrays */
    uint32_t *dataset; /* of each row */
    size_t n, capacity;
    struct import_faults faults;
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
    struct import_faults faults;
};
/* `start` (n_parameter) is used for starts that the table lacks. path NULL: no table, which is a fault if the model has
 * covariates. */
enum status import_subjects_read(struct import_subjects *subjects, const char *path, const struct id_table *datasets,
                                 const struct model *model, const double *start, struct error *error);
void import_subjects_fini(struct import_subjects *subjects);
