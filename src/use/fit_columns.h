/* Selects and writes the numbers of a fit, for export and show. Names are those of /fits in a
 * result file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/view.h"
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

/* A number, or the word for it (NULL: the number has no word); value NULL: of a table's head. */
struct fact fit_fact(const char *key, const char *text, enum fit_kind kind, const void *value);
struct fact fit_fact_own(const char *key, const char *text, const struct own_value *value);

/* The correlation of parameters c and d; NaN: unknown. */
double fit_correlation(const struct fit_record *record, size_t n_parameter, size_t c, size_t d);

/* Names separated by commas, or "all": every column of the file except the covariance; also NAME
 * and COLUMN_NAME of a single parameter, as in the head. NULL: `by_default`, a list of the same
 * kind; if that is NULL, too, the default table of `stiffit export`. Columns missing from the
 * file are skipped. STATUS_USAGE, with the nearest match: an unknown name. Zero-initialise. */
enum status fit_columns_choose(struct fit_columns *columns, const struct result *result,
                               const char *names, const char *by_default, struct error *error);
void fit_columns_fini(struct fit_columns *columns);

/* Adds the fit to a view, for JSON and for CSV (use/view_csv.h); record NULL: the heads of the
 * columns. CSV has one column for a number of the fit; NAME for each parameter's best value,
 * COLUMN_NAME for other numbers by parameter, COLUMN_NAME_NAME for pairs (each once). In JSON
 * numbers by parameter are objects, pairs arrays of arrays. */
void fit_columns_row(const struct fit_columns *columns, const struct result_info *info,
                     const char *id, struct fit_record *record, struct view *view);
