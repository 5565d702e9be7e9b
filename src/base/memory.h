/* Allocations of fits. A failure that is taken for something else would change a fit's numbers
 * without a word, so each is counted here: whoever runs the code of a fit compares the number of
 * its thread before and after, and does not believe a fit that met one.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As malloc and calloc. */
void *memory_alloc(size_t bytes);
void *memory_calloc(size_t count, size_t size);
/* Counts a failure that was found in another way; returns NULL. */
void *memory_fail(void);
/* The failures on this thread until now. */
uint64_t memory_n_failed(void);
