/* Model text or native code: what a file that was given as a model holds.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_KIND_H
#define MODEL_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes are to be read as model text: their name ends in .ode, or they are text that declares parameters
 * and observables as model text does. Never for the bytes of an executable file, whatever their name. */
bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name);

/* Whether the text seems to give the model a name; else it is called after its file. */
bool kind_text_is_named(const char *text, size_t n_byte);

#endif
