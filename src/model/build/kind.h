/* What a file given as a model contains: model text or native code. Bytes are checked before the loader sees them: the user
 * learns what a wrong file is, and a truncated object, which would crash the loader, is rejected.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_KIND_H
#define MODEL_BUILD_KIND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes should be read as model text: the file's name ends in .ode, or they declare parameters and observables as
 * model text does. Never for the bytes of an executable file, whatever its name. */
bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name);

/* Whether the text seems to name the model; otherwise it is named after its file. */
bool kind_text_is_named(const char *text, size_t n_byte);

/* OK if the bytes look like a complete shared object for this machine (without <elf.h>: if they are not text). Otherwise
 * STATUS_BAD_MODEL; the message says what they are and what to do. `origin` names them: a path, or any label. */
enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin, struct error *error);

#endif
