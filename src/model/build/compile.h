/* Running the system's C compiler on generated source.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_COMPILE_H
#define MODEL_BUILD_COMPILE_H

#include "model/build/compiler.h"
#include "model/build/wait.h"

#include <stdbool.h>
#include <stddef.h>

/* A plugin as it came from the compiler or from the cache. Zero-initialise; built_fini is then always legal. */
struct built {
    void *bytes;
    size_t n_byte;
    char *compiler;  /* for the provenance: the compiler's own words of itself, and its options */
    bool from_cache;
};

void built_fini(struct built *built);

struct compile_request {
    const char *source; /* C */
    size_t n_byte;
    const char *origin; /* what the model is called in messages */
    bool portable;      /* for any CPU of this kind, else for this very one */
};

/* Compiles in a private folder under $TMPDIR that is gone again afterwards, and beside a copy of stiffit/model.h. No
 * shell is involved, and no C flags but ours and those in $CC. STATUS_BAD_MODEL: the compiler failed, its first words
 * are in the message; STATUS_STOPPED: somebody asked us to stop (`wait` says how); STATUS_SYSTEM, STATUS_NO_MEMORY. */
enum status compile_plugin(const struct compiler *compiler, const struct compile_request *request, struct build_wait *wait,
                           struct built *built, struct error *error);

/* The text of include/stiffit/model.h; its file is made by the Makefile. */
extern const char compile_model_header[];

#endif
