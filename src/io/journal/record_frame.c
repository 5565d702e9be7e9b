/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/record_frame.h"

#include "base/bytes.h"

#include <math.h>

/* Dataset and sizes; a pair of numbers. */
enum { PREFIX = 8 + 4, POINT = 16, N_REASON = sizeof((struct fit_record *)0)->reason };

/* Numbers of a column in a task's record: refits keep no columns of pairs, which would be too
 * large. */
static size_t task_width(enum fit_column column, size_t n_parameter, bool is_refit)
{
    return is_refit && fit_columns[column].shape == PER_PAIR
             ? 0
             : fit_column_width(column, n_parameter);
}

/* The bytes of all columns of a shape. */
#define ADD_PER_FIT(name, path, kind, shape, ...) +(shape == PER_FIT ? sizeof(fit_type_##kind) : 0)
#define ADD_PER_PARAMETER(name, path, kind, shape, ...) \
    +(shape == PER_PARAMETER ? sizeof(fit_type_##kind) : 0)
#define ADD_PER_PAIR(name, path, kind, shape, ...) \
    +(shape == PER_PAIR ? sizeof(fit_type_##kind) : 0)
enum {
    BYTES_PER_FIT = 0 FIT_COLUMN_LIST(ADD_PER_FIT),
    BYTES_PER_PARAMETER = 0 FIT_COLUMN_LIST(ADD_PER_PARAMETER),
    BYTES_PER_PAIR = 0 FIT_COLUMN_LIST(ADD_PER_PAIR)
};

static size_t columns_size(size_t n_parameter, bool is_refit)
{
    size_t n_pair = is_refit ? 0 : fit_column_width(FIT_COLUMN_COVARIANCE, n_parameter);
    return BYTES_PER_FIT + n_parameter * BYTES_PER_PARAMETER + n_pair * BYTES_PER_PAIR;
}

/* The offset of one of the first columns, which have one number per fit and precede all columns
 * of pairs. */
static size_t column_place(enum fit_column column, size_t n_parameter)
{
    size_t place = PREFIX;
    for (int i = 0; i < (int)column; i++)
        place += fit_column_width((enum fit_column)i, n_parameter) *
                 fit_kind_size(fit_columns[i].kind);
    return place;
}

static uint32_t start_of(const unsigned char *payload, size_t n_parameter)
{
    return bytes_get_32(payload + column_place(FIT_COLUMN_START, n_parameter));
}

size_t record_frame_most(size_t n_parameter)
{
    return PREFIX + columns_size(n_parameter, false) + FIT_MAX_POINT * POINT + N_REASON - 1;
}

size_t record_frame_size(const struct fit_record *record, size_t n_parameter, uint32_t n_start)
{
    return PREFIX + columns_size(n_parameter, record->start >= n_start) +
           record->n_point * (size_t)POINT + strnlen(record->reason, N_REASON - 1);
}

size_t record_frame_encode(const struct fit_record *record, size_t n_parameter, uint32_t n_start,
                           unsigned char *payload)
{
    struct fit_record copy = *record; /* fit_column_values returns places that may be written to */
    size_t n_reason = strnlen(record->reason, N_REASON - 1);
    unsigned char *p = bytes_put_32(bytes_put_64(payload, record->dataset),
                                    (uint32_t)n_reason | (uint32_t)record->limit << 16 |
                                        (uint32_t)record->n_point << 24);
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t width = task_width((enum fit_column)i, n_parameter, record->start >= n_start);
        size_t size = fit_kind_size(fit_columns[i].kind);
        const void *values = fit_column_values((enum fit_column)i, &copy);
        if (values) {
            p = bytes_put(p, values, width, size);
        } else {
            /* a missing array: the value set by fit_record_clear */
            const double number = NAN;
            for (size_t k = 0; k < width; k++)
                p = size == 8 ? bytes_put(p, &number, 1, 8)
                              : bytes_put(p, &(unsigned char){0}, 1, 1);
        }
    }
    p = bytes_put(p, record->point, 2 * (size_t)record->n_point, 8);
    memcpy(p, record->reason, n_reason);
    return (size_t)(p - payload) + n_reason;
}

bool record_frame_check(const unsigned char *payload, size_t n, const struct run_identity *identity,
                        uint64_t *fit)
{
    size_t n_parameter = identity->n_parameter;
    if (n < PREFIX + columns_size(n_parameter, true))
        return false;
    uint64_t dataset = bytes_get_64(payload);
    uint32_t start = start_of(payload, n_parameter);
    size_t n_reason = payload[8] | (size_t)payload[9] << 8, n_point = payload[11];
    if (n_reason >= N_REASON || n_point > FIT_MAX_POINT || payload[10] >= N_LIMIT ||
        n != PREFIX + columns_size(n_parameter, start >= identity->n_start) + n_point * POINT +
                 n_reason)
        return false;
    if (dataset >= identity->n_dataset || start >= identity_n_task(identity) ||
        payload[column_place(FIT_COLUMN_STATUS, n_parameter)] >= N_OUTCOME)
        return false;
    *fit = identity_fit(identity, dataset, start);
    return true;
}

void record_frame_decode(const unsigned char *payload, size_t n_parameter, uint32_t n_start,
                         struct fit_record *record)
{
    size_t n_reason = payload[8] | (size_t)payload[9] << 8;
    const unsigned char *p = payload + PREFIX;
    bool is_refit = start_of(payload, n_parameter) >= n_start;
    record->dataset = bytes_get_64(payload);
    record->limit = payload[10];
    record->n_point = payload[11];
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t width = task_width((enum fit_column)i, n_parameter, is_refit);
        double *values = fit_column_values((enum fit_column)i, record);
        bytes_take(&p, values, width, fit_kind_size(fit_columns[i].kind));
        for (size_t k = width; values && k < fit_column_width((enum fit_column)i, n_parameter); k++)
            values[k] = NAN;
    }
    bytes_take(&p, record->point, 2 * (size_t)record->n_point, 8);
    memcpy(record->reason, p, n_reason);
    record->reason[n_reason] = '\0';
}
