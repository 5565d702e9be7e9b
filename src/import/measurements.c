/* Reads the table of measurements of `stiffit import`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/format.h"
#include "import/observable.h"
#include "import/table.h"
#include "import/tables.h"
#include "import/well.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cells of one measurement of a row. */
struct cells {
    size_t of[MEASUREMENT_line]; /* NO_CELL: none is listed */
    uint32_t observable;         /* of the wide form; else UINT32_MAX */
    uint32_t owner;              /* of a column of a well; else ID_NONE: the row's */
};
#define NO_CELL SIZE_MAX

static struct cells no_cells(void)
{
    struct cells cells = {.observable = UINT32_MAX, .owner = ID_NONE};
    for (int c = 0; c < MEASUREMENT_line; c++)
        cells.of[c] = NO_CELL;
    return cells;
}

/* The table of measurements while it is read. */
struct reading {
    const struct model *model;
    struct import_rows *rows;
    /* The measurements of a row: one, or in the wide form that of each observable, or that of each
     * dataset with a column. Empty cells are none where a row has several. */
    struct cells *cells;
    size_t n, room;
    bool has_several, has_wells;
    struct csv_lines hashes; /* rows that begin with # */
};

static enum status check_value(const struct csv_reader *reader, size_t column, struct error *error)
{
    return import_check_value(reader, column, "'censored'", error);
}

/* As in Monolix's and nlmixr's CENS, or words. */
static const struct import_word censored_words[] = {{"0", 0}, {"none", 0}, {"1", 1}, {"left", 1},
                                                    {"-1", -1}, {"right", -1}};
static const struct import_word side_words[] = {{"0", 0}, {"-1", -1}, {"before", -1}, {"1", 1},
                                                {"after", 1}};

/* What cells are that are not simply numbers, and which columns are needed. */
static const struct import_column special[MEASUREMENT_line] = {
    [MEASUREMENT_time] = {.is_needed = true, .is_time = true},
    [MEASUREMENT_value] = {.is_needed = true, .check = check_value},
    [MEASUREMENT_observable] = {.what = "observable"},
    [MEASUREMENT_censored] = {.word = censored_words,
                              .n_word = sizeof censored_words / sizeof *censored_words,
                              .expected = "0 or none, 1 or left (the measurement lies below its "
                                          "value), -1 or right (above it)"},
    [MEASUREMENT_side] = {.word = side_words,
                          .n_word = sizeof side_words / sizeof *side_words,
                          .most = INT8_MAX,
                          .expected = "-1 or before (all that happens at this time), 1 or after "
                                      "(it), 0 (before doses, after everything else), 2 to 127 "
                                      "(after doses of a smaller side)"}};

/* Lists a column like that of measurements, which may have another name. */
static enum status list_as(struct import_table *table, const char *prefix, const char *name,
                           int like, size_t *cell, struct error *error)
{
    const struct reading *reading = table->context;
    struct import_column column = special[like];
    column.prefix = prefix;
    column.name = name ? name : measurement_columns[like].name;
    if (like == MEASUREMENT_observable) {
        column.names = reading->model->abi.observable_name;
        column.n_name = reading->model->abi.n_observable;
        column.is_observable = true;
    }
    *cell = table->n;
    return import_table_list(table, &column, 1, error);
}

static bool has_column(const struct import_table *table, const char *name)
{
    return csv_find_column(table->reader, name) != CSV_NO_COLUMN;
}

static enum status no_memory(const struct import_table *table, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the columns of %s", table->path);
}

/* Another measurement of each row, whose cells so far are those of `like`. */
static struct cells *add_cells(struct reading *reading, const struct cells *like)
{
    if (!array_grow(&reading->cells, reading->n, &reading->room, sizeof *reading->cells))
        return NULL;
    reading->cells[reading->n] = *like;
    return &reading->cells[reading->n++];
}

