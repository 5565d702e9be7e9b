/* The table of substitutes, and the parameters of the new file, which then need not be the model's.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/happenings.h"
#include "import/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETER, BY, VALUE, TIME, MEASUREMENT };
static const char *const columns[] = {"parameter", "by", "value", "time", "measurement", NULL};

struct reading {
    struct import_substitutes *into;
    const struct model *model;
    const struct import_rows *rows;
    const size_t *first;
};

/* The place within its experiment of the measurement on a line of their table. */
static enum status find_measurement(const struct import_table *table, const struct reading *reading,
                                    uint32_t owner, uint32_t *place, struct error *error)
{
    double line = NAN;
    enum status status = import_table_number(table, MEASUREMENT, &line, error);
    if (status || isnan(line))
        return status;
    size_t low = reading->first[owner], high = reading->first[owner + 1];
    const uint32_t *lines = reading->rows->measured.line; /* which increase within an experiment */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines[middle] < line)
            low = middle + 1;
        else
            high = middle;
    }
    *place = (uint32_t)(low - reading->first[owner]);
    if (low + 1 < reading->first[owner + 1] && lines[low] == line && lines[low + 1] == line)
        return csv_fault(table->reader, table->column[MEASUREMENT], error,
                         "line %g of the table of measurements has several: "
                         "write that table in long form",
                         line);
    return low < reading->first[owner + 1] && lines[low] == line
               ? STATUS_OK
               : csv_fault(table->reader, table->column[MEASUREMENT], error,
                           "no measurement of this %s is on line "
                           "%g of its table",
                           table->owners->has_experiments ? "experiment" : "dataset", line);
}

static enum status read_row(const struct import_table *table, uint32_t owner, void *context,
                            struct error *error)
{
    const struct reading *reading = context;
    struct import_substitutes *into = reading->into;
    const struct stiffit_model *abi = &reading->model->abi;
    struct substitute given = substitute_none;
    const char *by =
        table->column[BY] == CSV_NO_COLUMN ? "" : csv_field(table->reader, table->column[BY]);
    enum status status = import_table_name(table, PARAMETER, "parameter", abi->parameter_name,
                                           abi->n_parameter, &given.parameter, error);
    if (!status)
        status = import_table_number(table, VALUE, &given.value, error);
    if (!status)
        status = import_table_number(table, TIME, &given.time, error);
    if (status || owner == ID_NONE)
        return status;
    status = find_measurement(table, reading, owner, &given.row, error);
    if (!status && (*by != '\0') == isfinite(given.value))
        status = csv_fault(table->reader, table->column[PARAMETER], error,
                           "needs either a parameter in the column 'by' or a "
                           "number in the column 'value'");
    if (!status && given.row != EXPERIMENT_NONE && given.time > -INFINITY)
        status = csv_fault(table->reader, table->column[TIME], error,
                           "what holds for one measurement has no time");
    if (!status && *by && (given.by = id_table_add(&into->by, by)) == ID_NO_MEMORY)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %u parameters", into->by.n);
    if (!status && !array_grow(&into->row, into->n, &into->room, sizeof *into->row))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu substitutes", into->n);
    if (!status)
        into->row[into->n++] = (struct import_substitute){owner, csv_line(table->reader), given};
    return status;
}

enum status import_substitutes_read(struct import_substitutes *into,
                                    const struct import_options *options,
                                    const struct import_rows *rows, const size_t *first,
                                    const struct model *model, struct error *error)
{
    struct reading reading = {.into = into, .model = model, .rows = rows, .first = first};
    struct import_table table = {.options = options, .path = options->substitutes, .name = columns,
                                 .n_needed = 1, .owners = &rows->owners, .row = read_row,
                                 .context = &reading};
    return import_table_read(&table, &into->n_unused, error);
}

static int compare(const void *a, const void *b)
{
    const struct import_substitute *left = a, *right = b;
    const struct substitute *x = &left->given, *y = &right->given;
    if (left->owner != right->owner)
        return left->owner < right->owner ? -1 : 1;
    if (x->parameter != y->parameter)
        return x->parameter < y->parameter ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->time < y->time ? -1 : x->time > y->time;
}

