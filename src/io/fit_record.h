/* The record of one finished fit, as stored in the journal and the result file: a table of its columns for writing and
 * reading. A new number per fit is a line in io/fit_column_list.h, and a field.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_FIT_RECORD_H
#define IO_FIT_RECORD_H

#include "base/method.h"
#include "base/outcome.h"
#include "io/fit_column_list.h"
#include "io/fit_later_columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a column's numbers are stored; enumerations take a byte. */
enum fit_kind {
    FIT_DOUBLE, FIT_INT64, FIT_UINT32, FIT_INT8, FIT_OUTCOME, FIT_STOP, FIT_LACK, FIT_OPTIMIZER, FIT_GRADIENT, FIT_LIMIT
};
enum fit_shape { PER_FIT, PER_PARAMETER, PER_PAIR };

enum fit_column {
#define X(name, path, kind, shape, field, unit, description) FIT_COLUMN_##name,
    FIT_ALL_COLUMN_LIST(X)
#undef X
    N_RESULT_COLUMN,
    N_FIT_COLUMN = FIT_COLUMN_SAME_OPTIMUM /* the first ones, which are also in journals */
};

/* Parts of /fits, as bits: the columns that a result has. */
enum fit_part { FIT_PART_BASE = 1, FIT_PART_STARTS = 2, FIT_PART_PROFILE = 4, FIT_PART_BOOTSTRAP = 8, FIT_PART_SELECTION = 16 };
enum fit_part fit_column_part(enum fit_column column);

enum { FIT_MAX_POINT = 100 };

/* A task of a dataset: a start, or a refit that begins at the best start. Arrays may be NULL: missing on writing, not wanted on
 * reading. */
struct fit_record {
    uint64_t dataset;
    uint32_t start; /* number of the task within its dataset: starts come first */
    uint32_t notes;
    uint8_t outcome, stop, optimizer, gradient;
    double objective, gradient_norm, seconds;
    int64_t n_iteration, n_evaluation, n_step, n_freedom, n_flat;
    double chi_square, residual_error, aic, aicc, bic, r_squared, tight_change, tight_decrease, rtol;
    double *parameter, *standard_error, *interval_lower, *interval_upper, *eigenvalue, *flattest; /* n_parameter */
    double *covariance;       /* n_parameter x n_parameter; NULL above FIT_MAX_PAIR_PARAMETERS */
    int8_t *at_bound, *flat_group; /* n_parameter */
    uint8_t *lack;            /* n_parameter */
    uint8_t limit;            /* enum limit of a profile's side; only in journals, like its points: */
    uint8_t n_point;          /* pairs of the parameter's value (natural scale) and the objective */
    double *point;            /* room for FIT_MAX_POINT pairs, or NULL; not among the arrays of fit_record_set_arrays */
    int64_t n_same_optimum, n_bootstrap;
    double other_least, other_most;
    double *profile_lower, *profile_upper, *bootstrap_error, *bootstrap_lower, *bootstrap_upper, *percentile_lower,
        *percentile_upper;    /* n_parameter */
    uint8_t *profile_lower_status, *profile_upper_status; /* n_parameter */
    char reason[160];
};

enum { FIT_MAX_PAIR_PARAMETERS = 64 };

struct fit_column_info {
    const char *path, *unit, *description;
    enum fit_kind kind;
    enum fit_shape shape;
    size_t offset; /* of the field: the value, or a pointer to the values */
};
extern const struct fit_column_info fit_columns[N_RESULT_COLUMN];

size_t fit_kind_size(enum fit_kind kind);
/* The function that names an enumeration's numbers, from 0, and returns NULL beyond the last; NULL for other kinds. */
const char *(*fit_kind_names(enum fit_kind kind))(int number);
/* The count of numbers of one fit in a column; 0 for pairs of too many parameters, which are not stored. */
size_t fit_column_width(enum fit_column column, size_t n_parameter);
/* A pointer to them, or NULL for a missing array. */
void *fit_column_values(enum fit_column column, struct fit_record *record);
/* The size of all arrays in bytes, and placing them in a block of that size (aligned for double). */
size_t fit_record_array_bytes(size_t n_parameter);
void fit_record_set_arrays(struct fit_record *record, size_t n_parameter, void *block);
/* Sets everything to the values for "missing": NaN, -1, 0. Fills arrays that are not NULL; keeps dataset and start. */
void fit_record_clear(struct fit_record *record, size_t n_parameter);

#endif
