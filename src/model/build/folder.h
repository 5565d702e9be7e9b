/* The private folder that a model is compiled in.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_FOLDER_H
#define MODEL_BUILD_FOLDER_H

#include "base/error.h"

#include <limits.h>
#include <stddef.h>

enum { FOLDER_SIZE = PATH_MAX, FOLDER_FILE_SIZE = FOLDER_SIZE + 40 };

/* Makes one under $TMPDIR that nobody else may enter. `folder` is empty after a failure. STATUS_SYSTEM. */
enum status folder_make(char folder[FOLDER_SIZE], struct error *error);
/* With all that is in it; needs no memory for what compilers leave when they end by themselves. "" is legal. */
void folder_remove(const char *folder);

/* A new file in it. STATUS_SYSTEM. */
enum status folder_write(const char *folder, const char *name, const char *bytes, size_t n_byte, struct error *error);
/* At most `max` bytes of a file in it and a NUL; free them. NULL: it is not there, or no memory. */
char *folder_read(const char *folder, const char *name, size_t max, size_t *n_byte);

#endif
