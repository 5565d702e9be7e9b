/* Encoding and decoding of journal files, independent of byte order and of structure layout.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal_format.h"

#include <ctype.h>
#include <string.h>
#include <zlib.h>

enum { FRAME = 8, FIXED = 8 + 4 * 4 + 3 * 8 + 3 * 8, N_REASON = sizeof((struct fit_record *)0)->reason };
static const unsigned char magic[4] = {'S', 'T', 'F', 'J'};

static unsigned char *put_32(unsigned char *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (8 * i));
    return out + 4;
}

static unsigned char *put_64(unsigned char *out, uint64_t value)
{
    return put_32(put_32(out, (uint32_t)value), (uint32_t)(value >> 32));
}

static unsigned char *put_double(unsigned char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_64(out, bits);
}

static unsigned char *put_bytes(unsigned char *out, const void *bytes, size_t n)
{
    if (n)
        memcpy(out, bytes, n);
    return out + n;
}

static uint32_t get_32(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static uint64_t get_64(const unsigned char *in)
{
    return get_32(in) | (uint64_t)get_32(in + 4) << 32;
}

static double get_double(const unsigned char *in)
{
    uint64_t bits = get_64(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t checksum(uint32_t before, const unsigned char *bytes, size_t n)
{
    return (uint32_t)crc32(before, bytes, (uInt)n);
}

/* Steps back over digits (or hexadecimal digits) to the '-' before them; NULL if there is not at least one. */
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
    size_t n_description = strnlen(identity->description, sizeof identity->description - 1);
    memset(out, 0, JOURNAL_HEADER_SIZE);
    unsigned char *p = out + JOURNAL_HEADER_PREFIX;
    p = put_bytes(p, identity->problem, 32);
    p = put_bytes(p, identity->model, 32);
    p = put_bytes(p, identity->options, 32);
    p = put_64(p, identity->seed);
    p = put_64(p, identity->n_dataset);
    p = put_32(p, identity->n_start);
    p = put_32(p, identity->n_parameter);
    put_bytes(p, identity->description, n_description);
    p = put_bytes(out, magic, sizeof magic);
    p = put_32(p, JOURNAL_FORMAT);
    p = put_32(p, JOURNAL_HEADER_SIZE - JOURNAL_HEADER_PREFIX);
    uint32_t crc = checksum(checksum(0, out, 12), out + JOURNAL_HEADER_PREFIX,
                            JOURNAL_HEADER_SIZE - JOURNAL_HEADER_PREFIX);
    put_32(p, crc);
}

enum journal_header journal_decode_header(const unsigned char *bytes, size_t n, struct run_identity *identity)
{
    if (n < JOURNAL_HEADER_PREFIX || memcmp(bytes, magic, sizeof magic) != 0)
        return JOURNAL_HEADER_DAMAGED;
    size_t length = get_32(bytes + 8);
    if (length > n - JOURNAL_HEADER_PREFIX)
        return JOURNAL_HEADER_DAMAGED;
    const unsigned char *p = bytes + JOURNAL_HEADER_PREFIX;
    if (checksum(checksum(0, bytes, 12), p, length) != get_32(bytes + 12))
        return JOURNAL_HEADER_DAMAGED;
    if (get_32(bytes + 4) != JOURNAL_FORMAT || length != JOURNAL_HEADER_SIZE - JOURNAL_HEADER_PREFIX)
        return JOURNAL_HEADER_OTHER;
    memcpy(identity->problem, p, 32);
    memcpy(identity->model, p + 32, 32);
    memcpy(identity->options, p + 64, 32);
    identity->seed = get_64(p + 96);
    identity->n_dataset = get_64(p + 104);
    identity->n_start = get_32(p + 112);
    identity->n_parameter = get_32(p + 116);
    memcpy(identity->description, p + 120, sizeof identity->description);
    identity->description[sizeof identity->description - 1] = '\0';
    bool sane = identity->n_parameter <= JOURNAL_MAX_PARAMETER &&
                (!identity->n_start || identity->n_dataset <= UINT64_MAX / identity->n_start);
    return sane ? JOURNAL_HEADER_GOOD : JOURNAL_HEADER_DAMAGED;
}

static size_t record_size(size_t n_parameter, size_t n_reason)
{
    return FRAME + FIXED + 9 * n_parameter + n_reason;
}

size_t journal_record_max(size_t n_parameter)
{
    return record_size(n_parameter, N_REASON - 1);
}

size_t journal_encode_record(const struct fit_record *record, size_t n_parameter, unsigned char *out)
{
    size_t n_reason = strnlen(record->reason, N_REASON - 1);
    unsigned char *p = out + FRAME;
    p = put_64(p, record->dataset);
    p = put_32(p, record->start);
    p = put_32(p, record->outcome);
    p = put_32(p, record->notes);
    p = put_32(p, (uint32_t)n_reason);
    p = put_double(p, record->objective);
    p = put_double(p, record->gradient_norm);
    p = put_double(p, record->seconds);
    p = put_64(p, (uint64_t)record->n_iteration);
    p = put_64(p, (uint64_t)record->n_evaluation);
    p = put_64(p, (uint64_t)record->n_step);
    for (size_t i = 0; i < n_parameter; i++)
        p = put_double(p, record->parameter[i]);
    p = put_bytes(p, record->at_bound, n_parameter);
    p = put_bytes(p, record->reason, n_reason);
    size_t length = (size_t)(p - out) - FRAME;
    put_32(put_32(out, (uint32_t)length), checksum(0, out + FRAME, length));
    return FRAME + length;
}

size_t journal_check_record(const unsigned char *bytes, size_t n, const struct run_identity *identity, uint64_t *fit)
{
    if (n < FRAME + FIXED)
        return 0;
    size_t length = get_32(bytes), n_reason = get_32(bytes + FRAME + 20);
    if (length > n - FRAME || n_reason >= N_REASON || FRAME + length != record_size(identity->n_parameter, n_reason) ||
        checksum(0, bytes + FRAME, length) != get_32(bytes + 4))
        return 0;
    uint64_t dataset = get_64(bytes + FRAME);
    uint32_t start = get_32(bytes + FRAME + 8);
    if (dataset >= identity->n_dataset || start >= identity->n_start || get_32(bytes + FRAME + 12) >= N_OUTCOME)
        return 0;
    *fit = dataset * identity->n_start + start;
    return FRAME + length;
}

void journal_decode_record(const unsigned char *bytes, size_t n_parameter, struct fit_record *record)
{
    const unsigned char *p = bytes + FRAME;
    size_t n_reason = get_32(p + 20);
    record->dataset = get_64(p);
    record->start = get_32(p + 8);
    record->outcome = get_32(p + 12);
    record->notes = get_32(p + 16);
    record->objective = get_double(p + 24);
    record->gradient_norm = get_double(p + 32);
    record->seconds = get_double(p + 40);
    record->n_iteration = (int64_t)get_64(p + 48);
    record->n_evaluation = (int64_t)get_64(p + 56);
    record->n_step = (int64_t)get_64(p + 64);
    p += FIXED;
    for (size_t i = 0; i < n_parameter; i++)
        record->parameter[i] = get_double(p + 8 * i);
    p += 8 * n_parameter;
    if (n_parameter)
        memcpy(record->at_bound, p, n_parameter);
    memcpy(record->reason, p + n_parameter, n_reason);
    record->reason[n_reason] = '\0';
}
