/* Selects and writes the numbers of a fit, for export and show. Names are those of /fits in a
 * result file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/json.h"
#include "io/table/csv.h"
#include "io/result/result.h"

/* FIT_OWN + c: column c of result_info's. */
enum { FIT_ID = N_RESULT_COLUMN, FIT_MESSAGE, FIT_COLUMNS_MOST, FIT_OWN = FIT_COLUMNS_MOST };

/* In the order in which they are written. */
enum { FIT_ALL_PARAMETERS = -1 };
struct fit_columns {
    size_t n, room;
    bool no_memory;
    struct fit_choice {
        int column;    /* enum fit_column, FIT_ID, FIT_MESSAGE, FIT_OWN + c */
        int parameter; /* or FIT_ALL_PARAMETERS */
    } *chosen;
};

/* One cell of a table: a word (NULL: the number has no word), an integer or a real number. */
struct fit_cell {
    enum { FIT_CELL_WORD, FIT_CELL_INTEGER, FIT_CELL_REAL } kind;
    const char *word;
    int64_t integer; /* also the number of a word */
    double real;
};
struct fit_cell fit_cell(enum fit_kind kind, const void *value);
struct fit_cell fit_cell_own(const struct own_value *value);
enum csv_type fit_cell_type(enum fit_kind kind);
void fit_cell_csv(struct csv_writer *writer, struct fit_cell cell);
void fit_cell_json(struct json *json, const char *key, struct fit_cell cell);

/* The correlation of parameters c and d; NaN: unknown. */
double fit_correlation(const struct fit_record *record, size_t n_parameter, size_t c, size_t d);

/* Names separated by commas, or "all": every column of the file except the covariance; also NAME
 * and COLUMN_NAME of a single parameter, as in the head. NULL: `by_default`, a list of the same
 * kind; if that is NULL, too, the default table of `stiffit export`. Columns missing from the
 * file are skipped. STATUS_USAGE, with the nearest match: an unknown name. Zero-initialise. */
enum status fit_columns_choose(struct fit_columns *columns, const struct result *result,
                               const char *names, const char *by_default, struct error *error);
void fit_columns_fini(struct fit_columns *columns);

/* One column for a number of the fit; NAME for each parameter's best value, COLUMN_NAME for
 * other numbers by parameter, COLUMN_NAME_NAME for pairs (each once). */
void fit_columns_csv_head(const struct fit_columns *columns, const struct result_info *info,
                          struct csv_writer *writer);
void fit_columns_csv_row(const struct fit_columns *columns, const struct result_info *info,
                         const char *id, struct fit_record *record, struct csv_writer *writer);
/* Members of an object that the caller opens and closes: numbers by parameter are objects, pairs
 * arrays of arrays. */
void fit_columns_json(const struct fit_columns *columns, const struct result_info *info,
                      const char *id, struct fit_record *record, struct json *json);
/* n x n, as an array of arrays. */
void fit_columns_json_matrix(struct json *json, const char *key, size_t n, const double *matrix);
