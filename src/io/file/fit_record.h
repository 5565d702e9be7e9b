/* The record of one fit: the fit fills its fields, the journal and the result file store them.
 * Writing, reading and showing use the table of its columns. A new number per fit needs an entry
 * in io/file/fit_column_list.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/method.h"
#include "base/outcome.h"
#include "io/file/fit_column_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How a column's numbers are stored: the type in C, and the names of an enumeration, which takes
 * a byte. */
#define FIT_KIND_LIST(X) \
    X(DOUBLE, double, NULL) X(INT64, int64_t, NULL) X(UINT32, uint32_t, NULL) \
      X(INT8, int8_t, NULL) \
    X(OUTCOME, uint8_t, outcome_name_or_null) X(STOP, uint8_t, stop_name) \
      X(LACK, uint8_t, lack_name) \
    X(OPTIMIZER, uint8_t, optimizer_name) X(GRADIENT, uint8_t, gradient_name) \
      X(LIMIT, uint8_t, limit_name)
#define FIT_KIND_NUMBER(kind, type, names) FIT_##kind,
enum fit_kind { FIT_KIND_LIST(FIT_KIND_NUMBER) N_FIT_KIND };
enum fit_shape { PER_FIT, PER_PARAMETER, PER_PAIR };

/* The type of a field of each kind and shape in struct fit_record. */
#define FIT_KIND_TYPE(kind, type, names) typedef type fit_type_##kind;
FIT_KIND_LIST(FIT_KIND_TYPE)
#define FIT_POINTER_PER_FIT
#define FIT_POINTER_PER_PARAMETER *
#define FIT_POINTER_PER_PAIR *

#define FIT_COLUMN_NUMBER(name, ...) FIT_COLUMN_##name,
enum fit_column {
    FIT_ALL_COLUMN_LIST(FIT_COLUMN_NUMBER)
    N_RESULT_COLUMN,
    N_FIT_COLUMN = FIT_COLUMN_SAME_OPTIMUM /* the first ones, which are also in journals */
};

/* Parts of /fits, as bits: they determine a result's columns. */
enum fit_part {
    FIT_PART_BASE = 1,
    FIT_PART_STARTS = 2,
    FIT_PART_PROFILE = 4,
    FIT_PART_BOOTSTRAP = 8,
    FIT_PART_SELECTION = 16,
    FIT_PART_EVALUATION = 32,
    FIT_PART_RANDOM = 64
};
enum fit_part fit_column_part(enum fit_column column);

enum { FIT_MAX_POINT = 100 };
struct own_value; /* io/problem/own_columns.h */

/* A task of a dataset: a start (the field `start` is its number within the dataset), or a refit
 * that begins at the best start; starts come first. Every column of the list is a field: a
 * number, or n_parameter of them in the problem's order, or n_parameter x n_parameter (NULL
 * above FIT_MAX_PAIR_PARAMETERS). Arrays may be NULL: missing on writing, not wanted on reading. */
struct fit_record {
    uint64_t dataset;
#define FIT_FIELD(name, path, kind, shape, field, ...) fit_type_##kind FIT_POINTER_##shape field;
    FIT_FIELD_COLUMN_LIST(FIT_FIELD)
    uint8_t limit;   /* enum limit of a profile's side; only in journals, like its points: */
    uint8_t n_point; /* pairs of the parameter's value (natural scale) and the objective */
    /* room for FIT_MAX_POINT pairs, or NULL; not among the arrays of fit_record_set_arrays */
    double *point;
    /* parameters of the noise only, of the whole fit; set by the fit, not stored */
    size_t n_noise;
    char reason[160]; /* "" or why the fit failed */
    /* the dataset's own columns, of rows of results: a value of each; NULL: none are known */
    const struct own_value *own;
};

enum { FIT_MAX_PAIR_PARAMETERS = 64 };

struct fit_column_info {
    const char *path;
    enum fit_kind kind;
    enum fit_shape shape;
    size_t offset;      /* of the field: the value, or a pointer to the values */
    const char *description, *unit; /* no unit: NULL */
    enum fit_part part; /* 0: FIT_PART_BASE */
    bool is_work;       /* a DOUBLE or INT64 PER_FIT that adds up over attempts and starts */
    /* `stiffit show --id` prints a PER_FIT number as "label number", on this one of its lines of
     * numbers, from 1; n_digit 0: 6 digits. label NULL: only in its JSON. */
    const char *label;
    int line, n_digit;
    /* Group of columns in the default table of `stiffit export`, which has group 1 first; in a
     * group, columns are in the list's order. 0: only with --columns. */
    int table;
    /* If no measurement with Laplace's errors has a sigma, fits use a trial sigma; for sigma 1,
     * a DOUBLE is then multiplied by this power of it (fit/objective/unit.h). */
    int sigma_power;
};
extern const struct fit_column_info fit_columns[N_RESULT_COLUMN];

#define FIT_KIND_SIZE(kind, type, names) sizeof(type),
static inline size_t fit_kind_size(enum fit_kind kind)
{
    static const unsigned char size[] = {FIT_KIND_LIST(FIT_KIND_SIZE)};
    return size[kind];
}
/* The function that names an enumeration's numbers, from 0, and returns NULL beyond the last;
 * NULL for other kinds. */
const char *(*fit_kind_names(enum fit_kind kind))(int number);
/* The count of numbers of one fit in a column; 0 for pairs of too many parameters, which are not
 * stored. */
static inline size_t fit_column_width(enum fit_column column, size_t n_parameter)
{
    enum fit_shape shape = fit_columns[column].shape;
    if (shape == PER_FIT)
        return 1;
    size_t n_pair = n_parameter <= FIT_MAX_PAIR_PARAMETERS ? n_parameter * n_parameter : 0;
    return shape == PER_PARAMETER ? n_parameter : n_pair;
}
/* A pointer to them, or NULL for a missing array. */
static inline void *fit_column_values(enum fit_column column, struct fit_record *record)
{
    char *field = (char *)record + fit_columns[column].offset;
    void *values = field;
    if (fit_columns[column].shape != PER_FIT)
        memcpy(&values, field, sizeof values);
    return values;
}
/* The size of all arrays in bytes, and placing them in a block of that size (aligned for
 * double). */
size_t fit_record_array_bytes(size_t n_parameter);
void fit_record_set_arrays(struct fit_record *record, size_t n_parameter, void *block);
/* A record with its arrays and without points as bytes for another process of this program;
 * from_bytes keeps the record's arrays and fills them. */
size_t fit_record_bytes(size_t n_parameter);
void fit_record_to_bytes(const struct fit_record *record, size_t n_parameter, void *bytes);
void fit_record_from_bytes(struct fit_record *record, size_t n_parameter, const void *bytes);
/* Sets everything to the values for "missing": NaN, -1, 0. Fills arrays that are not NULL; keeps
 * dataset and start. */
void fit_record_clear(struct fit_record *record, size_t n_parameter);
/* Clears the record of a fit that begins: no outcome, no best point, no work; and of one that has
 * no result. */
void fit_record_begin(struct fit_record *record, size_t n_parameter, uint32_t notes);
void fit_record_fail(struct fit_record *record, enum outcome outcome, const char *reason);
/* Sets the columns of work to 0, or adds those of another record. */
void fit_record_zero_work(struct fit_record *record);
void fit_record_add_work(struct fit_record *record, const struct fit_record *other);
/* Multiplies each number by sigma to its column's sigma_power. */
void fit_record_rescale(struct fit_record *record, size_t n_parameter, double sigma);
