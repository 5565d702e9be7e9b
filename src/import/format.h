/* The table of formats: what a format of one table that has all of it knows and does.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/happenings.h"

struct import_format {
    const char *name, *style;  /* its flag, and what its tables are called: "NONMEM's style" */
    const char *id;            /* the column of individuals */
    const char *const *column; /* those by which a table is known, NULL-terminated */
    const char *const *option; /* options that only this format has, NULL-terminated */
    /* Reads the table: the rows, unsorted; t0 and the covariates of each experiment that it adds;
     * and what happens in them. */
    enum status (*read)(struct import_rows *rows, struct import_subjects *subjects,
                        struct import_happenings *happenings, const struct import_options *options,
                        const struct model *model, struct error *error);
};

extern const struct import_format *const import_formats[N_IMPORT_FORMAT];
/* The one that the options name; NULL: none, each kind of row has a table of its own. */
const struct import_format *import_format_of(const struct import_options *options);
