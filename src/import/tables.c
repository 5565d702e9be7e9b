/* Reads the table of measurements of `stiffit import`; faults are reported with file, line and
 * column.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/notes.h"
#include "import/open.h"
#include "import/tables.h"
#include "import/well.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Indices of the table's columns, or CSV_NO_COLUMN. The wide form has columns of its own for
 * each observable: then n_observable > 0, and a row of the table is a measurement of each. */
struct measurement_columns {
    struct import_owner_columns owner;
    size_t of[N_MEASUREMENT];
    uint32_t n_observable;
    /* `of` with an observable's value, sigma, censored and limit; free it */
    size_t (*wide)[N_MEASUREMENT];
    /* with --datasets-in-columns the owner of each column, or ID_NONE; NULL: without; free it */
    uint32_t *well;
};

/* A table of NONMEM's style must be called that. */
static enum status refuse_nonmem(const struct csv_reader *reader, const char *path,
                                 struct error *error)
{
    static const char *const typical[] = {"DV", "AMT", "EVID", "MDV", "CMT", "ADDL"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof typical / sizeof *typical; i++)
        n += csv_find_column(reader, typical[i]) != CSV_NO_COLUMN;
    if (n < 2 || csv_find_column(reader, "value") != CSV_NO_COLUMN)
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s: there is no column 'value'; with its other columns the table looks like "
                     "one in NONMEM's style: say --nonmem",
                     path);
}

/* Without a column 'value', a column named like an observable tells the wide form: "y",
 * "sigma_y", "censored_y", "limit_y". */
