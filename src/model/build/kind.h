/* What a file that was given as a model holds: model text or native code. A shared object's bytes are looked at before the
 * loader sees them: it is said in the user's words what a wrong file is, and a truncated object, which the loader would map and
 * die of, is turned away.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_KIND_H
#define MODEL_BUILD_KIND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes are to be read as model text: their name ends in .ode, or they are text that declares parameters
 * and observables as model text does. Never for the bytes of an executable file, whatever their name. */
bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name);

/* Whether the text seems to give the model a name; else it is called after its file. */
bool kind_text_is_named(const char *text, size_t n_byte);

/* OK if the bytes look like a complete shared object for this machine (or, where <elf.h> is unknown, are no text);
 * otherwise STATUS_BAD_MODEL with what they are instead and what to do. `origin` names them: a path, or any label. */
enum status elf_image_check(const void *bytes, size_t n_byte, const char *origin, struct error *error);

#endif
