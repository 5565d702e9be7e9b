/* Loops over the table of columns.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/file/fit_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The other arguments: the description, and designated initialisers. */
#define FIT_COLUMNS_ROW(name, path_, kind_, shape_, field, ...) \
    [FIT_COLUMN_##name] = {.path = path_, .kind = FIT_##kind_, .shape = shape_, \
                           .offset = offsetof(struct fit_record, field), \
                           .description = __VA_ARGS__},
const struct fit_column_info fit_columns[N_RESULT_COLUMN] = {FIT_ALL_COLUMN_LIST(FIT_COLUMNS_ROW)};

static const char *outcome_name_or_null(int number)
{
    return number >= 0 && number < N_OUTCOME ? outcome_name((enum outcome)number) : NULL;
}

#define NAMES_ROW(kind, type, names) [FIT_##kind] = names,
static const char *(*const names_of_kind[N_FIT_KIND])(int number) = {FIT_KIND_LIST(NAMES_ROW)};

const char *(*fit_kind_names(enum fit_kind kind))(int number) { return names_of_kind[kind]; }

enum fit_part fit_column_part(enum fit_column column)
{
    return fit_columns[column].part ? fit_columns[column].part : FIT_PART_BASE;
}

size_t fit_record_array_bytes(size_t n_parameter)
{
    size_t bytes = 0;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        if (fit_columns[i].shape != PER_FIT)
            bytes += fit_column_width((enum fit_column)i, n_parameter) *
                     fit_kind_size(fit_columns[i].kind);
    return bytes;
}

void fit_record_set_arrays(struct fit_record *record, size_t n_parameter, void *block)
{
    char *place = block;
    for (size_t size = 8; size > 0;
         size = size == 8 ? 1 : 0) /* doubles first, because of their alignment */
        for (int i = 0; i < N_RESULT_COLUMN; i++) {
            size_t width = fit_column_width((enum fit_column)i, n_parameter);
            if (fit_columns[i].shape == PER_FIT || fit_kind_size(fit_columns[i].kind) != size)
                continue;
            void *values = width ? place : NULL;
            memcpy((char *)record + fit_columns[i].offset, &values, sizeof values);
            place += width * size;
        }
}

/* One statement for each column: a loop over their table would take several times as long, and
 * these functions are called for every record. */
#define MISSING_DOUBLE ((double)NAN)
#define MISSING_INT64 (-1)
#define MISSING_UINT32 0
#define MISSING_INT8 0
#define MISSING_OUTCOME 0
#define MISSING_STOP 0
#define MISSING_LACK LACK_not_run
#define MISSING_OPTIMIZER 0
#define MISSING_GRADIENT 0
#define MISSING_LIMIT 0

#define CLEAR_PER_FIT(kind, field) record->field = MISSING_##kind;
#define CLEAR_ARRAY(kind, field, n) \
    for (size_t k = 0; record->field && k < (n); k++) \
        record->field[k] = MISSING_##kind;
#define CLEAR_PER_PARAMETER(kind, field) CLEAR_ARRAY(kind, field, n_parameter)
#define CLEAR_PER_PAIR(kind, field) CLEAR_ARRAY(kind, field, n_pair)
#define CLEAR_ROW(name, path, kind, shape, field, ...) CLEAR_##shape(kind, field)

void fit_record_clear(struct fit_record *record, size_t n_parameter)
{
    uint32_t start = record->start;
    size_t n_pair = n_parameter <= FIT_MAX_PAIR_PARAMETERS ? n_parameter * n_parameter : 0;
    FIT_FIELD_COLUMN_LIST(CLEAR_ROW)
    record->start = start;
    record->limit = LIMIT_none;
    record->n_point = 0;
    record->n_noise = 0;
    record->reason[0] = '\0';
}

/* The statement for a column of work; it is known at compile time which these are. */
#define WORK_PER_FIT(statement) statement
#define WORK_PER_PARAMETER(statement)
#define WORK_PER_PAIR(statement)
#define IF_WORK(shape, statement, ...) \
    if ((const struct fit_column_info){.description = __VA_ARGS__}.is_work) { \
        WORK_##shape(statement) \
    }
#define ZERO_ROW(name, path, kind, shape, field, ...) IF_WORK(shape, record->field = 0;, \
    __VA_ARGS__)
#define ADD_ROW(name, path, kind, shape, field, ...) \
    IF_WORK(shape, record->field = (fit_type_##kind)(record->field + other->field);, __VA_ARGS__)

void fit_record_zero_work(struct fit_record *record)
{
    FIT_FIELD_COLUMN_LIST(ZERO_ROW)
}

void fit_record_begin(struct fit_record *record, size_t n_parameter, uint32_t notes)
{
    fit_record_clear(record, n_parameter);
    record->outcome = OUTCOME_not_run;
    record->notes = notes;
    fit_record_zero_work(record);
}

void fit_record_fail(struct fit_record *record, enum outcome outcome, const char *reason)
{
    record->outcome = outcome;
    record->stop = STOP_none;
    snprintf(record->reason, sizeof record->reason, "%s", reason);
}

void fit_record_add_work(struct fit_record *record, const struct fit_record *other)
{
    FIT_FIELD_COLUMN_LIST(ADD_ROW)
}

void fit_record_rescale(struct fit_record *record, size_t n_parameter, double sigma)
{
    for (int i = 0; i < N_RESULT_COLUMN; i++) {
        double *values =
            fit_columns[i].sigma_power ? fit_column_values((enum fit_column)i, record) : NULL;
        double factor = 1;
        for (int k = 0; k < fit_columns[i].sigma_power; k++)
            factor *= sigma;
        for (size_t k = 0; values && k < fit_column_width((enum fit_column)i, n_parameter); k++)
            values[k] *= factor;
    }
}

size_t fit_record_bytes(size_t n_parameter)
{
    return sizeof(struct fit_record) + fit_record_array_bytes(n_parameter);
}

void fit_record_to_bytes(const struct fit_record *record, size_t n_parameter, void *bytes)
{
    struct fit_record source = *record;
    char *next = bytes;
    memcpy(next, record, sizeof *record);
    next += sizeof *record;
    for (int i = 0; i < N_RESULT_COLUMN; i++) {
        size_t size =
            fit_column_width((enum fit_column)i, n_parameter) * fit_kind_size(fit_columns[i].kind);
        const void *values = fit_column_values((enum fit_column)i, &source);
        if (fit_columns[i].shape == PER_FIT)
            continue;
        if (values)
            memcpy(next, values, size);
        else
            memset(next, 0, size);
        next += size;
    }
}

void fit_record_from_bytes(struct fit_record *record, size_t n_parameter, const void *bytes)
{
    const char *next = bytes;
    struct fit_record given;
    memcpy(&given, next, sizeof given);
    next += sizeof given;
    given.point = record->point;
    for (int i = 0; i < N_RESULT_COLUMN; i++) {
        size_t size =
            fit_column_width((enum fit_column)i, n_parameter) * fit_kind_size(fit_columns[i].kind);
        void *values = fit_column_values((enum fit_column)i, record);
        if (fit_columns[i].shape == PER_FIT)
            continue;
        if (values)
            memcpy(values, next, size);
        memcpy((char *)&given + fit_columns[i].offset, &values, sizeof values);
        next += size;
    }
    *record = given;
}
