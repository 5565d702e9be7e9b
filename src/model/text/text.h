/* Model text: the front end that turns equations as people write them (man 5 stiffit-model) into
 * struct equations.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/equations.h"
#include "model/text/message.h"

#define TEXT_MAX_BYTES ((size_t)64 << 20)

/* Parses `n_byte` bytes of any content. Every fault is found in one pass and put into
 * `messages`. With faults the status is STATUS_BAD_MODEL, `error` has the first one in one line
 * ("PATH:LINE:COLUMN: ...") and the number of the others, and *equations is NULL. `origin` names
 * the text in messages. Otherwise STATUS_NO_MEMORY or STATUS_OK, possibly with warnings. Pure:
 * reads only its arguments, ignores the locale; memory and time are bounded by a small multiple
 * of n_byte or by a message that the model is too large. */
enum status text_parse(const char *text, size_t n_byte, const char *origin,
                       struct equations **equations, struct text_messages *messages,
                       struct error *error);

/* Whether the bytes are to be read as model text: their name ends in .ode, or they are text that
 * declares parameters and observables as model text does. Never for the bytes of an executable
 * file, whatever its name. */
bool kind_is_model_text(const void *bytes, size_t n_byte, const char *name);

/* Whether the text seems to give the model a name; else it is called after its file. */
bool kind_text_is_named(const char *text, size_t n_byte);
