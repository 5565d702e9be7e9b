/* The columns of measurements, listed once: CSV tables, problem files, blocks of datasets, fits
 * and their objective use this struct. A new column needs a line in the list, and code where it
 * has an effect.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/column.h"

/* Name in tables and under /measurements, kind, smallest and largest integer, meaning. The
 * problem's identity hash includes the columns before `line`, in this order, without those
 * that no row has: put a new column before `line`. The observable is the file's index, in memory
 * the model's. */
#define MEASUREMENT_LIST(X) \
    X(time, DOUBLE, 0, 0, "when it was measured") \
    X(value, DOUBLE, 0, 0, "what was measured; NaN: missing, whatever else the row says") \
    X(sigma, DOUBLE, 0, 0, "its standard deviation; NaN: the model's noise, or 1") \
    X(observable, UINT32, 0, UINT32_MAX, "what was measured: an observable") \
    X(censored, INT8, -1, 1, "0 (no), 1 (the measurement lies below its value) or -1 (above it)") \
    X(side, INT8, -1, 127, "-1 (before all that happens at this time), 0 (before doses, after " \
      "everything else), or s > 0: after doses of a side below s, and so 1 after other doses") \
    X(limit, DOUBLE, 0, 0, \
      "of a censored measurement: it lies between its value and this; NaN: anywhere on its side") \
    X(line, UINT32, 0, UINT32_MAX, \
      "line of the table that it comes from, from 1, for messages alone; 0: none")

/* Missing numbers are NaN, missing whole numbers 0. */
typedef double measurement_DOUBLE;
typedef uint32_t measurement_UINT32;
typedef int8_t measurement_INT8;

#define MEASUREMENT_COLUMN_NUMBER(name, kind, least, most, meaning) MEASUREMENT_##name,
enum measurement_column { MEASUREMENT_LIST(MEASUREMENT_COLUMN_NUMBER) N_MEASUREMENT };

/* Sets of columns, a bit each. */
#define MEASUREMENT_BIT(name) (1u << MEASUREMENT_##name)
#define MEASUREMENT_ALL ((1u << N_MEASUREMENT) - 1)
#define MEASUREMENT_FITTED (MEASUREMENT_ALL & ~MEASUREMENT_BIT(line))

/* An array per column; NULL: no row has a value. The number of rows is stored elsewhere. */
#define MEASUREMENTS_FIELD(name, kind, least, most, meaning) measurement_##kind *name;
struct measurements { MEASUREMENT_LIST(MEASUREMENTS_FIELD) };

extern const struct column_info measurement_columns[N_MEASUREMENT];

/* Row i's number in a column; NULL: no such column. */
void *measurements_cell(const struct measurements *measured, enum measurement_column column,
                        size_t i);
/* Whether any of the n rows from `first` on has a number in a column. */
bool measurements_have(const struct measurements *measured, enum measurement_column column,
                       size_t first, size_t n);
/* Whether row i, censored, is only known to lie between its value and a limit, which exists. */
bool measurements_in_interval(const struct measurements *measured, size_t i);
/* The columns from row `first` on. */
struct measurements measurements_from(const struct measurements *measured, size_t first);

/* Size in bytes of n rows of these columns, and their arrays in such a block (aligned for
 * double). */
size_t measurements_bytes(unsigned columns, size_t n);
struct measurements measurements_place(unsigned columns, size_t n, void *block);
/* Copies rows [first, first + n) of `from` to rows [at, at + n) of `to`, in the columns of `to`. */
void measurements_copy(const struct measurements *to, size_t at, const struct measurements *from,
                       size_t first, size_t n);
/* Copies row order[i] of `from` to row i of `to`. */
void measurements_pick(const struct measurements *to, const struct measurements *from,
                       const size_t *order, size_t n);
