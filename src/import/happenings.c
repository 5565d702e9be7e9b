/* The tables of doses, inputs and events; faults are reported with file, line and column.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/happenings.h"
#include "import/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status import_add_dose(struct import_happenings *happenings, uint32_t owner, struct dose dose, struct error *error)
{
    if (!array_grow(&happenings->dose, happenings->n_dose, &happenings->room_dose, sizeof *happenings->dose))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu doses", happenings->n_dose);
    happenings->dose[happenings->n_dose++] = (struct import_dose){owner, dose};
    return STATUS_OK;
}

enum status import_add_knot(struct import_happenings *happenings, struct import_knot knot, struct error *error)
{
    if (!array_grow(&happenings->knot, happenings->n_knot, &happenings->room_knot, sizeof *happenings->knot))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu values of inputs", happenings->n_knot);
    happenings->knot[happenings->n_knot++] = knot;
    return STATUS_OK;
}

enum { DOSE_TIME, DOSE_AMOUNT, DOSE_TARGET, DOSE_DURATION, DOSE_RATE, DOSE_INTERVAL, DOSE_COUNT, DOSE_STEADY };
enum { KNOT_TIME, KNOT_VALUE, KNOT_INPUT };
enum { CALL_TIME, CALL_EVENT };
static const char *const dose_columns[] = {"time", "amount", "target", "duration", "rate", "interval", "count",
                                           "steady", NULL};
static const char *const knot_columns[] = {"time", "value", "input", NULL};
static const char *const call_columns[] = {"time", "event", NULL};

/* What the rows of a table are for. */
struct reading {
    struct import_happenings *into;
    const struct model *model;
    const double *t0; /* of each experiment */
};

bool import_has_infusion(const struct model *model, const struct dose *dose)
{
    const struct stiffit_model *abi = &model->abi;
    uint8_t kind = abi->infusion && abi->infusion_kind ? abi->infusion_kind[dose->target] : STIFFIT_INFUSION_NONE;
    return kind == (dose->rate == DOSE_OF_MODEL ? STIFFIT_INFUSION_RATE : STIFFIT_INFUSION_DURATION);
}

/* count: NaN if it is missing; t0: the initial time of the dose's experiment. */
static enum status check_dose(const struct import_table *table, const struct model *model, const struct dose *dose,
                              double count, double steady, double t0, struct error *error)
{
    const struct csv_reader *reader = table->reader;
    const size_t *column = table->column;
    double rate = dose->rate;
    int of_model = rate == DOSE_OF_MODEL ? DOSE_RATE : dose->duration == DOSE_OF_MODEL ? DOSE_DURATION : -1;
    if (!isfinite(dose->time))
        return csv_fault(reader, column[DOSE_TIME], error, "the time is missing or infinite");
    if (!isfinite(dose->amount))
        return csv_fault(reader, column[DOSE_AMOUNT], error, "the amount is missing or infinite");
    if (dose->time < t0)
        return csv_fault(reader, column[DOSE_TIME], error, "the dose comes before the initial time, %g", t0);
    if (of_model >= 0 && !import_has_infusion(model, dose))
        return csv_fault(reader, column[of_model], error, "-1 means what the model gives, but it has no %s(%.60s)",
                         dose_columns[of_model], model->abi.state_name[dose->target]);
    if (!(dose->duration >= 0 && dose->duration < INFINITY) && of_model != DOSE_DURATION)
        return csv_fault(reader, column[DOSE_DURATION], error, "the duration must be finite and at least 0");
    if (!(rate >= 0 && rate < INFINITY) && of_model != DOSE_RATE)
        return csv_fault(reader, column[DOSE_RATE], error, "the rate must be finite and at least 0");
    if (rate != 0 && dose->duration != 0)
        return csv_fault(reader, column[DOSE_RATE], error, "a dose has a rate or a duration, not both");
    if (rate != 0 && dose->amount < 0)
        return csv_fault(reader, column[DOSE_AMOUNT], error, "an amount with a rate must be at least 0");
    if (!(steady == DOSE_SINGLE || steady == DOSE_RESETS || steady == DOSE_ADDS))
        return csv_fault(reader, column[DOSE_STEADY], error, "must be 1 (the steady state of such doses), 2 (added to what is "
                         "there) or 0");
    if (steady != DOSE_SINGLE && !(dose->interval > 0 && dose->interval < INFINITY))
        return csv_fault(reader, column[DOSE_STEADY], error, "a steady dose needs an interval above 0");
    if (isnan(count) && steady == DOSE_SINGLE && dose->interval != 0)
        return csv_fault(reader, column[DOSE_INTERVAL], error, "an interval needs a count: how many doses there are");
    if (isnan(count))
        return STATUS_OK;
    if (!(count >= (steady == DOSE_SINGLE) && count <= UINT32_MAX && count == floor(count)))
        return csv_fault(reader, column[DOSE_COUNT], error, "the count must be a whole number, at least 1");
    if (count > 1 && !(dose->interval > 0 && dose->interval < INFINITY))
        return csv_fault(reader, column[DOSE_INTERVAL], error, "the interval of repeated doses must be above 0");
    return STATUS_OK;
}

