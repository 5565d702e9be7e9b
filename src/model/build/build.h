/* From model text to the bytes of a plugin: parse, derive, generate, compile; with the compile cache in between.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_BUILD_H
#define MODEL_BUILD_BUILD_H

#include "base/error.h"
#include "model/build/compile.h"
#include "model/text/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Hears of a text that has errors, all of them; `context` is the listener's. */
typedef void build_show(void *context, const struct text_messages *messages, const char *text, size_t n_byte,
                        const char *origin);

/* Zero-initialised: for this CPU, with the cache, in silence. */
struct build_options {
    bool portable; /* for any CPU of this kind; else for this very one (-march=native) */
    bool no_cache; /* neither look into the cache nor put anything there */
    bool anew;     /* do not look into the cache, but put the plugin there */
    bool warn;     /* tell the warnings that the text deserves */
    struct build_listener listener;
    build_show *show; /* then `error` holds only how many errors there are; NULL: it holds the first one */
};

/* A plugin, with what is known of it; built_fini is legal after a failure, too. STATUS_BAD_MODEL: faults in the text (error
 * says the first; `messages`, which may be NULL, has them all) or the compiler is missing or failed; STATUS_STOPPED: a signal
 * asked us to stop; STATUS_SYSTEM, STATUS_NO_MEMORY otherwise. A cache that cannot be read or written is no error. `options`
 * may be NULL. */
enum status build_model(const char *text, size_t n_byte, const char *origin, const struct build_options *options,
                        struct built *built, struct text_messages *messages, struct error *error);

/* The generated C source of the text (*source to be freed; NUL-terminated). As above without the compiler. */
enum status build_source(const char *text, size_t n_byte, const char *origin, char **source, struct text_messages *messages,
                         struct error *error);

#endif
