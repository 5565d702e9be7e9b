/* One fit: its fields are filled by the fit itself and kept by the journal and the result file. A table of its columns is what
 * writing, reading and showing share: a new number per fit is a line in io/fit_column_list.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_FIT_RECORD_H
#define IO_FIT_RECORD_H

#include "base/limit.h"
#include "base/method.h"
#include "base/outcome.h"
#include "io/fit_column_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a column's numbers are kept: C's type, and the names of an enumeration, which takes a byte. */
#define FIT_KIND_LIST(X) \
    X(DOUBLE, double, NULL) X(INT64, int64_t, NULL) X(UINT32, uint32_t, NULL) X(INT8, int8_t, NULL) \
    X(OUTCOME, uint8_t, outcome_name_or_null) X(STOP, uint8_t, stop_name) X(LACK, uint8_t, lack_name) \
    X(OPTIMIZER, uint8_t, optimizer_name) X(GRADIENT, uint8_t, gradient_name) X(LIMIT, uint8_t, limit_name)
enum fit_kind {
#define X(kind, type, names) FIT_##kind,
    FIT_KIND_LIST(X)
#undef X
    N_FIT_KIND
};
enum fit_shape { PER_FIT, PER_PARAMETER, PER_PAIR };

/* What a field of each kind and shape is in struct fit_record. */
#define X(kind, type, names) typedef type fit_type_##kind;
FIT_KIND_LIST(X)
#undef X
#define FIT_POINTER_PER_FIT
#define FIT_POINTER_PER_PARAMETER *
#define FIT_POINTER_PER_PAIR *

enum fit_column {
#define X(name, path, kind, shape, field, unit, description) FIT_COLUMN_##name,
    FIT_ALL_COLUMN_LIST(X)
#undef X
    N_RESULT_COLUMN,
    N_FIT_COLUMN = FIT_COLUMN_SAME_OPTIMUM /* the first ones: those that journals have too */
};

/* Parts of /fits, bits: which columns a result has. */
enum fit_part { FIT_PART_BASE = 1, FIT_PART_STARTS = 2, FIT_PART_PROFILE = 4, FIT_PART_BOOTSTRAP = 8, FIT_PART_SELECTION = 16 };
enum fit_part fit_column_part(enum fit_column column);

enum { FIT_MAX_POINT = 100 };

/* A task of a dataset: a start (the field `start` is its number within the dataset), or a refit that begins at the best of
 * them; starts come first. Every column of the list is a field: a number, or n_parameter of them in the problem's order, or
 * n_parameter x n_parameter (NULL above FIT_MAX_PAIR_PARAMETERS). Arrays may be NULL: missing when written,
 * not wanted when read. */
struct fit_record {
    uint64_t dataset;
#define X(name, path, kind, shape, field, unit, description) fit_type_##kind FIT_POINTER_##shape field;
    FIT_FIELD_COLUMN_LIST(X)
#undef X
    uint8_t limit;   /* enum limit, of a profile's side; in journals only, as are its points: */
    uint8_t n_point; /* pairs of the parameter's value (natural scale) and the objective */
    double *point;   /* room for FIT_MAX_POINT pairs, or NULL; not among the arrays of fit_record_set_arrays */
    size_t n_noise;  /* parameters of the noise alone, for who made the fit; not kept */
    char reason[160]; /* "" or why it is no success */
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
/* Names of an enumeration's numbers from 0, NULL beyond the last; NULL for kinds that are none. */
const char *(*fit_kind_names(enum fit_kind kind))(int number);
/* Numbers of one fit in a column; 0 for pairs of too many parameters, which are not kept. */
size_t fit_column_width(enum fit_column column, size_t n_parameter);
/* Where they are, or NULL for an array that is not there. */
void *fit_column_values(enum fit_column column, struct fit_record *record);
/* Bytes of all arrays, and their distribution over a block of so many bytes (aligned for double). */
size_t fit_record_array_bytes(size_t n_parameter);
void fit_record_set_arrays(struct fit_record *record, size_t n_parameter, void *block);
/* Numbers that stand for "not there": NaN, -1, 0. Arrays that are there are filled; dataset and start stay. */
void fit_record_clear(struct fit_record *record, size_t n_parameter);

#endif