static enum status find_wide(const struct csv_reader *reader, const struct model *model,
                             struct measurement_columns *columns, struct error *error)
{
    static const struct { int column; const char *prefix;
    } parts[] = {{MEASUREMENT_value, ""},
                 {MEASUREMENT_sigma, "sigma_"},
                 {MEASUREMENT_censored, "censored_"},
                 {MEASUREMENT_limit, "limit_"}};
    uint32_t n_observable = model->abi.n_observable, n_found = 0;
    char name[NAME_BYTES + 20];
    if (csv_find_column(reader, "value") != CSV_NO_COLUMN)
        return STATUS_OK;
    if (!(columns->wide = calloc(n_observable, sizeof *columns->wide)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u observables", n_observable);
    for (uint32_t k = 0; k < n_observable; k++) {
        memcpy(columns->wide[k], columns->of, sizeof columns->of);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            snprintf(name, sizeof name, "%s%s", parts[i].prefix, model->abi.observable_name[k]);
            size_t column = csv_find_column(reader, name);
            if (i == 0 || column != CSV_NO_COLUMN)
                columns->wide[k][parts[i].column] = column;
        }
        n_found += columns->wide[k][MEASUREMENT_value] != CSV_NO_COLUMN;
    }
    columns->n_observable = n_found ? n_observable : 0;
    return STATUS_OK;
}

static bool is_used(const struct csv_reader *reader, const struct measurement_columns *columns,
                    size_t j)
{
    bool used = csv_is_joined(reader, j) || j == columns->owner.dataset ||
                j == columns->owner.experiment;
    for (int c = 0; c < N_MEASUREMENT; c++) {
        used = used || j == columns->of[c];
        for (uint32_t k = 0; k < columns->n_observable; k++)
            used = used || (j == columns->wide[k][c] &&
                            columns->wide[k][MEASUREMENT_value] != CSV_NO_COLUMN);
    }
    return used;
}

/* Columns beside the time and what belongs to rows are datasets; if most of them are called like
 * wells, only those are. */
static enum status find_wells(const struct csv_reader *reader, const struct import_options *options,
                              const struct model *model, struct measurement_columns *columns,
                              struct import_owners *owners, struct error *error)
{
    size_t n = csv_n_column(reader), n_named = 0, n_well = 0;
    columns->owner = (struct import_owner_columns){CSV_NO_COLUMN, CSV_NO_COLUMN};
    for (int c = 0; c < N_MEASUREMENT; c++)
        columns->of[c] = CSV_NO_COLUMN;
    columns->of[MEASUREMENT_observable] = csv_find_column(reader, "observable");
    columns->of[MEASUREMENT_side] = csv_find_column(reader, "side");
    enum status status = csv_need_column(reader, "time", &columns->of[MEASUREMENT_time], error);
    if (status)
        return status;
    if (columns->of[MEASUREMENT_observable] == CSV_NO_COLUMN && model->abi.n_observable > 1)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: a column 'observable' is needed: the model has %u of them",
                         options->measurements, model->abi.n_observable);
    if (!(columns->well = malloc(n * sizeof *columns->well)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu columns", n);
    for (size_t j = 0; j < n; j++) {
        bool is_row = j == columns->of[MEASUREMENT_time] ||
                      j == columns->of[MEASUREMENT_observable] ||
                      j == columns->of[MEASUREMENT_side] || !*csv_column_name(reader, j);
        columns->well[j] = is_row ? ID_NONE : 0;
        n_named += !is_row;
        n_well += !is_row && well_of(csv_column_name(reader, j)) != NULL;
    }
    for (size_t j = 0; j < n; j++) {
        const char *name = csv_column_name(reader, j);
        bool is_left_out = columns->well[j] != ID_NONE && 2 * n_well > n_named && !well_of(name);
        if (is_left_out || !*name)
            import_say_unused_column(options, options->measurements, name,
                                     *name ? ": the others are wells" : "");
        columns->well[j] = columns->well[j] == ID_NONE || is_left_out
                               ? ID_NONE
                               : import_owner_add(owners, name, "");
        if (columns->well[j] == ID_NO_MEMORY)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for %u datasets",
                             owners->dataset.n);
    }
    return owners->dataset.n
               ? STATUS_OK
               : error_set(error, STATUS_BAD_PROBLEM, "%s: beside the time there is no column",
                           options->measurements);
}

static enum status find_columns(const struct csv_reader *reader,
                                const struct import_options *options, const struct model *model,
                                struct measurement_columns *columns, struct error *error)
{
    const char *path = options->measurements;
    char hint[NEAREST_HINT];
    /* all but the line, which is not a column of tables */
    const char *names[N_MEASUREMENT + 1] = {"dataset", "experiment"};
    for (int c = 0; c < MEASUREMENT_line; c++) {
        names[c + 2] = measurement_columns[c].name;
        columns->of[c] = csv_find_column(reader, measurement_columns[c].name);
    }
    columns->of[MEASUREMENT_line] = CSV_NO_COLUMN;
    enum status status = refuse_nonmem(reader, path, error);
    if (!status)
        status = csv_need_column(reader, "time", &columns->of[MEASUREMENT_time], error);
    if (!status)
        status = find_wide(reader, model, columns, error);
    if (!status && !columns->n_observable)
        status = csv_need_column(reader, "value", &columns->of[MEASUREMENT_value], error);
    if (status)
        return status;
    columns->owner.dataset = csv_find_column(reader, "dataset");
    if (columns->owner.dataset == CSV_NO_COLUMN)
        columns->owner.dataset = csv_find_column(reader, "id");
    columns->owner.experiment = csv_find_column(reader, "experiment");
    if (columns->owner.dataset == CSV_NO_COLUMN && !*csv_column_name(reader, 0))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: the first column has no name and there is no column 'dataset': "
                         "name it 'dataset' if it says which dataset a row belongs to, or leave it "
                         "out",
                         path);
    if (columns->owner.dataset == CSV_NO_COLUMN)
        options->say("note: there is no column 'dataset': all rows are one dataset, 'data'");
    if (columns->of[MEASUREMENT_observable] == CSV_NO_COLUMN && model->abi.n_observable > 1 &&
        !columns->n_observable)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: a column 'observable' is needed: the model has %u of them", path,
                         model->abi.n_observable);
    for (size_t j = 0; j < csv_n_column(reader); j++)
        if (!is_used(reader, columns, j))
            import_say_unused_column(options, path, csv_column_name(reader, j),
                                     nearest_hint(hint, " (did you mean '", "'?)",
                                                  csv_column_name(reader, j), names,
                                                  N_MEASUREMENT + 1));
    return STATUS_OK;
}

static enum status find_observable(const struct csv_reader *reader, size_t column,
                                   const struct model *model, uint32_t *observable,
                                   struct error *error)
{
    const char *name = csv_field(reader, column);
    int found = model_find_observable(model, name);
    if (found >= 0) {
        *observable = (uint32_t)found;
        return STATUS_OK;
    }
    char hint[NEAREST_HINT];
    return csv_fault(reader, column, error, "the model has no observable '%.100s'%s", name,
                     nearest_hint(hint, "; did you mean '", "'?", name, model->abi.observable_name,
                                  model->abi.n_observable));
}

/* Accepts 0, 1 and -1 as in Monolix's and nlmixr's CENS, or words; an empty cell is not
 * censored. */
