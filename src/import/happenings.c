/* The tables of doses, inputs and events; faults are reported with file, line and column.
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
    const double *t0; /* of each experiment */
};

/* The model's names that an index of a row means. */
static size_t names_of(const struct stiffit_model *abi, enum record_kind kind,
                       const char *const **names)
{
    const struct { const char *const *names; size_t n;
    } of[N_RECORD] = {[RECORD_DOSE] = {abi->state_name, abi->n_state},
                      [RECORD_KNOT] = {abi->input_name, abi->n_input},
                      [RECORD_CALL] = {abi->event_name, abi->n_event}};
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
                              const struct dose *dose, const double *cell, double t0,
                              struct error *error)
{
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
    if (isnan(count))
        return STATUS_OK;
    if (!(count >= (steady == DOSE_SINGLE) && count <= UINT32_MAX && count == floor(count)))
        return csv_fault(reader, column[DOSE_count], error,
                         "the count must be a whole number, at least 1");
    if (count > 1 && !(dose->interval > 0 && dose->interval < INFINITY))
        return csv_fault(reader, column[DOSE_interval], error,
                         "the interval of repeated doses must be above 0");
    return STATUS_OK;
}

/* A number that must be there. */
static enum status need_number(const struct import_table *table, int which, const double *cell,
                               struct error *error)
{
    return isfinite(cell[which]) ? STATUS_OK
                                 : csv_fault(table->reader, table->column[which], error,
                                             "the %s is missing or infinite", table->name[which]);
}

/* What is wrong with a row as a whole, in words of its kind. */
static enum status check_record(const struct import_table *table, const struct reading *reading,
                                const struct import_record *record, const double *cell,
                                struct error *error)
{
    bool is_of_none = record->owner == ID_NONE;
    double t0 = is_of_none || !reading->t0 ? -(double)INFINITY : reading->t0[record->owner];
    if (reading->kind == RECORD_DOSE)
        return check_dose(table, reading->model, &record->is.dose, cell, t0, error);
    enum status status = STATUS_OK;
    for (int c = 0; record_info[reading->kind].column[c].presence == COLUMN_NEEDED && !status; c++)
        status = need_number(table, c, cell, error);
    if (!status && reading->kind == RECORD_CALL && cell[CALL_time] < t0)
        status = csv_fault(table->reader, table->column[CALL_time], error,
                           "the event comes before the initial time, %g", t0);
    return status;
}

/* Whole numbers, once they have been checked in words of their kind. */
static enum status put_whole(const struct import_table *table, const struct column_info *column,
                             int which, double cell, struct import_record *record,
                             struct error *error)
{
    if (isnan(cell))
        return STATUS_OK;
    if (!(cell >= (double)column->least && cell <= (double)column->most && cell == floor(cell)))
        return csv_fault(table->reader, table->column[which], error,
                         "must be a whole number from %lld to %lld", (long long)column->least,
                         (long long)column->most);
    column_put_whole(column, &record->is, (int64_t)cell);
    return STATUS_OK;
}

static enum status read_row(const struct import_table *table, uint32_t owner, void *context,
                            struct error *error)
{
    const struct reading *reading = context;
    const struct record_info *info = &record_info[reading->kind];
    struct import_record record = {.owner = owner, .line = csv_line(table->reader)};
    double cell[IMPORT_MAX_COLUMN];
    enum status status = STATUS_OK;
    for (int c = 0; c < (int)info->n; c++) {
        cell[c] = NAN;
        column_put_none(&info->column[c], &record.is);
    }
    for (int c = 0; c < (int)info->n && !status; c++) { /* which names are meant is checked first */
        const char *const *names;
        uint32_t index = 0;
        size_t n =
            info->column[c].names ? names_of(&reading->model->abi, reading->kind, &names) : 0;
        if (info->column[c].names)
            status = import_table_name(table, c, info->column[c].what, names, n, &index, error);
        if (info->column[c].names)
            column_put_whole(&info->column[c], &record.is, index);
    }
    for (int c = 0; c < (int)info->n && !status; c++) {
        if (info->column[c].names)
            continue;
        status = import_table_number(table, c, &cell[c], error);
        if (info->column[c].kind == COLUMN_DOUBLE && !isnan(cell[c]))
            column_put_real(&info->column[c], &record.is, cell[c]);
    }
    if (!status)
        status = check_record(table, reading, &record, cell, error);
    for (int c = 0; c < (int)info->n && !status; c++)
        if (!info->column[c].names && info->column[c].kind != COLUMN_DOUBLE)
            status = put_whole(table, &info->column[c], c, cell[c], &record, error);
    if (status || owner == ID_NONE)
        return status;
    struct import_record *added = import_record_add(reading->into, reading->kind, owner, error);
    if (added)
        *added = record;
    return added ? STATUS_OK : error->status;
}

