/* Reads PEtab's tables: tab-separated values with a header line.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/table.h"

#include "base/words.h"
#include "io/table/csv.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct petab_place petab_cell_place(const struct petab_table *table, size_t row, size_t column)
{
    return (struct petab_place){table->row[row].file, table->row[row].line,
                                column < table->n_column ? table->column[column] : NULL};
}

static size_t find_column(const struct petab_table *table, const char *name)
{
    size_t i = 0;
    while (i < table->n_column && strcmp(table->column[i], name))
        i++;
    return i;
}

static void add_column(struct petab_reader *reader, struct petab_table *table, const char *name)
{
    petab_grow(reader, &table->column, table->n_column, &table->room_column, sizeof *table->column);
    petab_grow(reader, &table->file, table->n_column, &table->room_file, sizeof *table->file);
    table->column[table->n_column] = name;
    table->file[table->n_column++] = NULL;
}

size_t petab_column_of(const struct petab_table *table, const char *name)
{
    size_t i = find_column(table, name);
    return i < table->n_column ? i : SIZE_MAX;
}

/* Columns of either version, or of pyPESTO, that some table does not read, and that are no
 * misspellings of others. */
static const char *const unread[] = {"parameterName",
                                     "parameterScale",
                                     "objectivePriorType",
                                     "objectivePriorParameters",
                                     "initializationPriorType",
                                     "initializationPriorParameters",
                                     "priorDistribution",
                                     "priorParameters",
                                     "observableName",
                                     "observableTransformation",
                                     "observablePlaceholders",
                                     "noisePlaceholders",
                                     "conditionName",
                                     "simulationConditionId",
                                     "preequilibrationConditionId",
                                     "experimentId",
                                     "experimentName",
                                     "modelId",
                                     "datasetId",
                                     "replicateId",
                                     "measurementType",
                                     "measurementCategory",
                                     "censoringBounds",
                                     "parameterType"};

/* Where each column of the open file goes in the table. A column that is nearly a known one
 * would be ignored silently. */
static size_t *place_columns(struct petab_reader *reader, struct petab_table *table,
                             const char *file, size_t n_required)
{
    size_t n = csv_n_column(reader->csv), *to = petab_alloc(reader, n, sizeof *to);
    bool *here = petab_alloc(reader, table->n_known, 1);
    for (size_t i = 0; i < n; i++) {
        const char *name = csv_column_name(reader->csv, i);
        if ((to[i] = find_column(table, name)) == table->n_column)
            add_column(reader, table, petab_strdup(reader, name));
        if (!table->file[to[i]])
            table->file[to[i]] = file;
        if (to[i] < table->n_known)
            here[to[i]] = table->has[to[i]] = true;
    }
    struct petab_place place = {file, 1, NULL};
    const char **missing = petab_alloc(reader, table->n_known, sizeof *missing);
    for (size_t k = 0; k < table->n_known; k++)
        missing[k] = here[k] ? NULL : table->column[k];
    for (size_t i = 0; i < n; i++) {
        const char *name = csv_column_name(reader->csv, i);
        bool is_free = to[i] >= table->n_known && strlen(name) < 64
                       && words_find(name, unread, sizeof unread / sizeof *unread) < 0;
        const char *near = is_free ? nearest_name(name, missing, table->n_known) : NULL;
        if (near)
            petab_fault(reader, place, "there is a column '%.300s'; did you mean '%s'?", name,
                        near);
        for (size_t k = 0; k < table->n_known && near; k++)
            missing[k] = missing[k] == near ? NULL : missing[k];
    }
    for (size_t k = 0; k < n_required; k++)
        if (missing[k])
            petab_fault(reader, place, "there is no column '%s'", table->column[k]);
    return to;
}

static void read_file(struct petab_reader *reader, struct petab_table *table, const char *file,
                      size_t n_required)
{
    if (csv_open_ragged(&reader->csv, file, &reader->error))
        petab_leave_with(reader);
    const char *name = petab_strdup(reader, file);
    const size_t *to = place_columns(reader, table, name, n_required);
    for (bool more = true; more;) {
        if (csv_next(reader->csv, &more, &reader->error))
            petab_leave_with(reader);
        if (!more)
            break;
        petab_grow(reader, &table->row, table->n_row, &table->room_row, sizeof *table->row);
        struct petab_row *row = &table->row[table->n_row++];
        *row = (struct petab_row){name, csv_line(reader->csv), table->n_column,
                                  petab_alloc(reader, table->n_column, sizeof *row->cell)};
        for (size_t i = 0; i < table->n_column; i++)
            row->cell[i] = "";
        for (size_t i = 0; i < csv_n_column(reader->csv); i++)
            if (*csv_field(reader->csv, i))
                row->cell[to[i]] = petab_strdup(reader, csv_field(reader->csv, i));
    }
    csv_close(reader->csv);
    reader->csv = NULL;
}

