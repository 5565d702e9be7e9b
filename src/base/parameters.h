/* The columns of parameters, listed once: models' defaults, tables of text, problem files and
 * their writers use this struct. A new column needs a line in the list, and code where it has an
 * effect.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/column.h"

/* Name in tables and under /parameters, kind, whether each dataset may have its own, numbers of
 * each parameter, meaning. They are written in this order. */
#define PARAMETER_LIST(X) \
    X(name, TEXT, false, 1, "the parameter; absent: the model's, in its order") \
    X(start, NUMBER, true, 1, "where a search begins") \
    X(lower, NUMBER, true, 1, "lower bound") \
    X(upper, NUMBER, true, 1, "upper bound") \
    X(scale, TEXT, false, 1, "scale that the optimiser works in: lin, log or log10") \
    X(fixed, FLAG, true, 1, "not 0: it is held at its start") \
    X(unit, TEXT, false, 1, "its unit, for the reader") \
    X(level, TEXT, false, 1, "dataset, shared, random, or a column of groups of datasets") \
    X(from_model, NUMBER, false, N_FROM_MODEL, \
      "start, lower, upper and scale of the model at the import; NaN: chosen otherwise") \
    X(prior, TEXT, false, 1, "kind of its prior") \
    X(prior_on, TEXT, false, 1, "scale that the prior's numbers refer to: natural or optimizer") \
    X(prior_location, NUMBER, false, 1, "location of its prior") \
    X(prior_scale, NUMBER, false, 1, "scale of its prior") \
    X(prior_lower, NUMBER, false, 1, "lower end of a uniform prior") \
    X(prior_upper, NUMBER, false, 1, "upper end of a uniform prior")

/* Numbers of from_model. A scale is 0 (lin), 1 (log) or 2 (log10). A number of the file that
 * differs from its model's was edited after the import, and is kept. */
enum { FROM_MODEL_START, FROM_MODEL_LOWER, FROM_MODEL_UPPER, FROM_MODEL_SCALE, N_FROM_MODEL };

typedef const char *const *parameter_TEXT;
typedef const double *parameter_NUMBER;
typedef const uint8_t *parameter_FLAG;

#define PARAMETER_COLUMN_NUMBER(name, kind, by_dataset, width, meaning) PARAMETER_##name,
enum parameter_column { PARAMETER_LIST(PARAMETER_COLUMN_NUMBER) N_PARAMETER_COLUMN };
/* The numbers of priors. */
enum { PARAMETER_PRIORS = PARAMETER_prior_location, N_PRIOR_NUMBER = 4 };

/* An array of n x width per column; NULL: there is none. */
#define PARAMETERS_FIELD(name, kind, by_dataset, width, meaning) parameter_##kind name;
struct parameters {
    size_t n;
    PARAMETER_LIST(PARAMETERS_FIELD)
};

extern const struct column_info parameter_columns[N_PARAMETER_COLUMN];

/* Sets of columns, a bit each. */
#define PARAMETER_BIT(name) (1u << PARAMETER_##name)
#define PARAMETER_ALL ((1u << N_PARAMETER_COLUMN) - 1)

struct stiffit_model;
/* The model's in these columns, as far as it has them. */
struct parameters parameters_of_model(const struct stiffit_model *abi, unsigned columns);
/* Parameter i's value in a column: its first number, its text, its flag, to be written by the
 * owner. NULL: no such column. */
void *parameters_cell(const struct parameters *parameters, enum parameter_column column, size_t i);
void parameters_set(const struct parameters *parameters, enum parameter_column column, size_t i,
                    double number);
void parameters_set_text(const struct parameters *parameters, enum parameter_column column,
                         size_t i, const char *text);
/* Size in bytes of all columns of n parameters, and their arrays in such a block. */
size_t parameters_bytes(size_t n);
struct parameters parameters_place(size_t n, void *block);
