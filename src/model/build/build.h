/* Builds a plugin from model text: parses, derives, generates and compiles, with the compile
 * cache in between.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "model/build/compile.h"
#include "model/text/text.h"

/* Receives all messages about a text that has errors; `context` is the listener's. */
typedef void build_show(void *context, const struct text_messages *messages, const char *text,
                        size_t n_byte, const char *origin);

/* Zero-initialised: for this CPU, with the cache, without messages. */
struct build_options {
    bool portable; /* for any CPU of this architecture; otherwise for this one (-march=native) */
    bool no_cache; /* neither read the cache nor write to it */
    bool anew;     /* do not read the cache, but write to it */
    bool warn;     /* report warnings about the text */
    struct build_listener listener;
    /* `error` then holds only the number of errors; NULL: it holds the first error */
    build_show *show;
};

/* Builds a plugin; built_fini is legal after a failure, too. STATUS_BAD_MODEL: faults in the
 * text (`error` has the first, `messages`, unless NULL, all of them), or the compiler is missing
 * or failed; STATUS_STOPPED: a signal asked us to stop; STATUS_SYSTEM, STATUS_NO_MEMORY
 * otherwise. A cache that cannot be read or written is not an error. `options` may be NULL. */
enum status build_model(const char *text, size_t n_byte, const char *origin,
                        const struct build_options *options, struct built *built,
                        struct text_messages *messages, struct error *error);

/* Generates the C source of the text (NUL-terminated; free *source). Errors are those of
 * build_model, but the compiler's. */
enum status build_source(const char *text, size_t n_byte, const char *origin, char **source,
                         struct text_messages *messages, struct error *error);
