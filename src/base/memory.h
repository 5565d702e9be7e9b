/* Allocations of fits. A failed allocation that is mistaken for a failed evaluation would change a
 * fit's numbers silently. So failures are counted for each thread: the caller of a fit compares the
 * count before and after it, and rejects the fit if the count has risen.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* These are malloc and calloc, and count failures. */
void *memory_alloc(size_t bytes);
void *memory_calloc(size_t count, size_t size);
/* Counts a failure that was found in another way; returns NULL. */
void *memory_fail(void);
/* The failures on this thread until now. */
uint64_t memory_n_failed(void);
