/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/table.h"

#include "base/arena.h"
#include "base/words.h"
#include "import/observable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum status no_memory(const struct import_table *table, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the columns of %s", table->path);
}

static enum status find_owners(struct import_table *table, struct error *error)
{
    const struct csv_reader *reader = table->reader;
    const struct import_owners *owners = table->owners;
    struct import_owner_columns *of = &table->owner;
    *of = (struct import_owner_columns){CSV_NO_COLUMN, CSV_NO_COLUMN};
    if (table->ownership == IMPORT_BY_NOBODY)
        return STATUS_OK;
    of->dataset = csv_find_column(reader, "dataset");
    if (of->dataset == CSV_NO_COLUMN)
        of->dataset = csv_find_column(reader, "id");
    if (of->dataset == CSV_NO_COLUMN &&
        (table->ownership == IMPORT_BY_DATASET ||
         (table->ownership == IMPORT_BY_EXPERIMENT && owners->dataset.n > 1)))
        import_need(&table->lacks, reader, "dataset", "");
    if (table->ownership == IMPORT_BY_DATASET)
        return STATUS_OK;
    of->experiment = csv_find_column(reader, "experiment");
    if (table->ownership == IMPORT_BY_ANY)
        return STATUS_OK;
    if (of->experiment == CSV_NO_COLUMN && owners->has_experiments)
        import_need(&table->lacks, reader, "experiment", "");
    return of->experiment == CSV_NO_COLUMN || owners->has_experiments
               ? STATUS_OK
               : error_set(error, STATUS_BAD_PROBLEM,
                           "%s: has a column 'experiment', but the measurements have none",
                           table->path);
}

enum status import_table_open(struct import_table *table, struct error *error)
{
    table->elapsed.unit =
        table->abi && table->abi->time_unit ? table->abi->time_unit : "";
    enum status status = import_open(&table->reader, table->path, table->form, table->options,
                                     table->abi, &table->is_made, error);
    if (status)
        return status;
    table->is_used = calloc(csv_n_column(table->reader) + 1, sizeof *table->is_used);
    return table->is_used ? find_owners(table, error) : no_memory(table, error);
}

/* The number in the file of a column that nobody has listed yet. */
static size_t find_new(const struct import_table *table, const char *prefix, const char *name)
{
    char joined[NAME_BYTES + 20];
    snprintf(joined, sizeof joined, "%s%s", prefix ? prefix : "", name);
    size_t at = csv_find_column(table->reader, joined);
    bool is_taken = at != CSV_NO_COLUMN && (table->is_used[at] || at == table->owner.dataset ||
                                            at == table->owner.experiment);
    return is_taken ? CSV_NO_COLUMN : at;
}

enum status import_table_list(struct import_table *table, const struct import_column *columns,
                              size_t n, struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        const struct import_column *column = &columns[i];
        size_t *room = table->room, at = find_new(table, column->prefix, column->name);
        if (at == CSV_NO_COLUMN && column->or_name)
            at = find_new(table, column->prefix, column->or_name);
        if (!array_grow(&table->listed, table->n, &room[0], sizeof *table->listed) ||
            !array_grow(&table->column, table->n, &room[1], sizeof *table->column) ||
            !array_grow(&table->cell, table->n, &room[2], sizeof *table->cell))
            return no_memory(table, error);
        if (at != CSV_NO_COLUMN)
            table->is_used[at] = true;
        else if (column->is_needed || (column->names && column->n_name != 1)) {
            char why[60] = "";
            if (!column->is_needed)
                snprintf(why, sizeof why, "the model has %zu %ss", column->n_name, column->what);
            import_need(&table->lacks, table->reader, column->name, why);
        }
        table->listed[table->n] = *column;
        table->column[table->n] = at;
        table->cell[table->n++] = NAN;
    }
    return STATUS_OK;
}

/* A rate with a misspelt name must not be ignored. */
static enum status refuse_near(struct import_table *table, size_t j, struct error *error)
{
    const char *name = csv_column_name(table->reader, j), *near = NULL;
    const char **known = malloc((table->n + 2) * sizeof *known);
    if (!known)
        return no_memory(table, error);
    size_t n = 0;
    if (table->ownership != IMPORT_BY_NOBODY) {
        known[n++] = "dataset";
        known[n++] = "experiment";
    }
    for (size_t i = 0; i < table->n; i++)
        known[n++] = table->listed[i].name;
    near = nearest_name(name, known, n);
    free(known);
    if (near)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: unknown column '%.100s'; did you mean '%s'?", table->path, name,
                         near);
    import_say_unused_column(table->options, table->path, name, "");
    return STATUS_OK;
}

static enum status see_others(struct import_table *table, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t j = 0; !status && j < csv_n_column(table->reader); j++) {
        if (table->is_used[j] || j == table->owner.dataset || j == table->owner.experiment ||
            (table->where && import_where_uses(table->where, j)))
            continue;
        if (table->other)
            status = table->other(table, j, table->context, error);
        else if (!csv_is_joined(table->reader, j))
            status = refuse_near(table, j, error);
    }
    return status;
}

const char *import_table_text(const struct import_table *table, size_t cell)
{
    return table->column[cell] == CSV_NO_COLUMN ? ""
                                                : csv_field(table->reader, table->column[cell]);
}

static enum status read_name(const struct import_table *table, size_t i, double *cell,
                             struct error *error)
{
    const struct import_column *column = &table->listed[i];
    const char *name = import_table_text(table, i);
    char hint[NEAREST_HINT];
    uint32_t observable = 0;
    if (column->is_observable && table->column[i] != CSV_NO_COLUMN) {
        enum status status = import_observable_read(table->reader, table->column[i], table->abi,
                                                    &observable, error);
        *cell = observable;
        return status;
    }
    int found = !*name && column->n_name == 1 ? 0
                                              : words_find(name, column->names, column->n_name);
    *cell = found;
    return found >= 0 ? STATUS_OK
                      : csv_fault(table->reader, table->column[i], error,
                                  "the model has no %s '%.100s'%s", column->what, name,
                                  nearest_hint(hint, "; did you mean '", "'?", name, column->names,
                                               column->n_name));
}

