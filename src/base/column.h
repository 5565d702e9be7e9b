/* What a column of a table is, wherever it is stored: in tables of text, problem files, arrays,
 * structs.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum column_kind {
    COLUMN_DOUBLE, COLUMN_UINT32, COLUMN_INT8, COLUMN_INT64, COLUMN_TEXT, N_COLUMN_KIND
};

/* NEEDED: problem files must have it. ALWAYS: those that we write have it. SOMETIMES: only if a row
 * has a value. */
enum column_presence { COLUMN_NEEDED, COLUMN_ALWAYS, COLUMN_SOMETIMES };

struct column_info {
    const char *name, *meaning;
    const char *path;     /* in problem files; NULL: in several groups */
    const char *names;    /* of an index: the path of its list in problem files; else NULL */
    const char *what;     /* one of these names */
    enum column_kind kind;
    enum column_presence presence;
    size_t size, offset;  /* of a value; of it in its struct, or of the array of it */
    int64_t least, most;  /* of whole numbers; -1 of an unsigned one is its largest value */
    double none;          /* what an absent column or an empty cell means */
    size_t width;         /* of parameters and constants: numbers of each */
    bool by_dataset;      /* of parameters and constants: each dataset may have its own */
    bool is_row;          /* a row of /measurements, in memory counted within the experiment */
    int set; /* in the identity: 0: always, otherwise together if any of them has a value */
};

/* A table whose rows are structs. */
struct record_info {
    const char *path, *what; /* of the group in problem files; its rows */
    size_t size, n;
    const struct column_info *column; /* n */
    const char *const *word; /* n_word: what precedes a set in the identity, or NULL */
    size_t n_word;
};

static inline void column_put_real(const struct column_info *column, void *record, double value)
{
    memcpy((char *)record + column->offset, &value, sizeof value);
}

static inline void column_put_whole(const struct column_info *column, void *record, int64_t value)
{
    const uint32_t number = (uint32_t)value;
    const int8_t byte = (int8_t)value;
    memcpy((char *)record + column->offset, column->size == 1 ? &byte : (const void *)&number,
           column->size);
}

static inline void column_put_none(const struct column_info *column, void *record)
{
    if (column->kind == COLUMN_DOUBLE)
        column_put_real(column, record, column->none);
    else
        column_put_whole(column, record, (int64_t)column->none);
}

static inline double column_real(const struct column_info *column, const void *record)
{
    double value;
    memcpy(&value, (const char *)record + column->offset, sizeof value);
    return value;
}

/* A whole number; the largest unsigned one is -1 where that is allowed. */
static inline int64_t column_whole(const struct column_info *column, const void *record)
{
    uint32_t number = 0;
    int8_t byte = 0;
    memcpy(column->size == 1 ? &byte : (void *)&number, (const char *)record + column->offset,
           column->size);
    if (column->size == 1)
        return byte;
    return column->least < 0 && number == UINT32_MAX ? -1 : (int64_t)number;
}

static inline bool column_is_none(const struct column_info *column, const void *record)
{
    if (column->kind != COLUMN_DOUBLE)
        return column_whole(column, record) == (int64_t)column->none;
    double value = column_real(column, record);
    return value == column->none || (isnan(value) && isnan(column->none));
}
