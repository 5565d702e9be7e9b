/* libstiffit's fits: a dataset's starts, one after the other, and the record of the best one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "base/clock.h"
#include "base/memory.h"
#include "fit/joint/one.h"
#include "fit/objective/start.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stiffit_record {
    struct fit_record record;
    size_t n_parameter;
    void *arrays;
};

/* A host that evaluates at once, on the caller's thread. */
struct library_host {
    struct stiffit_problem *problem;
    int64_t begun_ns;
    bool is_short; /* an evaluation found no memory */
};

static bool host_ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct library_host *host = context;
    bool good = ode_alone_ask(&host->problem->ready.alone, evaluations, n);
    for (size_t k = 0; k < n; k++)
        host->is_short = host->is_short || evaluations[k]->outcome == EVALUATION_NO_MEMORY;
    return good;
}

static int64_t host_elapsed(void *context)
{
    return clock_now_ns() - ((struct library_host *)context)->begun_ns;
}

static struct stiffit_record *record_new(size_t n_parameter)
{
    struct stiffit_record *made = calloc(1, sizeof *made);
    void *arrays = made ? calloc(1, fit_record_array_bytes(n_parameter) + 1) : NULL;
    if (!arrays) {
        free(made);
        return NULL;
    }
    made->arrays = arrays;
    made->n_parameter = n_parameter;
    fit_record_set_arrays(&made->record, n_parameter, arrays);
    return made;
}

void stiffit_record_free(struct stiffit_record *record)
{
    if (!record)
        return;
    free(record->arrays);
    free(record);
}

/* Fits from one start. */
static enum status fit_start(struct stiffit_problem *problem, size_t dataset, uint32_t start,
                             struct fit_record *record, struct error *error)
{
    struct library_host context = {problem, clock_now_ns(), false};
    const struct fit_host host = {.ask = host_ask, .elapsed_ns = host_elapsed, .context = &context};
    struct fit_problem of;
    const char *fault;
    arena_reset(&problem->arena);
    enum status status = library_dataset(problem, dataset, start, true, &of, &fault, error);
    if (status)
        return status;
    record->dataset = dataset;
    record->start = start;
    if (fault) {
        fit_record_begin(record, problem->ready.setting.n_parameter, 0);
        fit_record_fail(record, OUTCOME_bad_data, fault);
    } else {
        uint64_t n_failed = memory_n_failed();
        fit_run(&of, &problem->ready.fit, &host, &problem->arena, record);
        if (context.is_short || memory_n_failed() != n_failed)
            fit_record_fail(record, OUTCOME_out_of_memory, "no memory for a part of this fit");
        record->seconds = 1e-9 * (double)host_elapsed(&context);
    }
    if (record->outcome == OUTCOME_out_of_memory)
        return error_set(error, STATUS_NO_MEMORY, "%s", record->reason);
    return STATUS_OK;
}

static enum status fit(struct stiffit_problem *problem, size_t dataset,
                       struct stiffit_record **best, struct error *error)
{
    enum status status = library_prepare(problem, error);
    if (status)
        return status;
    size_t n = problem->ready.setting.n_parameter;
    struct stiffit_record *other = NULL, *kept = record_new(n);
    struct fit_record work = {.dataset = 0};
    double lowest_success = INFINITY;
    uint32_t n_start = problem->ready.setting.n_start;
    if (n_start > 1)
        other = record_new(n);
    if (!kept || (n_start > 1 && !other))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the record of a fit");
    for (uint32_t start = 0; !status && start < n_start; start++) {
        struct stiffit_record *now = start ? other : kept;
        status = fit_start(problem, dataset, start, &now->record, error);
        if (status)
            break;
        fit_record_add_work(&work, &now->record);
        if (outcome_is_success((enum outcome)now->record.outcome))
            lowest_success = fmin(lowest_success, now->record.objective);
        if (start && fit_start_beats(&other->record, &kept->record)) {
            other = kept;
            kept = now;
        }
    }
    if (!status) {
        fit_start_note(&kept->record, lowest_success);
        fit_record_zero_work(&kept->record);
        fit_record_add_work(&kept->record, &work);
        *best = kept;
        kept = NULL;
    }
    stiffit_record_free(kept);
    stiffit_record_free(other);
    return status;
}

int stiffit_fit(struct stiffit_problem *problem, size_t dataset, struct stiffit_record **record,
                struct stiffit_error *error)
{
    struct error e = {.status = STATUS_OK};
    if (record)
        *record = NULL;
    if (library_is_null(problem, "stiffit_fit", "problem", &e) ||
        library_is_null(record, "stiffit_fit", "record", &e))
        return library_give(e.status, &e, error);
    return library_give(fit(problem, dataset, record, &e), &e, error);
}

int stiffit_record_is_success(const struct stiffit_record *record)
{
    return record && outcome_is_success((enum outcome)record->record.outcome);
}

const char *stiffit_record_reason(const struct stiffit_record *record)
{
    return record ? record->record.reason : NULL;
}

/* The numbers of a column; NULL: there are none. Only columns that a fit fills count. */
static const void *values_of(const struct stiffit_record *record, size_t column, size_t *n)
{
    struct fit_record *own = (struct fit_record *)(uintptr_t)&record->record;
    *n = column < N_FIT_COLUMN ? fit_column_width((enum fit_column)column, record->n_parameter) : 0;
    return *n ? fit_column_values((enum fit_column)column, own) : NULL;
}

_Static_assert(PER_FIT == 0 && PER_PARAMETER == 1 && PER_PAIR == 2, "shapes are numbers of axes");

/* "/fits/objective" -> "objective". */
static const char *name_of(size_t column)
{
    return fit_columns[column].path + strlen("/fits/");
}

int stiffit_record_column(const struct stiffit_record *record, size_t i,
                          struct stiffit_column *column)
{
    size_t n;
    if (!record || !column || i >= N_FIT_COLUMN)
        return 0;
    const void *values = values_of(record, i, &n);
    *column = (struct stiffit_column){
        .name = name_of(i), .description = fit_columns[i].description, .unit = fit_columns[i].unit,
        .n = values ? n : 0, .n_axis = (int)fit_columns[i].shape,
        .has_words = fit_kind_names(fit_columns[i].kind) != NULL};
    return 1;
}

/* Number i of the named column; its kind. False: there is none. */
static bool find(const struct stiffit_record *record, const char *name, size_t i,
                 enum fit_kind *kind, double *number)
{
#define READ(id, type, names) \
    case FIT_##id: \
        *number = (double)((const type *)values)[i]; \
        return true;
    size_t n, column = 0;
    if (!record)
        return false;
    while (column < N_FIT_COLUMN && (!name || strcmp(name_of(column), name) != 0))
        column++;
    const void *values = values_of(record, column, &n);
    if (!values || i >= n)
        return false;
    *kind = fit_columns[column].kind;
    switch (*kind) {
        FIT_KIND_LIST(READ)
    case N_FIT_KIND:
        break;
    }
    return false;
#undef READ
}

double stiffit_record_number(const struct stiffit_record *record, const char *column, size_t i)
{
    enum fit_kind kind;
    double number;
    return find(record, column, i, &kind, &number) ? number : (double)NAN;
}

const char *stiffit_record_word(const struct stiffit_record *record, const char *column, size_t i)
{
    enum fit_kind kind;
    double number;
    if (!find(record, column, i, &kind, &number) || !fit_kind_names(kind))
        return NULL;
    return fit_kind_names(kind)((int)number);
}
