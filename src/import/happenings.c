/* The tables of doses, inputs, events and substitutes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/happenings.h"

#include "base/words.h"
#include "import/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct import_record *import_record_add(struct import_happenings *happenings, enum record_kind kind,
                                        uint32_t owner, struct error *error)
{
    struct import_records *records = &happenings->of[kind];
    if (!array_grow(&records->row, records->n, &records->room, sizeof *records->row)) {
        error_set(error, STATUS_NO_MEMORY, "out of memory for %zu %s", records->n,
                  record_info[kind].what);
        return NULL;
    }
    records->row[records->n] = (struct import_record){.owner = owner};
    return &records->row[records->n++];
}

/* What the rows of a table are for. */
struct reading {
    enum record_kind kind;
    struct import_happenings *into;
    const struct model *model;
    const struct import_rows *rows;
    const double *t0; /* of each experiment; NULL: not known yet */
};

/* Column c holds names that are not the model's: new parameters. */
static bool is_new_name(enum record_kind kind, size_t c)
{
    return kind == RECORD_SUBSTITUTE && c == SUBSTITUTE_by;
}

/* The model's names that an index of a row means. */
static size_t names_of(const struct stiffit_model *abi, enum record_kind kind,
                       const char *const **names)
{
    const struct { const char *const *names; size_t n;
    } of[N_RECORD] = {[RECORD_DOSE] = {abi->state_name, abi->n_state},
                      [RECORD_KNOT] = {abi->input_name, abi->n_input},
                      [RECORD_CALL] = {abi->event_name, abi->n_event},
                      [RECORD_SUBSTITUTE] = {abi->parameter_name, abi->n_parameter}};
    *names = of[kind].names;
    return of[kind].n;
}

bool import_has_infusion(const struct model *model, const struct dose *dose)
{
    const struct stiffit_model *abi = &model->abi;
    uint8_t kind = abi->infusion && abi->infusion_kind ? abi->infusion_kind[dose->target]
                                                       : STIFFIT_INFUSION_NONE;
    return kind ==
           (dose->rate == DOSE_OF_MODEL ? STIFFIT_INFUSION_RATE : STIFFIT_INFUSION_DURATION);
}