/* A table of another format must be called that. */
static enum status refuse_formats(const struct import_table *table, struct error *error)
{
    const struct import_format *const *formats = table->options->formats;
    for (size_t i = 0; i < N_IMPORT_FORMAT && !has_column(table, "value"); i++) {
        size_t n = 0;
        for (const char *const *name = formats[i]->column; *name; name++)
            n += has_column(table, *name);
        if (n >= 2)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: there is no column 'value'; with its other columns the table "
                             "looks like one in %s: say --%s",
                             table->path, formats[i]->style, formats[i]->name);
    }
    return STATUS_OK;
}

/* In the wide form a row has all observables, so that a column 'observable' is a mistake. */
static enum status refuse_two_forms(const struct import_table *table,
                                    const struct stiffit_model *abi, struct error *error)
{
    const char *column = measurement_columns[MEASUREMENT_observable].name;
    if (!has_column(table, column) || import_observable_find(abi, column) >= 0)
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s: there is a column '%s', but no column 'value': name the column of the "
                     "measurements 'value'; or, if each observable has its own, leave out '%s'",
                     table->path, column, column);
}

/* The wide form: "y", "sigma_y", "censored_y", "limit_y". */
static enum status list_wide(struct import_table *table, const struct cells *common,
                             struct error *error)
{
    static const struct { int column; const char *prefix;
    } parts[] = {{MEASUREMENT_value, NULL},
                 {MEASUREMENT_sigma, "sigma_"},
                 {MEASUREMENT_censored, "censored_"},
                 {MEASUREMENT_limit, "limit_"}};
    struct reading *reading = table->context;
    const struct stiffit_model *abi = &reading->model->abi;
    enum status status = refuse_two_forms(table, abi, error);
    for (uint32_t k = 0; k < abi->n_observable && !status; k++) {
        const char *name = abi->observable_name[k];
        if (!has_column(table, name))
            continue;
        struct cells *cells = add_cells(reading, common);
        if (!cells)
            return no_memory(table, error);
        cells->observable = k;
        for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
            size_t cell;
            status = list_as(table, parts[i].prefix, name, parts[i].column, &cell, error);
            if (!status && table->column[cell] != CSV_NO_COLUMN) /* else that of all observables */
                cells->of[parts[i].column] = cell;
        }
    }
    reading->has_several = true;
    return status;
}

static enum status say_owners(const struct import_table *table, struct error *error)
{
    if (table->owner.dataset == CSV_NO_COLUMN && !*csv_column_name(table->reader, 0))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: the first column has no name and there is no column 'dataset': "
                         "name it 'dataset' if it says which dataset a row belongs to, or leave it "
                         "out",
                         table->path);
    if (table->owner.dataset == CSV_NO_COLUMN)
        table->options->say("note: there is no column 'dataset': all rows are one dataset, 'data'");
    return STATUS_OK;
}

/* Without a column 'value', a column named like an observable tells the wide form. */
static bool is_wide(const struct import_table *table, const struct stiffit_model *abi)
{
    bool any = false;
    for (uint32_t k = 0; k < abi->n_observable; k++)
        any = any || has_column(table, abi->observable_name[k]);
    return any && !has_column(table, measurement_columns[MEASUREMENT_value].name);
}

static enum status list_columns(struct import_table *table, struct error *error)
{
    struct reading *reading = table->context;
    struct cells cells = no_cells();
    const bool wide = is_wide(table, &reading->model->abi);
    enum status status = refuse_formats(table, error);
    for (int c = 0; c < MEASUREMENT_line && !status; c++)
        if (!wide || (c != MEASUREMENT_value && c != MEASUREMENT_observable))
            status = list_as(table, NULL, NULL, c, &cells.of[c], error);
    if (!status && wide)
        status = list_wide(table, &cells, error);
    else if (!status && !add_cells(reading, &cells))
        status = no_memory(table, error);
    return status ? status : say_owners(table, error);
}

/* --datasets-in-columns: columns beside the time and what belongs to rows are datasets; if most of
 * them are called like wells, only those are. */