static enum status read_word(const struct import_table *table, size_t i, double *cell,
                             struct error *error)
{
    const struct import_column *column = &table->listed[i];
    const char *word = import_table_text(table, i);
    for (size_t k = 0; k < column->n_word; k++)
        if (!strcasecmp(word, column->word[k].word)) {
            *cell = column->word[k].number;
            return STATUS_OK;
        }
    if (csv_parse_double(word, cell) && *cell >= 0 && *cell <= column->most &&
        *cell == floor(*cell))
        return STATUS_OK;
    *cell = NAN;
    return *word ? csv_fault(table->reader, table->column[i], error, "'%.40s' is not one of %s",
                             word, column->expected)
                 : STATUS_OK;
}

static enum status read_cell(struct import_table *table, size_t i, double *cell,
                             struct error *error)
{
    const struct import_column *column = &table->listed[i];
    size_t at = table->column[i];
    *cell = NAN;
    if (column->names)
        return read_name(table, i, cell, error);
    if (at == CSV_NO_COLUMN || column->is_text)
        return STATUS_OK;
    if (column->word)
        return read_word(table, i, cell, error);
    enum status status =
        column->check ? column->check(table->reader, at, error) : STATUS_OK;
    if (status)
        return status;
    return column->is_time
               ? import_clock_elapsed(&table->elapsed, table->reader, at, cell, error)
               : csv_number(table->reader, at, cell, error);
}

/* The row's experiment or dataset; *owner ID_NONE: there is none. */
static enum status find_owner(struct import_table *table, uint32_t *owner, struct error *error)
{
    struct import_owners *owners = table->owners;
    const struct import_owner_columns *of = &table->owner;
    const bool is_any = table->ownership == IMPORT_BY_ANY;
    *owner = ID_NONE;
    if (table->ownership == IMPORT_BY_NOBODY)
        return STATUS_OK;
    const char *only = owners->dataset.n && !is_any ? owners->dataset.id[0] : "data";
    const char *dataset = of->dataset == CSV_NO_COLUMN ? only
                                                       : csv_field(table->reader, of->dataset);
    const char *experiment =
        of->experiment == CSV_NO_COLUMN ? "" : csv_field(table->reader, of->experiment);
    if (table->ownership == IMPORT_BY_DATASET)
        *owner = id_table_find(&owners->dataset, dataset);
    else if (is_any && !*dataset)
        return csv_fault(table->reader, of->dataset, error, "the dataset's id is missing");
    else if (is_any && !*experiment && of->experiment != CSV_NO_COLUMN)
        return csv_fault(table->reader, of->experiment, error, "the experiment's id is missing");
    else
        *owner = is_any ? import_owner_add(owners, dataset, experiment)
                        : import_owner_find(owners, dataset, experiment);
    return *owner == ID_NO_MEMORY ? error_set(error, STATUS_NO_MEMORY,
                                              "out of memory for %u datasets", owners->dataset.n)
                                  : STATUS_OK;
}

/* A row that has slipped does not reach `row`. */
static enum status read_row(struct import_table *table, struct error *error)
{
    const uint64_t n_slip = table->slips.n;
    uint32_t owner;
    bool holds = true;
    enum status status = STATUS_OK;
    if (table->where)
        status = import_slips_take(&table->slips, import_where_holds(table->where, table->reader,
                                                                     &holds, error), error);
    if (status || !holds || table->slips.n > n_slip)
        return status;
    status = import_slips_take(&table->slips, find_owner(table, &owner, error), error);
    /* A row without an owner is left out, whatever it holds; whose a plate's is, `row` finds. */
    bool is_read = table->ownership == IMPORT_BY_NOBODY || table->is_made || owner != ID_NONE;
    for (size_t i = 0; i < table->n && !status && is_read; i++)
        status = import_slips_take(&table->slips, read_cell(table, i, &table->cell[i], error),
                                   error);
    if (status || table->slips.n > n_slip)
        return status;
    table->n_unused += owner == ID_NONE;
    return import_slips_take(&table->slips, table->row(table, owner, table->context, error),
                             error);
}

enum status import_table_read(struct import_table *table, struct error *error)
{
    uint64_t n_row = 0;
    bool more = true;
    enum status status = import_lacks_end(&table->lacks, table->reader, error);
    if (table->where)
        table->where->unit = table->elapsed.unit;
    if (!status && table->where)
        status = import_where_begin(table->where, table->options, table->reader, table->path,
                                    error);
    if (!status)
        status = see_others(table, error);
    if (status)
        return status;
    for (; !(status = csv_next(table->reader, &more, error)) && more; n_row++)
        if ((status = read_row(table, error)))
            break;
    status = import_slips_take(&table->slips, status, error);
    status = import_slips_end(&table->slips, status, error);
    if (!status) {
        import_say_reading(table->options, table->reader, table->path);
        import_clock_say(&table->elapsed, table->path, table->options);
    }
    if (!status && table->ownership == IMPORT_BY_EXPERIMENT && n_row > 0 &&
        table->n_unused == n_row)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: none of its rows belongs to a dataset%s %s: are the ids the same?",
                           table->path, table->owners->has_experiments ? " and an experiment" : "",
                           import_which(table->options));
    return status;
}

void import_table_close(struct import_table *table)
{
    csv_close(table->reader);
    free(table->listed);
    free(table->column);
    free(table->cell);
    free(table->is_used);
}
