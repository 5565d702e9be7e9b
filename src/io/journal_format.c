/* Encodes and decodes the header of a journal's file, independently of byte order and structure
 * layout.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal_format.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/sha256.h"

#include <string.h>

enum { N_DESCRIPTION = 1020 };
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

void journal_digest(const struct run_identity *identity, unsigned char out[32])
{
    unsigned char header[JOURNAL_HEADER_SIZE];
    struct run_identity numbers = *identity;
    memset(numbers.description, 0, sizeof numbers.description);
    journal_encode_header(&numbers, header);
    sha256_of(header, sizeof header, out);
}