/* count: NaN if it is missing; t0: the initial time of the dose's experiment. */
static enum status check_dose(const struct import_table *table, const struct model *model,
                              const struct dose *dose, double t0, struct error *error)
{
    const double *cell = table->cell;
    const double count = cell[DOSE_count],
                 steady = isnan(cell[DOSE_steady]) ? DOSE_SINGLE : cell[DOSE_steady];
    const struct csv_reader *reader = table->reader;
    const size_t *column = table->column;
    double rate = dose->rate;
    int of_model = rate == DOSE_OF_MODEL             ? DOSE_rate
                   : dose->duration == DOSE_OF_MODEL ? DOSE_duration
                                                     : -1;
    if (!isfinite(dose->time))
        return csv_fault(reader, column[DOSE_time], error, "the time is missing or infinite");
    if (!isfinite(dose->amount))
        return csv_fault(reader, column[DOSE_amount], error, "the amount is missing or infinite");
    if (dose->time < t0)
        return csv_fault(reader, column[DOSE_time], error,
                         "the dose comes before the initial time, %g", t0);
    if (of_model >= 0 && !import_has_infusion(model, dose))
        return csv_fault(reader, column[of_model], error,
                         "-1 means what the model gives, but it has no %s(%.60s)",
                         record_info[RECORD_DOSE].column[of_model].name,
                         model->abi.state_name[dose->target]);
    if (!(dose->duration >= 0 && dose->duration < INFINITY) && of_model != DOSE_duration)
        return csv_fault(reader, column[DOSE_duration], error,
                         "the duration must be finite and at least 0");
    if (!(rate >= 0 && rate < INFINITY) && of_model != DOSE_rate)
        return csv_fault(reader, column[DOSE_rate], error,
                         "the rate must be finite and at least 0");
    if (rate != 0 && dose->duration != 0)
        return csv_fault(reader, column[DOSE_rate], error,
                         "a dose has a rate or a duration, not both");
    if (rate != 0 && dose->amount < 0)
        return csv_fault(reader, column[DOSE_amount], error,
                         "an amount with a rate must be at least 0");
    if (!(steady == DOSE_SINGLE || steady == DOSE_RESETS || steady == DOSE_ADDS))
        return csv_fault(reader, column[DOSE_steady], error,
                         "must be 1 (the steady state of such doses), 2 (added to what is "
                         "there) or 0");
    if (steady != DOSE_SINGLE && !(dose->interval > 0 && dose->interval < INFINITY))
        return csv_fault(reader, column[DOSE_steady], error,
                         "a steady dose needs an interval above 0");
    if (isnan(count) && steady == DOSE_SINGLE && dose->interval != 0)
        return csv_fault(reader, column[DOSE_interval], error,
                         "an interval needs a count: how many doses there are");
    if (!isnan(count) &&
        !(count >= (steady == DOSE_SINGLE) && count <= UINT32_MAX && count == floor(count)))
        return csv_fault(reader, column[DOSE_count], error,
                         "the count must be a whole number, at least 1");
    if (count > 1 && !(dose->interval > 0 && dose->interval < INFINITY))
        return csv_fault(reader, column[DOSE_interval], error,
                         "the interval of repeated doses must be above 0");
    struct dose whole = *dose; /* read_row sets the whole numbers of *dose after this check */
    whole.count = isnan(count) ? 1 : (uint32_t)count;
    whole.steady = (uint8_t)steady;
    if (!dose_is_apart(&whole))
        return csv_fault(reader, column[DOSE_interval], error,
                         "the interval is too small to change a time of %.17g", dose->time);
    if (!isfinite(dose->time + (whole.count - 1.0) * dose->interval))
        return csv_fault(reader, column[DOSE_interval], error,
                         "the time of the last of the repeated doses is not finite");
    return STATUS_OK;
}

/* A number that must be there. */
static enum status need_number(const struct import_table *table, int which, struct error *error)
{
    return isfinite(table->cell[which])
               ? STATUS_OK
               : csv_fault(table->reader, table->column[which], error,
                           "the %s is missing or infinite", table->listed[which].name);
}

/* The place within its experiment of the measurement on a line of their table. */
static enum status find_measurement(const struct import_table *table, const struct reading *reading,
                                    uint32_t owner, uint32_t *place, struct error *error)
{
    const double line = table->cell[SUBSTITUTE_row];
    const size_t first = reading->rows->first[owner], end = reading->rows->first[owner + 1];
    size_t low = first, high = end;
    const uint32_t *lines = reading->rows->measured.line; /* which increase within an experiment */
    if (isnan(line))
        return STATUS_OK;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines[middle] < line)
            low = middle + 1;
        else
            high = middle;
    }
    *place = (uint32_t)(low - first);
    if (low + 1 < end && lines[low] == line && lines[low + 1] == line)
        return csv_fault(table->reader, table->column[SUBSTITUTE_row], error,
                         "line %g of the table of measurements has several: "
                         "write that table in long form",
                         line);
    return low < end && lines[low] == line
               ? STATUS_OK
               : csv_fault(table->reader, table->column[SUBSTITUTE_row], error,
                           "no measurement of this %s is on line %g of its table",
                           table->owners->has_experiments ? "experiment" : "dataset", line);
}

/* What is new in a substitute: a measurement's place and a parameter's name. */
static enum status settle_substitute(const struct import_table *table,
                                     const struct reading *reading, uint32_t owner,
                                     struct substitute *given, struct error *error)
{
    const char *by = import_table_text(table, SUBSTITUTE_by);
    enum status status = find_measurement(table, reading, owner, &given->row, error);
    if (!status && (*by != '\0') == isfinite(given->value))
        status = csv_fault(table->reader, table->column[SUBSTITUTE_parameter], error,
                           "needs either a parameter in the column 'by' or a "
                           "number in the column 'value'");
    if (!status && given->row != EXPERIMENT_NONE && given->time > -INFINITY)
        status = csv_fault(table->reader, table->column[SUBSTITUTE_time], error,
                           "what holds for one measurement has no time");
    if (!status && *by && (given->by = id_table_add(&reading->into->by, by)) == ID_NO_MEMORY)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %u parameters",
                           reading->into->by.n);
    return status;
}

