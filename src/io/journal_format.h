/* The format of a journal file, for writing and reading. Everything is little-endian; a file is a header followed by records,
 * each with its length and a CRC-32:
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

/* HOST-PID-STARTTIME-RANDOM.log, with a random part of 16 hexadecimal digits. */
bool journal_is_name(const char *name);

void journal_encode_header(const struct run_identity *identity, unsigned char out[JOURNAL_HEADER_SIZE]);
/* SHA-256 of the run as in a header, without the texts. */
void journal_digest(const struct run_identity *identity, unsigned char out[32]);
enum journal_header journal_decode_header(const unsigned char *bytes, size_t n, struct run_identity *identity);

/* The size of the longest record, and of this one. */
size_t journal_record_max(size_t n_parameter);
size_t journal_record_size(const struct fit_record *record, size_t n_parameter, uint32_t n_start);
/* Returns the record's size; `out` has room for it. */
size_t journal_encode_record(const struct fit_record *record, size_t n_parameter, uint32_t n_start, unsigned char *out);
/* The size that the record at `bytes` claims, without a check of its checksum; 0 if it cannot be a complete record. Cheap. */
size_t journal_claimed_size(const unsigned char *bytes, size_t n, const struct run_identity *identity);
/* The size of the complete, undamaged record at `bytes`, and the number of its fit; 0 if there is none. */
size_t journal_check_record(const unsigned char *bytes, size_t n, const struct run_identity *identity, uint64_t *fit);
/* The bytes have been checked; the record's arrays have room, or are NULL. */
void journal_decode_record(const unsigned char *bytes, size_t n_parameter, uint32_t n_start, struct fit_record *record);