static enum status list_wells(struct import_table *table, struct error *error)
{
    static const int common[] = {MEASUREMENT_time, MEASUREMENT_observable, MEASUREMENT_side};
    struct reading *reading = table->context;
    const struct csv_reader *reader = table->reader;
    struct cells cells = no_cells();
    size_t n_named = 0, n_well = 0;
    enum status status = STATUS_OK;
    reading->has_several = reading->has_wells = true;
    table->ownership = IMPORT_BY_NOBODY;
    table->owner = (struct import_owner_columns){CSV_NO_COLUMN, CSV_NO_COLUMN};
    for (size_t i = 0; i < sizeof common / sizeof *common && !status; i++)
        status = list_as(table, NULL, NULL, common[i], &cells.of[common[i]], error);
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        const char *name = csv_column_name(reader, j);
        n_named += !table->is_used[j] && *name;
        n_well += !table->is_used[j] && well_of(name);
    }
    for (size_t j = 0; j < csv_n_column(reader) && !status; j++) {
        const char *name = csv_column_name(reader, j);
        if (table->is_used[j] || !*name || (2 * n_well > n_named && !well_of(name)))
            continue;
        struct cells *well = add_cells(reading, &cells);
        if (!well || (well->owner = import_owner_add(table->owners, name, "")) == ID_NO_MEMORY)
            return no_memory(table, error);
        status = list_as(table, NULL, name, MEASUREMENT_value,
                         &well->of[MEASUREMENT_value], error);
    }
    return status || reading->n
               ? status
               : error_set(error, STATUS_BAD_PROBLEM, "%s: beside the time there is no column",
                           table->path);
}

static enum status say_other(struct import_table *table, size_t j, void *context,
                             struct error *error)
{
    const struct reading *reading = context;
    const char *names[MEASUREMENT_line + 2] = {"dataset", "experiment"};
    const char *name = csv_column_name(table->reader, j);
    char hint[NEAREST_HINT];
    (void)error;
    if (csv_is_joined(table->reader, j))
        return STATUS_OK;
    if (reading->has_wells) {
        import_say_unused_column(table->options, table->path, name,
                                 *name ? ": the others are wells" : "");
        return STATUS_OK;
    }
    for (int c = 0; c < MEASUREMENT_line; c++)
        names[c + 2] = measurement_columns[c].name;
    import_say_unused_column(table->options, table->path, name,
                             nearest_hint(hint, " (did you mean '", "'?)", name, names,
                                          MEASUREMENT_line + 2));
    return STATUS_OK;
}

/* Makes room for twice as many rows. */
static enum status widen(struct import_rows *rows, struct error *error)
{
    size_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
    void *block = malloc(measurements_bytes(MEASUREMENT_ALL, capacity));
    uint32_t *owner = realloc(rows->owner, capacity * sizeof *owner);
    rows->owner = owner ? owner : rows->owner;
    if (!block || !owner) {
        free(block);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", capacity);
    }
    struct measurements wider = measurements_place(MEASUREMENT_ALL, capacity, block);
    measurements_copy(&wider, 0, &rows->measured, 0, rows->n);
    free(rows->block);
    rows->block = block;
    rows->measured = wider;
    rows->capacity = capacity;
    return STATUS_OK;
}

enum status import_rows_begin(struct import_rows *rows, struct measurements *row,
                              struct error *error)
{
    enum status status = rows->n == rows->capacity ? widen(rows, error) : STATUS_OK;
    const struct measurements none = {0};
    if (status)
        return status;
    *row = measurements_from(&rows->measured, rows->n);
    measurements_copy(row, 0, &none, 0, 1);
    return STATUS_OK;
}

void import_rows_end(struct import_rows *rows, uint32_t owner) { rows->owner[rows->n++] = owner; }

