/* The columns of /fits: one table that writing and reading share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_RESULT_COLUMNS_H
#define IO_RESULT_COLUMNS_H

#include "io/hdf5_file.h"
#include "io/journal.h"

/* How a column is stored. */
enum result_kind { RESULT_DOUBLE, RESULT_INT64, RESULT_UINT32, RESULT_INT8, RESULT_OUTCOME };

/* constant, path, kind, whether it has a number per parameter, field of struct fit_record, unit, description */
#define RESULT_COLUMN_LIST(X) \
    X(PARAMETERS, "/fits/parameters", DOUBLE, true, parameter, NULL, \
      "best fit, natural scale; NaN where there is none") \
    X(OBJECTIVE, "/fits/objective", DOUBLE, false, objective, NULL, "value at the best fit; kind says of what") \
    X(STATUS, "/fits/status", OUTCOME, false, outcome, NULL, "how the fit ended") \
    X(NOTES, "/fits/notes", UINT32, false, notes, NULL, \
      "compromises, a bit each; the attributes bit_0, ... name them") \
    X(START, "/fits/start", UINT32, false, start, NULL, "number of the start that gave this fit, from 0") \
    X(GRADIENT_NORM, "/fits/gradient_norm", DOUBLE, false, gradient_norm, NULL, \
      "largest entry of the projected gradient in the optimiser's scale") \
    X(ITERATIONS, "/fits/iterations", INT64, false, n_iteration, NULL, "iterations of the optimiser") \
    X(EVALUATIONS, "/fits/evaluations", INT64, false, n_evaluation, NULL, "evaluations of the model") \
    X(STEPS, "/fits/steps", INT64, false, n_step, NULL, "steps of the integrator") \
    X(SECONDS, "/fits/seconds", DOUBLE, false, seconds, "s", "computing time") \
    X(AT_BOUND, "/fits/at_bound", INT8, true, at_bound, NULL, "-1 at the lower bound, 1 at the upper, else 0")

enum result_column {
#define X(name, path, kind, per_parameter, field, unit, description) RESULT_##name,
    RESULT_COLUMN_LIST(X)
#undef X
    N_RESULT_COLUMN
};

struct result_column_info {
    const char *path, *unit, *description;
    enum result_kind kind;
    bool per_parameter;
    size_t offset; /* of the field in struct fit_record: the value, or a pointer to n_parameter of them */
};
extern const struct result_column_info result_columns[N_RESULT_COLUMN];

enum { RESULT_MAX_ID = 1 << 16, RESULT_FORMAT = 1 };

size_t result_kind_size(enum result_kind kind);
/* The type in the file and in memory; release both. 0 where HDF5 fails. */
hid_t result_file_type(enum result_kind kind);
hid_t result_memory_type(enum result_kind kind);
/* One row's values, from the record into `cell` as result_memory_type says. */
void result_cell_put(enum result_column column, const struct fit_record *record, size_t n_parameter, void *cell);

#endif
