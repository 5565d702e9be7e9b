/* Loops over the list of columns.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/measurements.h"

#include <math.h>
#include <string.h>

#define IS_KIND_DOUBLE true
#define IS_KIND_UINT32 false
#define IS_KIND_INT8 false
#define COLUMN(name_, kind_, least_, most_, meaning_) \
    [MEASUREMENT_##name_] = {.name = #name_, .path = "/measurements/" #name_, \
                             .meaning = meaning_, .kind = COLUMN_##kind_, \
                             .presence = MEASUREMENT_##name_ <= MEASUREMENT_value ? COLUMN_NEEDED \
                                         : MEASUREMENT_##name_ == MEASUREMENT_observable \
                                             ? COLUMN_ALWAYS : COLUMN_SOMETIMES, \
                             .names = MEASUREMENT_##name_ == MEASUREMENT_observable \
                                          ? "/measurements/observable_names" : NULL, \
                             .what = "observable", .size = sizeof(measurement_##kind_), \
                             .offset = offsetof(struct measurements, name_), \
                             .none = IS_KIND_##kind_ ? NAN : 0, .least = least_, .most = most_},
const struct column_info measurement_columns[N_MEASUREMENT] = {MEASUREMENT_LIST(COLUMN)};

static const struct column_info *info_of(int column) { return &measurement_columns[column]; }

static char *array_of(const struct measurements *measured, int column)
{
    char *array;
    memcpy(&array, (const char *)measured + info_of(column)->offset, sizeof array);
    return array;
}

static void set_array(struct measurements *measured, int column, char *array)
{
    memcpy((char *)measured + info_of(column)->offset, &array, sizeof array);
}

void *measurements_cell(const struct measurements *measured, enum measurement_column column,
                        size_t i)
{
    char *array = array_of(measured, (int)column);
    return array ? array + i * info_of((int)column)->size : NULL;
}

bool measurements_have(const struct measurements *measured, enum measurement_column column,
                       size_t first, size_t n)
{
    static const char zero[sizeof(double)];
    size_t size = info_of((int)column)->size;
    const char *cell = measurements_cell(measured, column, first);
    for (size_t i = 0; cell && i < n; i++, cell += size) {
        double number = 0;
        if (info_of((int)column)->kind == COLUMN_DOUBLE)
            memcpy(&number, cell, sizeof number);
        if (info_of((int)column)->kind == COLUMN_DOUBLE ? !isnan(number)
                                                        : memcmp(cell, zero, size) != 0)
            return true;
    }
    return false;
}

bool measurements_in_interval(const struct measurements *measured, size_t i)
{
    return measured->censored && measured->censored[i] && measured->limit &&
           isfinite(measured->limit[i]);
}

struct measurements measurements_from(const struct measurements *measured, size_t first)
{
    struct measurements rest = *measured;
    for (int c = 0; c < N_MEASUREMENT; c++)
        set_array(&rest, c, measurements_cell(measured, (enum measurement_column)c, first));
    return rest;
}

size_t measurements_bytes(unsigned columns, size_t n)
{
    size_t bytes = 0;
    for (int c = 0; c < N_MEASUREMENT; c++)
        bytes += columns >> c & 1 ? (n * info_of(c)->size + 7) / 8 * 8 : 0;
    return bytes;
}

struct measurements measurements_place(unsigned columns, size_t n, void *block)
{
    struct measurements measured = {0};
    char *place = block;
    for (int c = 0; c < N_MEASUREMENT; c++)
        if (columns >> c & 1) {
            set_array(&measured, c, place);
            place += (n * info_of(c)->size + 7) / 8 * 8;
        }
    return measured;
}

static void clear(int column, char *to, size_t n)
{
    const double missing = NAN;
    for (size_t i = 0; info_of(column)->kind == COLUMN_DOUBLE && i < n; i++)
        memcpy(to + i * sizeof missing, &missing, sizeof missing);
    if (info_of(column)->kind != COLUMN_DOUBLE)
        memset(to, 0, n * info_of(column)->size);
}

void measurements_copy(const struct measurements *to, size_t at, const struct measurements *from,
                       size_t first, size_t n)
{
    for (int c = 0; c < N_MEASUREMENT; c++) {
        char *target = measurements_cell(to, (enum measurement_column)c, at);
        const char *source = measurements_cell(from, (enum measurement_column)c, first);
        if (target && source && n)
            memcpy(target, source, n * info_of(c)->size);
        else if (target)
            clear(c, target, n);
    }
}

/* With n_byte constant, each copy is one move. */
#define PICK(n_byte) \
    for (size_t i = 0; i < n; i++) \
        memcpy(target + i * (n_byte), source + order[i] * (n_byte), (n_byte))

static void pick(size_t size, const size_t *order, size_t n, const char *source, char *target)
{
    if (size == sizeof(double))
        PICK(sizeof(double));
    else if (size == sizeof(uint32_t))
        PICK(sizeof(uint32_t));
    else
        PICK(size);
}

void measurements_pick(const struct measurements *to, const struct measurements *from,
                       const size_t *order, size_t n)
{
    for (int c = 0; c < N_MEASUREMENT; c++) {
        char *target = array_of(to, c);
        const char *source = array_of(from, c);
        size_t size = info_of(c)->size;
        if (!target)
            continue;
        if (!source)
            clear(c, target, n);
        else
            pick(size, order, n, source, target);
    }
}
