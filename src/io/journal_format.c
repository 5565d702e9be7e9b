/* Encodes and decodes journal files, independently of byte order and structure layout.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal_format.h"

#include "base/bytes.h"
#include "base/sha256.h"
#include "io/checksum.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { FRAME = 8, PREFIX = 8 + 4, POINT = 16, N_REASON = sizeof((struct fit_record *)0)->reason, N_DESCRIPTION = 1020 };
static const unsigned char magic[4] = {'S', 'T', 'F', 'J'};

static unsigned char *put_bytes(unsigned char *out, const void *bytes, size_t n)
{
    if (n)
        memcpy(out, bytes, n);
    return out + n;
}

/* Checksum of the list of columns: only a program with the same list can read the records. */
static uint32_t columns_checksum(void)
{
    uint32_t crc = 0;
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        const unsigned char layout[2] = {(unsigned char)fit_columns[i].kind, (unsigned char)fit_columns[i].shape};
        crc = checksum(crc, (const unsigned char *)fit_columns[i].path, strlen(fit_columns[i].path));
        crc = checksum(crc, layout, sizeof layout);
    }
    return crc;
}

/* Moves back over (hexadecimal) digits to the '-' before them; NULL if there is no digit. */
static const char *back_over(const char *name, const char *end, bool hexadecimal)
{
    const char *p = end;
    while (p > name && (hexadecimal ? isxdigit((unsigned char)p[-1]) : isdigit((unsigned char)p[-1])))
        p--;
    return p > name && p < end && p[-1] == '-' ? p - 1 : NULL;
}

bool journal_is_name(const char *name)
{
    size_t n = strlen(name);
    if (n < 4 || strcmp(name + n - 4, ".log") != 0)
        return false;
    const char *end = name + n - 4, *random = back_over(name, end, true);
    if (!random || end - random != 17)
        return false;
    const char *start = back_over(name, random, false);
    const char *pid = start ? back_over(name, start, false) : NULL;
    return pid && pid > name;
}

void journal_encode_header(const struct run_identity *identity, unsigned char out[JOURNAL_HEADER_SIZE])
{
    size_t n_description = strnlen(identity->description, N_DESCRIPTION - 1);
    memset(out, 0, JOURNAL_HEADER_SIZE);
    unsigned char *p = out + JOURNAL_HEADER_PREFIX;
    p = put_bytes(p, identity->problem, 32);
    p = put_bytes(p, identity->model, 32);
    p = put_bytes(p, identity->options, 32);
    p = bytes_put_64(p, identity->seed);
    p = bytes_put_64(p, identity->n_dataset);
    p = bytes_put_32(p, identity->n_start);
    p = bytes_put_32(p, identity->n_parameter);
    p = bytes_put_32(p, columns_checksum());
    put_bytes(p, identity->description, n_description);
    bytes_put_32(p + N_DESCRIPTION, identity->n_refit);
    put_bytes(p + N_DESCRIPTION + 4, identity->selection, strnlen(identity->selection, IDENTITY_SELECTION - 1));
    p = put_bytes(out, magic, sizeof magic);
    p = bytes_put_32(p, JOURNAL_FORMAT);
    p = bytes_put_32(p, JOURNAL_HEADER_SIZE - JOURNAL_HEADER_PREFIX);
    uint32_t crc = checksum(checksum(0, out, 12), out + JOURNAL_HEADER_PREFIX,
                            JOURNAL_HEADER_SIZE - JOURNAL_HEADER_PREFIX);
    bytes_put_32(p, crc);
}