void petab_table_read(struct petab_reader *reader, struct petab_table *table,
                      const struct petab_list *files, const char *const *known, size_t n_known,
                      size_t n_required)
{
    *table = (struct petab_table){.n_known = n_known, .has = petab_alloc(reader, n_known, 1)};
    for (size_t i = 0; i < n_known; i++)
        add_column(reader, table, known[i]);
    for (size_t i = 0; i < files->n; i++)
        read_file(reader, table, files->path[i], n_required);
    for (struct petab_row *row = table->row; row < table->row + table->n_row;
         row++) /* a later file may have added columns */
        if (row->n < table->n_column) {
            const char **old = row->cell;
            row->cell = petab_alloc(reader, table->n_column, sizeof *row->cell);
            for (size_t k = 0; k < table->n_column; k++)
                row->cell[k] = k < row->n ? old[k] : "";
            row->n = table->n_column;
        }
}

/* The first row with something in a column; n_row: it is empty. */
static size_t first_row(const struct petab_table *table, size_t column)
{
    size_t row = 0;
    while (row < table->n_row && !*table->row[row].cell[column])
        row++;
    return row;
}

void petab_table_refuse(struct petab_reader *reader, const struct petab_table *table,
                        const char *const *names, size_t n, int version)
{
    for (size_t k = table->n_known; k < table->n_column; k++) {
        size_t row = first_row(table, k);
        if (words_find(table->column[k], names, n) >= 0 && row < table->n_row)
            petab_fault(reader, petab_cell_place(table, row, k),
                        "this column belongs to version %d of PEtab, and the problem "
                        "is of version %d",
                        version, version == 1 ? 2 : 1);
    }
}

void petab_table_note(struct petab_reader *reader, const struct petab_table *table,
                      const char *const *legal, size_t n_legal, const char *used)
{
    for (size_t k = table->n_known; k < table->n_column; k++) {
        const char *name = table->column[k];
        bool is_new;
        if (words_find(name, legal, n_legal) >= 0 || (used && !strcmp(name, used)) ||
            first_row(table, k) == table->n_row)
            continue;
        petab_key(reader, &reader->noted, petab_format(reader, "%s %s", table->column[0], name),
                  &is_new);
        if (is_new)
            petab_note(reader, "%s: column '%.300s' is not used", table->file[k], name);
    }
}

double petab_number(struct petab_reader *reader, const struct petab_table *table, size_t row,
                    size_t column, double missing)
{
    const char *text = table->row[row].cell[column];
    double value;
    if (!csv_parse_double(text, &value)) {
        petab_fault(reader, petab_cell_place(table, row, column), "'%.300s' is not a number", text);
        return NAN;
    }
    return isnan(value) ? missing : value;
}

void petab_check_id(struct petab_reader *reader, const struct petab_table *table, size_t row,
                    size_t column)
{
    const char *text = table->row[row].cell[column];
    bool good = isalpha((unsigned char)*text) || *text == '_';
    for (const char *p = text; *p; p++)
        good = good && (isalnum((unsigned char)*p) || *p == '_');
    if (!good)
        petab_fault(reader, petab_cell_place(table, row, column),
                    *text ? "'%.300s' is not an identifier (letters, digits and _)"
                          : "it is empty%s",
                    text);
}

const char **petab_split(struct petab_reader *reader, const char *cell, size_t *n)
{
    const char **part = NULL;
    size_t room = 0;
    *n = 0;
    while (*cell) {
        size_t length = strcspn(cell, ";"), first = strspn(cell, " "), last = length;
        while (last > first && cell[last - 1] == ' ')
            last--;
        petab_grow(reader, &part, *n, &room, sizeof *part);
        part[(*n)++] =
            petab_format(reader, "%.*s", (int)(last > first ? last - first : 0), cell + first);
        cell += length + (cell[length] == ';');
    }
    return part;
}

struct petab_index petab_table_index(struct petab_reader *reader, const struct petab_table *table,
                                     size_t column)
{
    const char **id = petab_alloc(reader, table->n_row, sizeof *id);
    for (size_t i = 0; i < table->n_row; i++)
        id[i] = table->row[i].cell[column];
    struct petab_index index = petab_index_of(reader, id, table->n_row, sizeof *id);
    for (size_t i = 1; i < index.n; i++)
        if (!strcmp(index.entry[i].name, index.entry[i - 1].name))
            petab_fault(reader, petab_cell_place(table, index.entry[i].number, column),
                        "'%.300s' is there twice; first in %.200s:%" PRIu64, index.entry[i].name,
                        table->row[index.entry[i - 1].number].file,
                        table->row[index.entry[i - 1].number].line);
    return index;
}