/* What is wrong with a row as a whole, in words of its kind. */
static enum status check_record(const struct import_table *table, const struct reading *reading,
                                struct import_record *record, struct error *error)
{
    const uint32_t owner = record->owner;
    if (reading->kind == RECORD_SUBSTITUTE) /* of which t0 is not known yet */
        return settle_substitute(table, reading, owner, &record->is.substitute, error);
    const double t0 = reading->t0[owner];
    if (reading->kind == RECORD_DOSE)
        return check_dose(table, reading->model, &record->is.dose, t0, error);
    enum status status = STATUS_OK;
    for (int c = 0; record_info[reading->kind].column[c].presence == COLUMN_NEEDED && !status; c++)
        status = need_number(table, c, error);
    if (!status && reading->kind == RECORD_CALL && table->cell[CALL_time] < t0)
        status = csv_fault(table->reader, table->column[CALL_time], error,
                           "the event comes before the initial time, %g", t0);
    return status;
}

/* Whole numbers, once they have been checked in words of their kind. */
static enum status put_whole(const struct import_table *table, const struct column_info *column,
                             size_t which, struct import_record *record, struct error *error)
{
    const double cell = table->cell[which];
    if (isnan(cell))
        return STATUS_OK;
    if (!(cell >= (double)column->least && cell <= (double)column->most && cell == floor(cell)))
        return csv_fault(table->reader, table->column[which], error,
                         "must be a whole number from %lld to %lld", (long long)column->least,
                         (long long)column->most);
    column_put_whole(column, &record->is, (int64_t)cell);
    return STATUS_OK;
}

static enum status read_row(struct import_table *table, uint32_t owner, void *context,
                            struct error *error)
{
    const struct reading *reading = context;
    const struct record_info *info = &record_info[reading->kind];
    struct import_record record = {.owner = owner, .line = csv_line(table->reader)};
    if (owner == ID_NONE)
        return STATUS_OK;
    for (size_t c = 0; c < info->n; c++) {
        const struct column_info *column = &info->column[c];
        column_put_none(column, &record.is);
        if (table->listed[c].names)
            column_put_whole(column, &record.is, (int64_t)table->cell[c]);
        else if (column->kind == COLUMN_DOUBLE && !isnan(table->cell[c]))
            column_put_real(column, &record.is, table->cell[c]);
    }
    enum status status = check_record(table, reading, &record, error);
    for (size_t c = 0; c < info->n && !status; c++)
        if (!info->column[c].names && !info->column[c].is_row &&
            info->column[c].kind != COLUMN_DOUBLE)
            status = put_whole(table, &info->column[c], c, &record, error);
    if (status)
        return status;
    struct import_record *added = import_record_add(reading->into, reading->kind, owner, error);
    if (added)
        *added = record;
    return added ? STATUS_OK : error->status;
}

