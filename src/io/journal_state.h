/* What fits over many datasets leave in the journal's folder for other processes: the state between
 * two steps, and what was found of a population. Each is a file that is replaced as a whole. Its
 * payload belongs to the caller.
 *
 *   RESULT.journal/NAME  "STFQ", u32 format, identity[32] (journal_digest), u64 length,
 *                        payload[length], u32 crc of all these
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/run_identity.h"

#include <stddef.h>

/* name: JOURNAL_STATE or JOURNAL_POPULATION. Survives a power failure when this returns. */
enum status journal_state_write(const char *journal, const char *name,
                                const struct run_identity *identity, const unsigned char *payload,
                                size_t n, struct error *error);
/* The payload of the last one; free() it. NULL: there is none of this run, it is damaged, or out
 * of memory. */
unsigned char *journal_state_read(const char *journal, const char *name,
                                  const struct run_identity *identity, size_t *n);