/* As in problem/check.c: a row without a value counts as missing. */
static void check_row(const struct import_table *table, const struct cells *cells,
                      const struct measurements *row, struct import_faults *faults)
{
    const bool is_early = !(*row->time > -INFINITY); /* +infinity is the steady state */
    const struct { bool is_wrong; int column; const char *what;
    } checks[] = {
        {is_early && isnan(*row->time), MEASUREMENT_time, "the time is missing"},
        {is_early && !isnan(*row->time), MEASUREMENT_time,
         "the time is infinite, before all others"},
        {isinf(*row->value), MEASUREMENT_value,
         "the value is infinite (leave it empty if it is missing)"},
        {*row->sigma <= 0 || isinf(*row->sigma), MEASUREMENT_sigma,
         "sigma must be above 0 (leave it empty if it is not known)"},
        {*row->limit == *row->value, MEASUREMENT_limit,
         "the limit is the value: a value that is known is not censored"},
        {*row->censored > 0 && *row->limit > *row->value, MEASUREMENT_limit,
         "the limit is above the value, but the measurement lies below it (censored 1)"},
        {*row->censored < 0 && *row->limit < *row->value, MEASUREMENT_limit,
         "the limit is below the value, but the measurement lies above it (censored -1)"}};
    for (size_t i = 0; !isnan(*row->value) && i < sizeof checks / sizeof *checks; i++)
        if (checks[i].is_wrong)
            import_faults_add(faults, table->reader,
                              table->column[cells->of[checks[i].column]], checks[i].what);
}

static void put(const struct measurements *row, int column, double number)
{
    void *cell = measurements_cell(row, (enum measurement_column)column, 0);
    if (measurement_columns[column].kind == COLUMN_DOUBLE)
        *(double *)cell = number;
    else if (measurement_columns[column].kind == COLUMN_UINT32)
        *(uint32_t *)cell = (uint32_t)number;
    else
        *(int8_t *)cell = (int8_t)number;
}

static enum status add_measurement(const struct import_table *table, const struct cells *cells,
                                   uint32_t owner, struct import_rows *rows, struct error *error)
{
    struct measurements row;
    enum status status = import_rows_begin(rows, &row, error);
    if (status)
        return status;
    *row.line = (uint32_t)csv_line(table->reader);
    for (int c = 0; c < MEASUREMENT_line; c++)
        if (cells->of[c] != NO_CELL && !isnan(table->cell[cells->of[c]]))
            put(&row, c, table->cell[cells->of[c]]);
    if (cells->observable != UINT32_MAX)
        *row.observable = cells->observable;
    if (!*row.censored)
        *row.limit = NAN; /* some programs give each row one */
    check_row(table, cells, &row, &rows->faults);
    import_rows_end(rows, cells->owner == ID_NONE ? owner : cells->owner);
    return STATUS_OK;
}

static enum status read_row(struct import_table *table, uint32_t owner, void *context,
                            struct error *error)
{
    struct reading *reading = context;
    enum status status = STATUS_OK;
    if (csv_first_character(table->reader) == '#' && reading->hashes.n++ == 0)
        reading->hashes.first = csv_line(table->reader);
    for (size_t i = 0; i < reading->n && !status; i++) {
        const struct cells *cells = &reading->cells[i];
        const size_t time = cells->of[MEASUREMENT_time], value = cells->of[MEASUREMENT_value];
        if (reading->has_wells && isnan(table->cell[time]))
            return csv_fault(table->reader, table->column[time], error, "the time is missing");
        if (!reading->has_several || !isnan(table->cell[value]))
            status = add_measurement(table, cells, owner, reading->rows, error);
    }
    return status;
}

/* Ids that mean one well, "A1" and "A01", are two datasets: that is said. */
static enum status say_twins(const struct id_table *dataset, const struct import_options *options,
                             struct error *error)
{
    struct id_table seen = {.n = 0};
    uint32_t *first = malloc((dataset->n + 1) * sizeof *first);
    uint32_t n = 0, one = 0, other = 0;
    bool good = first != NULL;
    for (uint32_t d = 0; good && d < dataset->n; d++) {
        char *name = well_plain_name(dataset->id[d]);
        uint32_t at = name ? id_table_add(&seen, name) : ID_NO_MEMORY;
        free(name);
        good = at != ID_NO_MEMORY;
        if (good && at == d - n) {
            first[at] = d;
        } else if (good && n++ == 0) {
            one = first[at];
            other = d;
        }
    }
    if (good && n)
        options->say("note: %.300s: '%.100s' and '%.100s' are two datasets, though they name one "
                     "well%s",
                     options->measurements, dataset->id[one], dataset->id[other],
                     n > 1 ? "; and others" : "");
    free(first);
    id_table_fini(&seen);
    return good ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for %u datasets",
                                        dataset->n);
}

