/* The record of a fit as the payload of a frame, little-endian:
 *
 *   u64 dataset, u16 n_reason, u8 limit, u8 n_point, the columns of io/file/fit_record.h
 *   in their order (doubles and integers of 64 bits, integers of 32, bytes), those of pairs
 *   not for refits, 2 n_point doubles, reason[n_reason]
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/fit_record.h"
#include "io/journal/run_identity.h"

/* The size of a record's payload, and of the longest one of a run. */
size_t record_frame_size(const struct fit_record *record, size_t n_parameter, uint32_t n_start);
size_t record_frame_most(size_t n_parameter);
/* Returns the size. A reason without a NUL is cut. */
size_t record_frame_encode(const struct fit_record *record, size_t n_parameter, uint32_t n_start,
                           unsigned char *payload);
/* Whether it is a record of this run; and the number of its fit. */
bool record_frame_check(const unsigned char *payload, size_t n, const struct run_identity *identity,
                        uint64_t *fit);
/* Of a payload that has been checked; the record's arrays have room, or are NULL. */
void record_frame_decode(const unsigned char *payload, size_t n_parameter, uint32_t n_start,
                         struct fit_record *record);
