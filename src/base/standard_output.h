/* Standard output is for data alone: while foreign code runs, what it prints there goes to standard error.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_STANDARD_OUTPUT_H
#define BASE_STANDARD_OUTPUT_H

#include <stdio.h>

/* From now on `stdout` leads to standard error, with what is still in its buffer; what is returned leads where it did. NULL:
 * nothing has changed (no descriptor is left). One thread, once at a time. */
FILE *standard_output_keep(void);
/* `stdout` is as it was before, and `kept` is closed. NULL is legal. */
void standard_output_restore(FILE *kept);

#endif
