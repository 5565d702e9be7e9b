/* PEtab's tables in memory: files of the same kind one after another, with the line of each row.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "petab/files.h"

#include <math.h>

struct petab_row {
    const char *file;
    uint64_t line;
    size_t n;          /* columns of the table when it was read: n_column at the end */
    const char **cell; /* n_column; "" where the file does not have the column */
};

struct petab_table {
    size_t n_known, n_column, n_row, room_column, room_file, room_row;
    const char **column;   /* the known ones in the caller's order, then the others */
    const char **file;     /* n_column: the first file that has it; NULL: none */
    bool *has;             /* n_known: some file has it */
    struct petab_row *row;
};

/* The files' tables. `known` names n_known columns, of which the first n_required must be there. */
void petab_table_read(struct petab_reader *reader, struct petab_table *table,
                      const struct petab_list *files, const char *const *known, size_t n_known,
                      size_t n_required);
/* Columns of the other version that would change the problem: faults, unless they are empty. */
void petab_table_refuse(struct petab_reader *reader, const struct petab_table *table,
                        const char *const *names, size_t n, int version);
/* A note for each column that is not used and not empty: all but the known ones, those of this
 * table's `legal` ones that describe it alone, and `used` (or NULL). A table's column is noted
 * once, for the first of the files and problems that have it. */
void petab_table_note(struct petab_reader *reader, const struct petab_table *table,
                      const char *const *legal, size_t n_legal, const char *used);
/* SIZE_MAX: it has no such column. */
size_t petab_column_of(const struct petab_table *table, const char *name);
struct petab_place petab_cell_place(const struct petab_table *table, size_t row, size_t column);
/* A number, or a fault and NaN; `missing` where the cell is empty or NaN. */
double petab_number(struct petab_reader *reader, const struct petab_table *table, size_t row,
                    size_t column, double missing);
/* A fault unless the cell is an identifier. */
void petab_check_id(struct petab_reader *reader, const struct petab_table *table, size_t row,
                    size_t column);
/* The parts of a cell between semicolons, without blanks around; n is 0 for an empty cell. */
const char **petab_split(struct petab_reader *reader, const char *cell, size_t *n);
/* The rows by their cells of a column, which must differ: others are faults. */
struct petab_index petab_table_index(struct petab_reader *reader, const struct petab_table *table,
                                     size_t column);