static enum status read_dose(const struct import_table *table, uint32_t owner, void *context, struct error *error)
{
    const struct reading *reading = context;
    const struct stiffit_model *abi = &reading->model->abi;
    struct dose dose = {.time = NAN, .amount = NAN};
    double count = NAN, steady = 0;
    double *const value[] = {[DOSE_TIME] = &dose.time, [DOSE_AMOUNT] = &dose.amount, [DOSE_TARGET] = NULL,
                             [DOSE_DURATION] = &dose.duration, [DOSE_RATE] = &dose.rate,
                             [DOSE_INTERVAL] = &dose.interval, [DOSE_COUNT] = &count, [DOSE_STEADY] = &steady};
    enum status status = import_table_name(table, DOSE_TARGET, "state", abi->state_name, abi->n_state, &dose.target, error);
    for (int i = 0; i <= DOSE_STEADY && !status; i++)
        status = value[i] ? import_table_number(table, i, value[i], error) : STATUS_OK;
    if (!status)
        status = check_dose(table, reading->model, &dose, count, steady, owner == ID_NONE ? -INFINITY : reading->t0[owner],
                            error);
    if (status || owner == ID_NONE)
        return status;
    dose.count = isnan(count) ? 1 : (uint32_t)count;
    dose.steady = (uint8_t)steady;
    return import_add_dose(reading->into, owner, dose, error);
}

/* A number that must be there. */
static enum status need_number(const struct import_table *table, int which, double *value, struct error *error)
{
    *value = NAN;
    enum status status = import_table_number(table, which, value, error);
    return status || isfinite(*value) ? status : csv_fault(table->reader, table->column[which], error,
                                                           "the %s is missing or infinite", table->name[which]);
}

static enum status read_knot(const struct import_table *table, uint32_t owner, void *context, struct error *error)
{
    const struct reading *reading = context;
    const struct stiffit_model *abi = &reading->model->abi;
    struct import_knot knot = {.owner = owner, .line = csv_line(table->reader)};
    enum status status = import_table_name(table, KNOT_INPUT, "input", abi->input_name, abi->n_input, &knot.input, error);
    if (!status)
        status = need_number(table, KNOT_TIME, &knot.time, error);
    if (!status)
        status = need_number(table, KNOT_VALUE, &knot.value, error);
    return status || owner == ID_NONE ? status : import_add_knot(reading->into, knot, error);
}

static enum status read_call(const struct import_table *table, uint32_t owner, void *context, struct error *error)
{
    const struct reading *reading = context;
    struct import_happenings *into = reading->into;
    const struct stiffit_model *abi = &reading->model->abi;
    struct import_call call = {.owner = owner, .line = csv_line(table->reader)};
    enum status status = import_table_name(table, CALL_EVENT, "event", abi->event_name, abi->n_event, &call.call.event, error);
    if (!status)
        status = need_number(table, CALL_TIME, &call.call.time, error);
    if (status || owner == ID_NONE)
        return status;
    if (call.call.time < reading->t0[owner])
        return csv_fault(table->reader, table->column[CALL_TIME], error, "the event comes before the initial time, %g",
                         reading->t0[owner]);
    if (!array_grow(&into->call, into->n_call, &into->room_call, sizeof *into->call))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu events", into->n_call);
    into->call[into->n_call++] = call;
    return STATUS_OK;
}

enum status import_doses(struct import_happenings *happenings, const struct import_options *options,
                         const struct import_owners *owners, const struct model *model, const double *t0, struct error *error)
{
    struct reading reading = {.into = happenings, .model = model, .t0 = t0};
    struct import_table table = {.options = options, .path = options->doses, .name = dose_columns,
                                 .n_needed = 2, .owners = owners, .row = read_dose, .context = &reading};
    return import_table_read(&table, &happenings->n_unused, error);
}

enum status import_inputs(struct import_happenings *happenings, const struct import_options *options,
                          const struct import_owners *owners, const struct model *model, struct error *error)
{
    struct reading reading = {.into = happenings, .model = model};
    struct import_table table = {.options = options, .path = options->inputs, .name = knot_columns,
                                 .n_needed = 2, .owners = owners, .row = read_knot, .context = &reading};
    if (model->abi.n_input == 0)
        return error_set(error, STATUS_USAGE, "--inputs: the model has no inputs");
    return import_table_read(&table, &happenings->n_unused, error);
}