static enum status find_censored(const struct csv_reader *reader, size_t column, int8_t *censored,
                                 struct error *error)
{
    static const struct { const char *word; int8_t side; } words[] = {
        {"", 0}, {"0", 0}, {"none", 0}, {"1", 1}, {"left", 1}, {"-1", -1}, {"right", -1}};
    const char *field = csv_field(reader, column);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcasecmp(field, words[k].word)) {
            *censored = words[k].side;
            return STATUS_OK;
        }
    return csv_fault(reader, column, error,
                     "'%.40s' is not one of 0 or none, 1 or left (the measurement lies below its "
                     "value), -1 or right (above it)",
                     field);
}

static enum status find_side(const struct csv_reader *reader, size_t column, int8_t *side,
                             struct error *error)
{
    static const struct { const char *word; int8_t side; } words[] = {
        {"", 0}, {"0", 0}, {"-1", -1}, {"before", -1}, {"1", 1}, {"after", 1}};
    const char *field = csv_field(reader, column);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcasecmp(field, words[k].word)) {
            *side = words[k].side;
            return STATUS_OK;
        }
    return csv_fault(reader, column, error,
                     "'%.40s' is not one of -1 or before (all that happens at this time), 1 or "
                     "after (it), 0 (before doses, after everything else)",
                     field);
}

/* As in problem_check.c: a row without a value counts as missing. */
static void check_row(const struct csv_reader *reader, const size_t of[N_MEASUREMENT],
                      const struct measurements *row, struct import_faults *faults)
{
    if (isnan(*row->value))
        return;
    if (!(*row->time > -INFINITY)) /* +infinity is the steady state */
        import_faults_add(faults, reader, of[MEASUREMENT_time],
                          isnan(*row->time) ? "the time is missing"
                                            : "the time is infinite, before all others");
    if (isinf(*row->value))
        import_faults_add(faults, reader, of[MEASUREMENT_value],
                          "the value is infinite (leave it empty if it is missing)");
    if (*row->sigma <= 0 || isinf(*row->sigma))
        import_faults_add(faults, reader, of[MEASUREMENT_sigma],
                          "sigma must be above 0 (leave it empty if it is not known)");
    if (*row->limit == *row->value)
        import_faults_add(faults, reader, of[MEASUREMENT_limit],
                          "the limit is the value: a value that is known is not censored");
    if (*row->censored * (*row->limit - *row->value) > 0)
        import_faults_add(faults, reader, of[MEASUREMENT_limit],
                          *row->censored > 0 ? "the limit is above the value, but the measurement "
                                               "lies below it (censored 1)"
                                             : "the limit is below the value, but the measurement "
                                               "lies above it (censored -1)");
}

static enum status check_value(const struct csv_reader *reader, size_t column, struct error *error)
{
    const char *value = csv_field(reader, column);
    if (*value != '<' && *value != '>')
        return STATUS_OK;
    return csv_fault(reader, column, error,
                     "'%.40s': write the limit alone, and %s in a column 'censored'", value,
                     *value == '<' ? "1 (it lies below)" : "-1 (it lies above)");
}

