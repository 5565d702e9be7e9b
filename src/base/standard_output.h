/* Standard output is for data only: output of foreign code is redirected to standard error.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_STANDARD_OUTPUT_H
#define BASE_STANDARD_OUTPUT_H

#include <stdio.h>

/* Redirects `stdout`, with the contents of its buffer, to standard error, and returns a stream for the original standard
 * output. NULL: nothing has changed (no descriptor is left). One thread; calls do not nest. */
FILE *standard_output_keep(void);
/* Restores `stdout` and closes `kept`. NULL is legal. */
void standard_output_restore(FILE *kept);

#endif