enum journal_header journal_decode_header(const unsigned char *bytes, size_t n, struct run_identity *identity)
{
    if (n < JOURNAL_HEADER_PREFIX || memcmp(bytes, magic, sizeof magic) != 0)
        return JOURNAL_HEADER_DAMAGED;
    size_t length = bytes_get_32(bytes + 8);
    if (length > n - JOURNAL_HEADER_PREFIX)
        return JOURNAL_HEADER_DAMAGED;
    const unsigned char *p = bytes + JOURNAL_HEADER_PREFIX;
    if (checksum(checksum(0, bytes, 12), p, length) != bytes_get_32(bytes + 12))
        return JOURNAL_HEADER_DAMAGED;
    if (bytes_get_32(bytes + 4) != JOURNAL_FORMAT || length != JOURNAL_HEADER_SIZE - JOURNAL_HEADER_PREFIX)
        return JOURNAL_HEADER_OTHER;
    if (bytes_get_32(p + 120) != columns_checksum())
        return JOURNAL_HEADER_OTHER;
    memcpy(identity->problem, p, 32);
    memcpy(identity->model, p + 32, 32);
    memcpy(identity->options, p + 64, 32);
    identity->seed = bytes_get_64(p + 96);
    identity->n_dataset = bytes_get_64(p + 104);
    identity->n_start = bytes_get_32(p + 112);
    identity->n_parameter = bytes_get_32(p + 116);
    memset(identity->description, 0, sizeof identity->description);
    memcpy(identity->description, p + 124, N_DESCRIPTION - 1);
    identity->n_refit = bytes_get_32(p + 124 + N_DESCRIPTION);
    memset(identity->selection, 0, sizeof identity->selection);
    memcpy(identity->selection, p + 128 + N_DESCRIPTION, IDENTITY_SELECTION - 1);
    uint64_t n_task = (uint64_t)identity->n_start + identity->n_refit;
    bool sane = identity->n_parameter <= JOURNAL_MAX_PARAMETER &&
                n_task <= UINT32_MAX && (!n_task || identity->n_dataset <= UINT64_MAX / n_task);
    return sane ? JOURNAL_HEADER_GOOD : JOURNAL_HEADER_DAMAGED;
}

/* Numbers of a column in a task's record: refits keep no columns of pairs, which would be too large. */
static size_t task_width(enum fit_column column, size_t n_parameter, bool is_refit)
{
    return is_refit && fit_columns[column].shape == PER_PAIR ? 0 : fit_column_width(column, n_parameter);
}

/* The bytes of all columns of a shape. */
#define ADD_PER_FIT(name, path, kind, shape, ...) +(shape == PER_FIT ? sizeof(fit_type_##kind) : 0)
#define ADD_PER_PARAMETER(name, path, kind, shape, ...) +(shape == PER_PARAMETER ? sizeof(fit_type_##kind) : 0)
#define ADD_PER_PAIR(name, path, kind, shape, ...) +(shape == PER_PAIR ? sizeof(fit_type_##kind) : 0)
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

/* The offset of one of the first columns, which have one number per fit and precede all columns of pairs. */
static size_t column_place(enum fit_column column, size_t n_parameter)
{
    size_t place = FRAME + PREFIX;
    for (int i = 0; i < (int)column; i++)
        place += fit_column_width((enum fit_column)i, n_parameter) * fit_kind_size(fit_columns[i].kind);
    return place;
}

size_t journal_record_max(size_t n_parameter)
{
    return FRAME + PREFIX + columns_size(n_parameter, false) + FIT_MAX_POINT * POINT + N_REASON - 1;
}

size_t journal_record_size(const struct fit_record *record, size_t n_parameter, uint32_t n_start)
{
    return FRAME + PREFIX + columns_size(n_parameter, record->start >= n_start) + record->n_point * (size_t)POINT +
           strnlen(record->reason, N_REASON - 1);
}

static unsigned char *put_values(unsigned char *out, const void *values, size_t n, size_t size)
{
    const unsigned char *in = values;
    for (size_t k = 0; k < n; k++, in += size) {
        uint64_t wide;
        uint32_t narrow;
        if (size == 8)
            out = bytes_put_64(out, (memcpy(&wide, in, 8), wide));
        else if (size == 4)
            out = bytes_put_32(out, (memcpy(&narrow, in, 4), narrow));
        else
            *out++ = *in;
    }
    return out;
}

static const unsigned char *get_values(const unsigned char *in, void *values, size_t n, size_t size)
{
    unsigned char *out = values;
    for (size_t k = 0; values && k < n; k++, out += size) {
        uint64_t wide = size == 8 ? bytes_get_64(in + 8 * k) : 0;
        uint32_t narrow = size == 4 ? bytes_get_32(in + 4 * k) : 0;
        const void *value = size == 8 ? (const void *)&wide : size == 4 ? (const void *)&narrow : in + k;
        memcpy(out, value, size);
    }
    return in + n * size;
}