enum status import_measurements(struct import_rows *rows, const struct import_options *options,
                                const struct model *model, struct error *error)
{
    struct reading reading = {.model = model, .rows = rows};
    struct import_table table = {.options = options,
                                 .path = options->measurements,
                                 .form = options->datasets_in_columns ? FORM_WELLS : FORM_TABLE,
                                 .ownership = IMPORT_BY_ANY,
                                 .owners = &rows->owners,
                                 .abi = &model->abi,
                                 .other = say_other,
                                 .row = read_row,
                                 .context = &reading};
    struct import_where where = {.n = 0};
    bool more;
    table.where = &where;
    enum status status = import_table_open(&table, error);
    if (!status)
        status = options->datasets_in_columns && !table.is_made ? list_wells(&table, error)
                                                                : list_columns(&table, error);
    if (!status && options->experiments)
        table.owner.experiment = import_need(&table.lacks, table.reader, "experiment", "");
    rows->owners.has_experiments = !status && table.owner.experiment != CSV_NO_COLUMN;
    if (!status && options->units_row)
        status = csv_next(table.reader, &more, error);
    if (!status)
        status = import_table_read(&table, error);
    if (!status && reading.hashes.n)
        options->say("note: %.300s: %llu row%s that begin%s with # read as data, the first is line "
                     "%llu",
                     table.path, (unsigned long long)reading.hashes.n, plural(reading.hashes.n),
                     reading.hashes.n == 1 ? "s" : "", (unsigned long long)reading.hashes.first);
    if (!status && where.left_out.n)
        options->say("note: %.300s: %llu row%s left out by --where, the first is line %llu",
                     table.path, (unsigned long long)where.left_out.n, plural(where.left_out.n),
                     (unsigned long long)where.left_out.first);
    if (!status && rows->n == 0)
        status = import_where_none(&where, table.path, error);
    import_where_fini(&where);
    import_table_close(&table);
    free(reading.cells);
    return status ? status : say_twins(&rows->owners.dataset, options, error);
}

enum status import_sort(struct import_rows *rows, struct error *error)
{
    size_t n_owner = rows->owners.experiment.n;
    size_t *start = calloc(n_owner + 2, sizeof *start);
    size_t *order = malloc((rows->n + 1) * sizeof *order);
    void *block = malloc(measurements_bytes(MEASUREMENT_ALL, rows->n));
    if (!start || !order || !block) {
        free(start);
        free(order);
        free(block);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", rows->n);
    }
    /* start[e + 1] is first a count, then the place of experiment e's next row, finally the
     * first row of experiment e + 1. */
    for (size_t i = 0; i < rows->n; i++)
        start[rows->owner[i] + 2]++;
    for (size_t e = 2; e < n_owner + 2; e++)
        start[e] += start[e - 1];
    for (size_t i = 0; i < rows->n; i++)
        order[start[rows->owner[i] + 1]++] = i;
    struct measurements sorted = measurements_place(MEASUREMENT_ALL, rows->n, block);
    measurements_pick(&sorted, &rows->measured, order, rows->n);
    free(order);
    free(rows->block);
    rows->block = block;
    rows->measured = sorted;
    rows->capacity = rows->n;
    rows->first = start;
    return STATUS_OK;
}

void import_rows_fini(struct import_rows *rows)
{
    import_owners_fini(&rows->owners);
    free(rows->block);
    free(rows->owner);
    free(rows->first);
    memset(rows, 0, sizeof *rows);
}