enum status import_events(struct import_happenings *happenings, const struct import_options *options,
                          const struct import_owners *owners, const struct model *model, const double *t0, struct error *error)
{
    struct reading reading = {.into = happenings, .model = model, .t0 = t0};
    struct import_table table = {.options = options, .path = options->events, .name = call_columns,
                                 .n_needed = 1, .owners = owners, .row = read_call, .context = &reading};
    if (model->abi.n_event == 0)
        return error_set(error, STATUS_USAGE, "--events: the model has no events");
    return import_table_read(&table, &happenings->n_unused, error);
}

/* In order of time; at one time in that of the table. */
static int compare_calls(const void *a, const void *b)
{
    const struct import_call *left = a, *right = b;
    if (left->owner != right->owner)
        return left->owner < right->owner ? -1 : 1;
    if (left->call.time != right->call.time)
        return left->call.time < right->call.time ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

static enum status sort_calls(struct import_happenings *happenings, size_t n_experiment, struct error *error)
{
    size_t n = happenings->n_call;
    happenings->first_call = calloc(n_experiment + 1, sizeof *happenings->first_call);
    happenings->sorted_call = malloc((n + 1) * sizeof *happenings->sorted_call);
    if (!happenings->first_call || !happenings->sorted_call)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu events", n);
    if (n)
        qsort(happenings->call, n, sizeof *happenings->call, compare_calls);
    for (size_t i = 0; i < n; i++) {
        happenings->sorted_call[i] = happenings->call[i].call;
        happenings->first_call[happenings->call[i].owner + 1]++;
    }
    for (size_t e = 0; e < n_experiment; e++)
        happenings->first_call[e + 1] += happenings->first_call[e];
    return STATUS_OK;
}

static int compare_knots(const void *a, const void *b)
{
    const struct import_knot *left = a, *right = b;
    if (left->owner != right->owner)
        return left->owner < right->owner ? -1 : 1;
    if (left->input != right->input)
        return left->input < right->input ? -1 : 1;
    return left->time < right->time ? -1 : left->time > right->time;
}

enum status import_happenings_sort(struct import_happenings *happenings, const char *path, size_t n_experiment,
                                   size_t n_input, struct error *error)
{
    size_t n = happenings->n_dose, m = happenings->n_knot;
    size_t *first = happenings->first_dose = calloc(n_experiment + 2, sizeof *first);
    happenings->sorted = malloc((n + 1) * sizeof *happenings->sorted);
    happenings->input = calloc(n_experiment * n_input + 1, sizeof *happenings->input);
    happenings->time = malloc((m + 1) * sizeof(double));
    happenings->value = malloc((m + 1) * sizeof(double));
    if (!first || !happenings->sorted || !happenings->input || !happenings->time || !happenings->value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu doses and %zu values of inputs", n, m);
    for (size_t i = 0; i < n; i++)
        first[happenings->dose[i].owner + 1]++;
    for (size_t e = 0; e < n_experiment; e++)
        first[e + 1] += first[e];
    for (size_t i = 0; i < n; i++) /* first[e] becomes the end of experiment e */
        happenings->sorted[first[happenings->dose[i].owner]++] = happenings->dose[i].dose;
    memmove(first + 1, first, n_experiment * sizeof *first);
    first[0] = 0;
    if (m)
        qsort(happenings->knot, m, sizeof *happenings->knot, compare_knots);
    for (size_t k = 1; k < m; k++)
        if (compare_knots(&happenings->knot[k - 1], &happenings->knot[k]) == 0)
            return error_set(error, STATUS_BAD_PROBLEM, "%s:%llu: an input has a second value at time %g, after that of line "
                             "%llu", path, (unsigned long long)happenings->knot[k].line, happenings->knot[k].time,
                             (unsigned long long)happenings->knot[k - 1].line);
    for (size_t k = 0; k < m; k++) {
        struct input *input = &happenings->input[happenings->knot[k].owner * n_input + happenings->knot[k].input];
        happenings->time[k] = happenings->knot[k].time;
        happenings->value[k] = happenings->knot[k].value;
        if (input->n++ == 0)
            *input = (struct input){1, happenings->time + k, happenings->value + k};
    }
    return sort_calls(happenings, n_experiment, error);
}

void import_happenings_fini(struct import_happenings *happenings)
{
    free(happenings->dose);
    free(happenings->knot);
    free(happenings->sorted);
    free(happenings->first_dose);
    free(happenings->call);
    free(happenings->first_call);
    free(happenings->sorted_call);
    free(happenings->input);
    free(happenings->time);
    free(happenings->value);
    memset(happenings, 0, sizeof *happenings);
}
