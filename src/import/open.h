/* Opens tables of `stiffit import`: the columns of --id become a column 'dataset', and what plate
 * programs write in blocks becomes one table.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"
#include "io/table/csv.h"

enum import_form {
    FORM_TABLE,
    /* Blocks of times and wells, each below its own line of names; a line with one field above a
     * block is an observable of the model, or the name of a plate. */
    FORM_WELLS,
    /* The plate's grid: a line of column numbers from 1 on, lines that begin with a letter. The
     * corner is the column's name, a line with one field above it the plate's, or, without a
     * corner, the column's. */
    FORM_LAYOUT
};
/* Gives columns the names that --column says. */
enum status import_name_columns(struct csv_reader *reader, const struct import_options *options,
                                struct error *error);
/* *is_changed (or NULL): the table was made from blocks, and is a list of wells. `abi` names the
 * observables. */
enum status import_open(struct csv_reader **reader, const char *path, enum import_form form,
                        const struct import_options *options, const struct stiffit_model *abi,
                        bool *is_changed, struct error *error);
