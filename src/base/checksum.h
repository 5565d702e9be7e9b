/* CRC-32, as zlib computes it, but several times as fast where the processor multiplies
 * polynomials: every byte of a journal is checked, and short fits write many.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of what `before` is the checksum of (0: nothing), followed by n bytes. */
uint32_t checksum(uint32_t before, const unsigned char *bytes, size_t n);