enum status import_happenings_read(struct import_happenings *happenings, enum record_kind kind,
                                   const struct import_options *options, struct import_rows *rows,
                                   const struct model *model, const double *t0,
                                   struct error *error)
{
    const char *const path[N_RECORD] = {[RECORD_DOSE] = options->doses,
                                        [RECORD_KNOT] = options->inputs,
                                        [RECORD_CALL] = options->events,
                                        [RECORD_SUBSTITUTE] = options->substitutes};
    const struct record_info *info = &record_info[kind];
    const char *const *names;
    const size_t n_name = names_of(&model->abi, kind, &names);
    struct reading reading = {.kind = kind, .into = happenings, .model = model, .rows = rows,
                              .t0 = t0};
    struct import_table table = {.options = options,
                                 .path = path[kind],
                                 .form = FORM_TABLE,
                                 .ownership = IMPORT_BY_EXPERIMENT,
                                 .owners = &rows->owners,
                                 .row = read_row,
                                 .abi = &model->abi,
                                 .context = &reading};
    if (!path[kind])
        return STATUS_OK;
    if (!n_name && (kind == RECORD_KNOT || kind == RECORD_CALL))
        return error_set(error, STATUS_USAGE, "--%s: the model has no %s", info->path + 1,
                         info->path + 1);
    enum status status = import_table_open(&table, error);
    for (size_t c = 0; c < info->n && !status; c++) {
        const struct column_info *is = &info->column[c];
        struct import_column column = {.name = is->name,
                                       .is_needed = is->presence == COLUMN_NEEDED,
                                       .is_time = !strcmp(is->name, "time"),
                                       .is_text = is_new_name(kind, c)};
        if (is->names && !column.is_text) {
            column.names = names;
            column.n_name = n_name;
            column.what = is->what;
        }
        status = import_table_list(&table, &column, 1, error);
    }
    if (!status)
        status = import_table_read(&table, error);
    happenings->n_unused += table.n_unused;
    import_table_close(&table);
    return status;
}

static int order(double a, double b) { return (a > b) - (a < b); }

/* By experiments; knots by inputs and times, events by times, substitutes by parameters,
 * measurements and times, doses as they come. */
static int compare(enum record_kind kind, const struct import_record *a,
                   const struct import_record *b)
{
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (kind == RECORD_CALL)
        return order(a->is.call.time, b->is.call.time);
    if (kind == RECORD_SUBSTITUTE) {
        const struct substitute *x = &a->is.substitute, *y = &b->is.substitute;
        int by_parameter = order(x->parameter, y->parameter), by_row = order(x->row, y->row);
        return by_parameter ? by_parameter : by_row ? by_row : order(x->time, y->time);
    }
    if (kind == RECORD_KNOT && a->is.knot.input != b->is.knot.input)
        return a->is.knot.input < b->is.knot.input ? -1 : 1;
    return kind == RECORD_KNOT ? order(a->is.knot.time, b->is.knot.time) : 0;
}

/* Merges sorted halves, so that equal rows keep the table's order. */
static void sort(enum record_kind kind, struct import_record *row, size_t n,
                 struct import_record *scratch)
{
    size_t half = n / 2, a = 0, b = half, k = 0;
    if (n < 2)
        return;
    sort(kind, row, half, scratch);
    sort(kind, row + half, n - half, scratch);
    if (compare(kind, &row[half - 1], &row[half]) <= 0)
        return;
    while (a < half || b < n)
        scratch[k++] =
            b == n || (a < half && compare(kind, &row[a], &row[b]) <= 0) ? row[a++] : row[b++];
    memcpy(row, scratch, n * sizeof *row);
}

static enum status sort_records(struct import_records *records, enum record_kind kind,
                                size_t n_experiment, struct error *error)
{
    const size_t n = records->n, size = record_info[kind].size;
    struct import_record *scratch = malloc((n + 1) * sizeof *scratch);
    records->first = calloc(n_experiment + 1, sizeof *records->first);
    records->sorted = malloc((n + 1) * size);
    if (!scratch || !records->first || !records->sorted) {
        free(scratch);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu %s", n,
                         record_info[kind].what);
    }
    sort(kind, records->row, n, scratch);
    free(scratch);
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)records->sorted + i * size, &records->row[i].is, size);
        records->first[records->row[i].owner + 1]++;
    }
    for (size_t e = 0; e < n_experiment; e++)
        records->first[e + 1] += records->first[e];
    return STATUS_OK;
}

static enum status check_knots(const struct import_records *knots, const char *path,
                               struct error *error)
{
    for (size_t k = 1; k < knots->n; k++) {
        const struct import_record *row = &knots->row[k];
        if (compare(RECORD_KNOT, row - 1, row) == 0)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s:%llu: an input has a second value at time %g, after that of line "
                             "%llu",
                             path, (unsigned long long)row->line, row->is.knot.time,
                             (unsigned long long)row[-1].line);
    }
    return STATUS_OK;
}

