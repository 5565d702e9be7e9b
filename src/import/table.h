/* Reads the CSV tables of an import: finds the columns that the caller lists, and gives each row's
 * owner and cells. Faults are reported with file, line and column.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/clock.h"
#include "import/notes.h"
#include "import/open.h"
#include "import/owners.h"
#include "import/where.h"

/* A word that a cell may be, and the number for which it stands. */
struct import_word {
    const char *word;
    double number;
};

/* A column that a table may have. Its cells are numbers, unless it has names or words. */
struct import_column {
    /* prefix: precedes the name, or NULL; or_name: accepted in its place, or NULL */
    const char *prefix, *name, *or_name;
    bool is_needed, is_text;
    bool is_time; /* a number, or a clock time (clock.h) */
    /* Names of the model's, of which a cell is one: what they are ("state"). A single one may be
     * missing. */
    const char *what;
    const char *const *names;
    size_t n_name;
    bool is_observable;   /* the names are those of observables (observable.h) */
    /* Words of which a cell is one, in any case; and what a fault says of others. */
    const struct import_word *word;
    size_t n_word;
    double most; /* whole numbers up to it are also allowed, from 0 */
    const char *expected;
    /* Looks at a field before it is read; NULL: nobody does. */
    enum status (*check)(const struct csv_reader *reader, size_t column, struct error *error);
};

/* Columns of a table that name a row's owner; CSV_NO_COLUMN: there is none. */
struct import_owner_columns {
    size_t dataset, experiment;
};

enum import_ownership {
    IMPORT_BY_NOBODY,
    IMPORT_BY_DATASET,    /* a row's owner is a dataset of `owners` */
    IMPORT_BY_EXPERIMENT, /* an experiment of `owners` */
    IMPORT_BY_ANY         /* an experiment of `owners`, which is added if it is new */
};

/* Zero-initialise, set the first fields, open it, list the columns, read it, close it. */
struct import_table {
    const struct import_options *options;
    const char *path;
    enum import_form form;
    enum import_ownership ownership;
    struct import_owners *owners;
    const struct stiffit_model *abi; /* names the observables of blocks */
    /* Called for each column that is not listed; NULL: a name close to one that is listed is a
     * fault, others are noted. */
    enum status (*other)(struct import_table *table, size_t column, void *context,
                         struct error *error);
    /* Called for each row, with its owner or ID_NONE, then without cells unless the table is made
     * from a plate's; what it finds wrong does not end the reading. */
    enum status (*row)(struct import_table *table, uint32_t owner, void *context,
                       struct error *error);
    void *context;
    struct import_where *where; /* of the rows that are read; NULL: of all */
    /* once it is open: */
    struct csv_reader *reader;
    bool is_made; /* from a plate's blocks or grid: a list of wells */
    struct import_owner_columns owner;
    /* of each listed column: its number in the file or CSV_NO_COLUMN, and the row's cell: its
     * number, or the index of its name; NaN: it is missing or text */
    size_t n;
    struct import_column *listed;
    size_t *column;
    double *cell;
    size_t room[3];
    bool *is_used; /* each column of the file */
    struct import_lacks lacks;
    struct import_elapsed elapsed;
    struct import_slips slips;
    uint64_t n_unused; /* rows without an owner */
};

/* Opens it and finds the columns of owners. */
enum status import_table_open(struct import_table *table, struct error *error);
/* Lists n columns more, whose cells follow those listed before; names and words must stay. A
 * column of the file is one of these alone, the first; columns of owners are none. */
enum status import_table_list(struct import_table *table, const struct import_column *columns,
                              size_t n, struct error *error);
/* Reads all rows. The fault is that of all fields that cannot be read. */
enum status import_table_read(struct import_table *table, struct error *error);
void import_table_close(struct import_table *table);

/* The cell's text, "" if there is none; until the next row. */
const char *import_table_text(const struct import_table *table, size_t cell);