size_t journal_encode_record(const struct fit_record *record, size_t n_parameter, uint32_t n_start, unsigned char *out)
{
    struct fit_record copy = *record; /* fit_column_values returns places that may be written to */
    size_t n_reason = strnlen(record->reason, N_REASON - 1);
    unsigned char *p = bytes_put_32(bytes_put_64(out + FRAME, record->dataset),
                              (uint32_t)n_reason | (uint32_t)record->limit << 16 | (uint32_t)record->n_point << 24);
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t width = task_width((enum fit_column)i, n_parameter, record->start >= n_start);
        size_t size = fit_kind_size(fit_columns[i].kind);
        const void *values = fit_column_values((enum fit_column)i, &copy);
        if (values) {
            p = put_values(p, values, width, size);
        } else {
            /* a missing array: the value set by fit_record_clear */
            const double number = NAN;
            for (size_t k = 0; k < width; k++)
                p = size == 8 ? put_values(p, &number, 1, 8) : put_values(p, &(unsigned char){0}, 1, 1);
        }
    }
    p = put_values(p, record->point, 2 * (size_t)record->n_point, 8);
    p = put_bytes(p, record->reason, n_reason);
    size_t length = (size_t)(p - out) - FRAME;
    bytes_put_32(bytes_put_32(out, (uint32_t)length), checksum(0, out + FRAME, length));
    return FRAME + length;
}

size_t journal_claimed_size(const unsigned char *bytes, size_t n, const struct run_identity *identity)
{
    size_t n_parameter = identity->n_parameter;
    if (n < FRAME + PREFIX + columns_size(n_parameter, true))
        return 0;
    size_t length = bytes_get_32(bytes), n_reason = bytes[FRAME + 8] | (size_t)bytes[FRAME + 9] << 8;
    size_t n_point = bytes[FRAME + 11];
    uint32_t start = bytes_get_32(bytes + column_place(FIT_COLUMN_START, n_parameter));
    if (length > n - FRAME || n_reason >= N_REASON || n_point > FIT_MAX_POINT || bytes[FRAME + 10] >= N_LIMIT ||
        length != PREFIX + columns_size(n_parameter, start >= identity->n_start) + n_point * POINT + n_reason)
        return 0;
    return FRAME + length;
}

size_t journal_check_record(const unsigned char *bytes, size_t n, const struct run_identity *identity, uint64_t *fit)
{
    size_t size = journal_claimed_size(bytes, n, identity), n_parameter = identity->n_parameter;
    if (!size || checksum(0, bytes + FRAME, size - FRAME) != bytes_get_32(bytes + 4))
        return 0;
    uint64_t dataset = bytes_get_64(bytes + FRAME);
    uint32_t start = bytes_get_32(bytes + column_place(FIT_COLUMN_START, n_parameter));
    if (dataset >= identity->n_dataset || start >= identity_n_task(identity) ||
        bytes[column_place(FIT_COLUMN_STATUS, n_parameter)] >= N_OUTCOME)
        return 0;
    *fit = dataset * identity_n_task(identity) + start;
    return size;
}

void journal_decode_record(const unsigned char *bytes, size_t n_parameter, uint32_t n_start, struct fit_record *record)
{
    size_t n_reason = bytes[FRAME + 8] | (size_t)bytes[FRAME + 9] << 8;
    const unsigned char *p = bytes + FRAME + PREFIX;
    bool is_refit = bytes_get_32(bytes + column_place(FIT_COLUMN_START, n_parameter)) >= n_start;
    record->dataset = bytes_get_64(bytes + FRAME);
    record->limit = bytes[FRAME + 10];
    record->n_point = bytes[FRAME + 11];
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t width = task_width((enum fit_column)i, n_parameter, is_refit);
        double *values = fit_column_values((enum fit_column)i, record);
        p = get_values(p, values, width, fit_kind_size(fit_columns[i].kind));
        for (size_t k = width; values && k < fit_column_width((enum fit_column)i, n_parameter); k++)
            values[k] = NAN;
    }
    p = get_values(p, record->point, 2 * (size_t)record->n_point, 8);
    memcpy(record->reason, p, n_reason);
    record->reason[n_reason] = '\0';
}

void journal_digest(const struct run_identity *identity, unsigned char out[32])
{
    unsigned char header[JOURNAL_HEADER_SIZE];
    struct run_identity numbers = *identity;
    memset(numbers.description, 0, sizeof numbers.description);
    journal_encode_header(&numbers, header);
    sha256_of(header, sizeof header, out);
}