enum status import_happenings_read(struct import_happenings *happenings, enum record_kind kind,
                                   const struct import_options *options,
                                   const struct import_owners *owners, const struct model *model,
                                   const double *t0, struct error *error)
{
    const char *const path[N_RECORD] = {[RECORD_DOSE] = options->doses,
                                        [RECORD_KNOT] = options->inputs,
                                        [RECORD_CALL] = options->events};
    const struct record_info *info = &record_info[kind];
    const char *name[IMPORT_MAX_COLUMN + 1] = {NULL}, *const *names;
    struct reading reading = {.kind = kind, .into = happenings, .model = model, .t0 = t0};
    struct import_table table = {.options = options,
                                 .path = path[kind],
                                 .name = name,
                                 .owners = owners,
                                 .row = read_row,
                                 .context = &reading};
    if (!path[kind])
        return STATUS_OK;
    if (kind != RECORD_DOSE && !names_of(&model->abi, kind, &names))
        return error_set(error, STATUS_USAGE, "--%s: the model has no %s", info->path + 1,
                         info->path + 1);
    for (size_t c = 0; c < info->n; c++) {
        name[c] = info->column[c].name;
        table.n_needed += info->column[c].presence == COLUMN_NEEDED;
    }
    return import_table_read(&table, &happenings->n_unused, error);
}

static int order(double a, double b) { return (a > b) - (a < b); }

/* By experiments; knots by inputs and times, events by times, doses as they come. */
static int compare(enum record_kind kind, const struct import_record *a,
                   const struct import_record *b)
{
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (kind == RECORD_CALL)
        return order(a->is.call.time, b->is.call.time);
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

enum status import_happenings_sort(struct import_happenings *happenings, const char *path,
                                   size_t n_experiment, size_t n_input, struct error *error)
{
    const struct import_records *knots = &happenings->of[RECORD_KNOT];
    enum status status = STATUS_OK;
    for (int kind = 0; kind <= RECORD_CALL && !status; kind++)
        status = sort_records(&happenings->of[kind], (enum record_kind)kind, n_experiment, error);
    if (status)
        return status;
    happenings->input = calloc(n_experiment * n_input + 1, sizeof *happenings->input);
    happenings->time = malloc((knots->n + 1) * sizeof(double));
    happenings->value = malloc((knots->n + 1) * sizeof(double));
    if (!happenings->input || !happenings->time || !happenings->value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu values of inputs",
                         knots->n);
    for (size_t k = 0; k < knots->n; k++) {
        const struct import_record *row = &knots->row[k];
        const struct knot *knot = &row->is.knot;
        if (k > 0 && compare(RECORD_KNOT, row - 1, row) == 0)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s:%llu: an input has a second value at time %g, after that of line "
                             "%llu",
                             path, (unsigned long long)row->line, knot->time,
                             (unsigned long long)row[-1].line);
        struct input *input = &happenings->input[row->owner * n_input + knot->input];
        happenings->time[k] = knot->time;
        happenings->value[k] = knot->value;
        if (input->n++ == 0)
            *input = (struct input){1, happenings->time + k, happenings->value + k};
    }
    return STATUS_OK;
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
    free(happenings->input);
    free(happenings->time);
    free(happenings->value);
    memset(happenings, 0, sizeof *happenings);
}
