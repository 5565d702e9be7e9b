/* What people are told about the tables that an import reads.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"
#include "io/csv.h"

/* Counts numbers with which a dataset cannot be fitted, for a message. They are kept: the dataset's row in the result will say
 * so. */
struct import_faults {
    uint64_t n;
    struct error first;
};
/* A note; hint: "", or words to add. */
void import_say_unused_column(const struct import_options *options, const char *path, const char *name,
                              const char *hint);
/* Notes about text that is not UTF-8 and about comments. */
void import_say_reading(const struct import_options *options, const struct csv_reader *reader, const char *path);
void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column, const char *what);
