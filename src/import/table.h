/* A CSV table of events: doses, inputs, calls, substitutes. Its rows belong to experiments.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"
#include "import/owners.h"

enum { IMPORT_MAX_COLUMN = 12 };

struct import_table {
    const struct import_options *options;
    const char *path;
    const char *const *name; /* of its columns, ending with NULL */
    size_t n_needed;         /* the first ones, without which there is no such table */
    const struct import_owners *owners;
    enum status (*row)(const struct import_table *table, uint32_t owner, void *context,
                       struct error *error);
    void *context;
    /* while it is read: */
    struct csv_reader *reader;
    struct import_owner_columns owner;
    size_t column[IMPORT_MAX_COLUMN]; /* of each name, or CSV_NO_COLUMN */
};

/* Calls `row` for each row; owner ID_NONE: an experiment without measurements, which the row must
 * leave out. *n_unused grows by these. A table of nothing else is a fault. */
enum status import_table_read(struct import_table *table, uint64_t *n_unused, struct error *error);

/* An empty or missing cell leaves *value as it is. */
enum status import_table_number(const struct import_table *table, int which, double *value,
                                struct error *error);
/* The index of a name of the model's, which may be missing if there is one only; what: "state",
 * ... */
enum status import_table_name(const struct import_table *table, int which, const char *what,
                              const char *const *names, size_t n, uint32_t *index,
                              struct error *error);
