/* A look at the bytes of a shared object before the loader sees them: it says in the user's words what a wrong file
 * is, and a truncated object, which the loader would map and die of, is turned away.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_ELF_IMAGE_H
#define MODEL_ELF_IMAGE_H

#include "base/error.h"

#include <stddef.h>

/* OK if the bytes look like a complete shared object for this machine (or, where <elf.h> is unknown, are no text);
 * otherwise STATUS_BAD_MODEL with what they are instead and what to do. `origin` names them: a path, or any label. */
enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin, struct error *error);

#endif
