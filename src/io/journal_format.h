/* The format of a journal file, and its header for writing and reading. Everything is
 * little-endian; a file is a header followed by records, each with its length and a CRC-32:
 *
 *   header  "STFJ", u32 format, u32 length, u32 crc (of the preceding 12 bytes and the payload), payload:
 *           problem[32] model[32] options[32] u64 seed, u64 n_dataset, u32 n_start, u32 n_parameter, u32 columns (CRC of
 *           the list in io/fit_record.h: another list is another format), description[1020], u32 n_refit, selection[128]
 *   record  u32 length, u32 crc (of the payload), payload: u64 dataset, u16 n_reason, u8 limit, u8 n_point, the columns
 *           of io/fit_record.h in their order (doubles and integers of 64 bits, integers of 32, bytes), those of pairs
 *           not for refits, 2 n_point doubles, reason[n_reason]
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/fit_record.h"
#include "io/run_identity.h"

enum {
    JOURNAL_FORMAT = 3,
    JOURNAL_MAX_PARAMETER = 100000,
    JOURNAL_HEADER_PREFIX = 16, /* the same in every later format */
    JOURNAL_HEADER_SIZE = JOURNAL_HEADER_PREFIX + 3 * 32 + 2 * 8 + 3 * 4 + 1024 + IDENTITY_SELECTION
};

enum journal_header {
    JOURNAL_HEADER_GOOD,
    JOURNAL_HEADER_DAMAGED, /* too short, or its CRC is wrong */
    JOURNAL_HEADER_OTHER    /* of another format, from another version */
};

void journal_encode_header(const struct run_identity *identity, unsigned char out[JOURNAL_HEADER_SIZE]);
/* SHA-256 of the run as in a header, without the texts. */
void journal_digest(const struct run_identity *identity, unsigned char out[32]);
enum journal_header journal_decode_header(const unsigned char *bytes, size_t n, struct run_identity *identity);