/* A number, unless it is a column of words. */
static enum status read_cell(const struct csv_reader *reader, size_t column, int which,
                             const struct model *model, const struct measurements *row,
                             struct error *error)
{
    if (which == MEASUREMENT_observable)
        return find_observable(reader, column, model, row->observable, error);
    if (which == MEASUREMENT_censored)
        return find_censored(reader, column, row->censored, error);
    if (which == MEASUREMENT_side)
        return find_side(reader, column, row->side, error);
    enum status status =
        which == MEASUREMENT_value ? check_value(reader, column, error) : STATUS_OK;
    return status ? status
                  : csv_number(reader, column,
                               measurements_cell(row, (enum measurement_column)which, 0), error);
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

/* observable: of the wide form, else UINT32_MAX. */
static enum status read_measurement(const struct csv_reader *reader, const size_t of[N_MEASUREMENT],
                                    uint32_t observable, const struct model *model, uint32_t owner,
                                    struct import_rows *rows, struct error *error)
{
    struct measurements row;
    enum status status = import_rows_begin(rows, &row, error);
    if (status)
        return status;
    *row.line = (uint32_t)csv_line(reader);
    uint64_t n_slip = rows->slips.n;
    for (int c = 0; c < N_MEASUREMENT && !status; c++)
        if (of[c] != CSV_NO_COLUMN)
            status = import_slips_take(&rows->slips,
                                       read_cell(reader, of[c], c, model, &row, error), error);
    if (status || rows->slips.n > n_slip)
        return status;
    if (observable != UINT32_MAX)
        *row.observable = observable;
    if (!*row.censored)
        *row.limit = NAN; /* some programs give each row one */
    check_row(reader, of, &row, &rows->faults);
    import_rows_end(rows, owner);
    return STATUS_OK;
}

/* An empty cell of the wide form is no measurement. */
static bool is_empty(const struct csv_reader *reader, size_t column)
{
    return column == CSV_NO_COLUMN || csv_is_missing(reader, column);
}

/* A row of --datasets-in-columns: a measurement of each dataset. */
static enum status read_wells(const struct csv_reader *reader,
                              const struct measurement_columns *columns, const struct model *model,
                              struct import_rows *rows, struct error *error)
{
    size_t of[N_MEASUREMENT];
    enum status status = STATUS_OK;
    memcpy(of, columns->of, sizeof of);
    if (csv_is_missing(reader, of[MEASUREMENT_time]))
        return csv_fault(reader, of[MEASUREMENT_time], error, "the time is missing");
    for (size_t j = 0; j < csv_n_column(reader) && !status; j++) {
        of[MEASUREMENT_value] = j;
        if (columns->well[j] != ID_NONE && !is_empty(reader, j))
            status = read_measurement(reader, of, UINT32_MAX, model, columns->well[j], rows, error);
    }
    return status;
}

static enum status read_row(const struct csv_reader *reader,
                            const struct measurement_columns *columns, const struct model *model,
                            struct import_rows *rows, struct error *error)
{
    const struct import_owner_columns *of = &columns->owner;
    const char *id = of->dataset == CSV_NO_COLUMN ? "data" : csv_field(reader, of->dataset);
    const char *experiment =
        of->experiment == CSV_NO_COLUMN ? "" : csv_field(reader, of->experiment);
    if (!*id)
        return csv_fault(reader, of->dataset, error, "the dataset's id is missing");
    if (!*experiment && of->experiment != CSV_NO_COLUMN)
        return csv_fault(reader, of->experiment, error, "the experiment's id is missing");
    uint32_t owner = import_owner_add(&rows->owners, id, experiment);
    if (owner == ID_NO_MEMORY)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u datasets",
                         rows->owners.dataset.n);
    if (!columns->n_observable)
        return read_measurement(reader, columns->of, UINT32_MAX, model, owner, rows, error);
    enum status status = STATUS_OK;
    for (uint32_t k = 0; k < columns->n_observable && !status; k++)
        if (!is_empty(reader, columns->wide[k][MEASUREMENT_value]))
            status = read_measurement(reader, columns->wide[k], k, model, owner, rows, error);
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
    const char *path = options->measurements;
    struct csv_reader *reader = NULL;
    struct measurement_columns columns = {.wide = NULL};
    bool more = true;
    bool is_list;
    enum status status =
        import_open(&reader, path, options->datasets_in_columns ? FORM_WELLS : FORM_TABLE, options,
                    &model->abi, &is_list, error);
    if (!status)
        status = options->datasets_in_columns && !is_list
                     ? find_wells(reader, options, model, &columns, &rows->owners, error)
                     : find_columns(reader, options, model, &columns, error);
    if (!status && options->experiments)
        status = csv_need_column(reader, "experiment", &columns.owner.experiment, error);
    rows->owners.has_experiments = !status && columns.owner.experiment != CSV_NO_COLUMN;
    if (!status && options->units_row)
        status = csv_next(reader, &more, error);
    struct csv_lines hashes = {0, 0};
    while (!status) {
        status = csv_next(reader, &more, error);
        if (status || !more)
            break;
        if (csv_first_character(reader) == '#' && hashes.n++ == 0)
            hashes.first = csv_line(reader);
        status = columns.well ? read_wells(reader, &columns, model, rows, error)
                              : read_row(reader, &columns, model, rows, error);
        status = import_slips_take(&rows->slips, status, error);
    }
    status = status == STATUS_BAD_PROBLEM ? import_slips_take(&rows->slips, status, error) : status;
    status = import_slips_end(&rows->slips, status, error);
    if (!status)
        import_say_reading(options, reader, path);
    if (!status && hashes.n)
        options->say("note: %.300s: %llu row%s that begin%s with # read as data, the first is line "
                     "%llu",
                     path, (unsigned long long)hashes.n, plural(hashes.n), hashes.n == 1 ? "s" : "",
                     (unsigned long long)hashes.first);
    csv_close(reader);
    free(columns.wide);
    free(columns.well);
    if (!status && rows->n == 0)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: there are no measurements below its header", path);
    return status ? status : say_twins(&rows->owners.dataset, options, error);
}

enum status import_sort(struct import_rows *rows, size_t **first, struct error *error)
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
    *first = start;
    return STATUS_OK;
}

void import_rows_fini(struct import_rows *rows)
{
    import_owners_fini(&rows->owners);
    free(rows->block);
    free(rows->owner);
    memset(rows, 0, sizeof *rows);
}