enum status import_substitutes_sort(struct import_substitutes *into, const char *path,
                                    const double *t0, size_t n_experiment, struct error *error)
{
    size_t n = into->n;
    into->first = calloc(n_experiment + 1, sizeof *into->first);
    into->sorted = malloc((n + 1) * sizeof *into->sorted);
    if (!into->first || !into->sorted)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu substitutes", n);
    if (n)
        qsort(into->row, n, sizeof *into->row, compare);
    for (size_t i = 0; i < n; i++) {
        const struct import_substitute *row = &into->row[i];
        const struct substitute *given = &row->given;
        into->has_times = into->has_times || given->time > -INFINITY;
        into->has_rows = into->has_rows || given->row != EXPERIMENT_NONE;
        if (i > 0 && compare(row - 1, row) == 0) {
            uint64_t line[2] = {row->line, row[-1].line};
            bool is_later = line[0] > line[1];
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s:%llu: the parameter has a second substitute for the same %s, "
                             "after that of line %llu",
                             path, (unsigned long long)line[!is_later],
                             given->row != EXPERIMENT_NONE ? "measurement" : "time",
                             (unsigned long long)line[is_later]);
        }
        if (given->time > -INFINITY && !(given->time > t0[row->owner] && given->time < INFINITY))
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s:%llu: column 'time': must be after the initial time, %g, and "
                             "finite; or empty: from the beginning",
                             path, (unsigned long long)row->line, t0[row->owner]);
        into->sorted[i] = *given;
        if (given->by != EXPERIMENT_NUMBER)
            into->sorted[i].by = into->place[given->by];
        into->first[row->owner + 1] = i + 1;
    }
    for (size_t e = 0; e < n_experiment; e++)
        into->first[e + 1] = into->first[e + 1] ? into->first[e + 1] : into->first[e];
    return STATUS_OK;
}

/* An array of the descriptor with an entry for each parameter, as one for those of the file;
 * from[j]: the model's. */
static bool take_array(struct arena *arena, const void **array, size_t size, const uint32_t *from,
                       size_t n)
{
    const char *old = *array;
    char *new = old ? arena_alloc(arena, n * size + 1) : NULL;
    for (size_t j = 0; new && j < n; j++)
        memcpy(new + j * size, old + from[j] * size, size);
    *array = new;
    return new || !old;
}

/* Which parameters of the model the file needs, and which others stand for them. from[j]: whose
 * start, bounds, scale and prior parameter j of the file has. */
static size_t choose(struct import_substitutes *into, const struct model *model,
                     size_t n_experiment, uint32_t *from, const char **name, uint32_t *count)
{
    const struct stiffit_model *abi = &model->abi;
    size_t n = 0;
    for (size_t i = 0; i < into->n; i++) {
        /* how many experiments have another one from the beginning to the end */
        const struct substitute *given = &into->row[i].given;
        count[given->parameter] += given->row == EXPERIMENT_NONE && given->time == -INFINITY;
    }
    for (uint32_t i = 0; i < abi->n_parameter; i++) {
        uint32_t by = id_table_find(&into->by, abi->parameter_name[i]);
        if (count[i] >= n_experiment && by == ID_NONE)
            continue;
        if (by != ID_NONE)
            into->place[by] = (uint32_t)n;
        name[n] = abi->parameter_name[i];
        from[n++] = i;
    }
    for (size_t i = 0; i < into->n; i++) {
        const struct substitute *given = &into->row[i].given;
        if (given->by == EXPERIMENT_NUMBER || into->place[given->by] != UINT32_MAX)
            continue;
        into->place[given->by] = (uint32_t)n;
        name[n] = into->by.id[given->by];
        from[n++] = given->parameter;
    }
    return n;
}

enum status import_substitutes_widen(struct import_substitutes *into, const struct model *model,
                                     size_t n_experiment, struct error *error)
{
    struct arena *arena = &into->arena;
    into->wide = *model;
    if (into->n == 0)
        return STATUS_OK;
    struct stiffit_model *abi = &into->wide.abi;
    size_t most = (size_t)abi->n_parameter + into->by.n;
    uint32_t *from = arena_alloc(arena, most * sizeof *from),
             *count = arena_calloc(arena, most, sizeof *count);
    const char **name = arena_alloc(arena, most * sizeof *name);
    into->place = arena_alloc(arena, ((size_t)into->by.n + 1) * sizeof *into->place);
    bool has_room = from && count && name && into->place;
    size_t n = 0;
    if (has_room) {
        memset(into->place, 0xff, into->by.n * sizeof *into->place);
        n = choose(into, model, n_experiment, from, name, count);
    }
#define TAKE(field) take_array(arena, (const void **)&abi->field, sizeof *abi->field, from, n)
    has_room = has_room && TAKE(parameter_start) && TAKE(parameter_lower) &&
               TAKE(parameter_upper) && TAKE(parameter_scale) && TAKE(parameter_unit) &&
               TAKE(parameter_use) && TAKE(parameter_prior) && TAKE(parameter_prior_on) &&
               TAKE(parameter_prior_location) && TAKE(parameter_prior_scale) &&
               TAKE(parameter_prior_lower) && TAKE(parameter_prior_upper);
#undef TAKE
    if (!has_room)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", most);
    abi->parameter_name = name;
    abi->n_parameter = (uint32_t)n;
    return STATUS_OK;
}

void import_substitutes_fini(struct import_substitutes *into)
{
    id_table_fini(&into->by);
    arena_fini(&into->arena);
    free(into->row);
    free(into->first);
    free(into->sorted);
    memset(into, 0, sizeof *into);
}