static enum status check_substitutes(const struct import_records *substitutes, const char *path,
                                     const double *t0, struct error *error)
{
    for (size_t i = 0; i < substitutes->n; i++) {
        const struct import_record *row = &substitutes->row[i];
        const struct substitute *is = &row->is.substitute;
        if (i > 0 && compare(RECORD_SUBSTITUTE, row - 1, row) == 0)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s:%llu: the parameter has a second substitute for the same %s, "
                             "after that of line %llu",
                             path, (unsigned long long)row->line,
                             is->row != EXPERIMENT_NONE ? "measurement" : "time",
                             (unsigned long long)row[-1].line);
        if (is->time > -INFINITY && !(is->time > t0[row->owner] && is->time < INFINITY))
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s:%llu: column 'time': must be after the initial time, %g, and "
                             "finite; or empty: from the beginning",
                             path, (unsigned long long)row->line, t0[row->owner]);
    }
    return STATUS_OK;
}

/* The knots of each experiment's inputs, as arrays. */
static enum status gather_inputs(struct import_happenings *happenings, size_t n_experiment,
                                 size_t n_input, struct error *error)
{
    const struct import_records *knots = &happenings->of[RECORD_KNOT];
    happenings->input = calloc(n_experiment * n_input + 1, sizeof *happenings->input);
    happenings->time = malloc((knots->n + 1) * sizeof(double));
    happenings->value = malloc((knots->n + 1) * sizeof(double));
    if (!happenings->input || !happenings->time || !happenings->value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu values of inputs",
                         knots->n);
    for (size_t k = 0; k < knots->n; k++) {
        const struct knot *knot = &knots->row[k].is.knot;
        struct input *input = &happenings->input[knots->row[k].owner * n_input + knot->input];
        happenings->time[k] = knot->time;
        happenings->value[k] = knot->value;
        if (input->n++ == 0)
            *input = (struct input){1, happenings->time + k, happenings->value + k};
    }
    return STATUS_OK;
}

enum status import_happenings_sort(struct import_happenings *happenings,
                                   const struct import_options *options, const uint32_t *place,
                                   const double *t0, size_t n_experiment, size_t n_input,
                                   struct error *error)
{
    const struct import_records *substitutes = &happenings->of[RECORD_SUBSTITUTE];
    enum status status = STATUS_OK;
    for (int kind = 0; kind < N_RECORD && !status; kind++)
        status = sort_records(&happenings->of[kind], (enum record_kind)kind, n_experiment, error);
    if (!status)
        status = check_knots(&happenings->of[RECORD_KNOT], options->inputs, error);
    if (!status)
        status = check_substitutes(substitutes, options->substitutes, t0, error);
    struct substitute *sorted = substitutes->sorted;
    for (size_t i = 0; !status && i < substitutes->n; i++)
        if (sorted[i].by != EXPERIMENT_NUMBER)
            sorted[i].by = place[sorted[i].by];
    return status ? status : gather_inputs(happenings, n_experiment, n_input, error);
}

const void *import_happenings_of(const struct import_happenings *happenings, enum record_kind kind,
                                 size_t experiment, size_t *n)
{
    const struct import_records *records = &happenings->of[kind];
    *n = records->first[experiment + 1] - records->first[experiment];
    return (const char *)records->sorted + records->first[experiment] * record_info[kind].size;
}

void import_happenings_fini(struct import_happenings *happenings)
{
    for (int kind = 0; kind < N_RECORD; kind++) {
        free(happenings->of[kind].row);
        free(happenings->of[kind].sorted);
        free(happenings->of[kind].first);
    }
    id_table_fini(&happenings->by);
    free(happenings->input);
    free(happenings->time);
    free(happenings->value);
    memset(happenings, 0, sizeof *happenings);
}
