/* A loaded and checked model: a plugin, given as such or built from model text.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/words.h"
#include "model/build/build.h"

#include <stiffit/model.h>

/* Immutable once loaded; shared by all threads. `abi` is our own full-size copy: fields unknown
 * to the plugin's header are zero. Its names point into the plugin. */
struct model {
    struct stiffit_model abi;
    char *path;       /* its origin, for messages */
    char sha256[65];  /* of the bytes that were loaded, or of the text; lower-case hexadecimal */
    void *handle;
    struct stiffit_lanes *lanes; /* our copy of the functions of lanes, likewise; NULL: none */
    /* of the plugin's functions of lanes, 0: none; abi.lanes is NULL unless it is STIFFIT_LANES */
    uint32_t n_lane;
    char *source;     /* the model text; NULL: native code was given */
    char *compiler;   /* the compiler that built the text, for the provenance; or NULL */
};

/* Loads the model at `path`: a plugin, or model text (model/text/text.h), which is compiled for
 * this CPU unless the cache has it. Reads the bytes, hashes them, and loads exactly those bytes
 * (a plugin is copied to a private place first, so that nobody can exchange the file in
 * between). Fails with STATUS_BAD_MODEL or STATUS_SYSTEM and a message that says what is wrong
 * (not a shared object, no descriptor, another ABI, a required function missing, names not
 * unique, faults in the text, ...). `expected_sha256` may be NULL; otherwise it must match. */
enum status model_load(struct model *model, const char *path, const char *expected_sha256,
                       struct error *error);
/* model_load with options for compiling text, or NULL. */
enum status model_load_with(struct model *model, const char *path, const char *expected_sha256,
                            const struct build_options *options, struct error *error);

/* The steps of model_load, for callers that need the bytes before they are run: reads a file
 * (free *bytes); loads native code from memory; builds text from memory, which is harmless.
 * `origin` names the bytes in messages. */
enum status model_read(const char *path, char **bytes, size_t *n_byte, struct error *error);
enum status model_load_bytes(struct model *model, const void *bytes, size_t n_byte,
                             const char *origin, const char *expected_sha256, struct error *error);
enum status model_load_text(struct model *model, const char *text, size_t n_byte,
                            const char *origin, const char *expected_sha256,
                            const struct build_options *options, struct error *error);
void model_unload(struct model *model);

/* Checks of a descriptor (descriptor.c): everything that can be wrong without calling any of its
 * functions. */
enum {
    MODEL_MAX_COUNT = 100000,
    MODEL_MAX_WORK = 10000000,
    MODEL_MAX_NONZERO = 100000000,
    MODEL_MAX_NAME = NAME_BYTES - 1
};

/* Copies the part of the descriptor that the plugin's header knew into the model's `abi` and
 * `lanes`; the rest becomes zero, and so do functions of another number of lanes than ours;
 * n_lane: their number. ABI version and sizes are checked first. The model's path names the
 * plugin in messages. */
enum status descriptor_copy(struct model *model, const struct stiffit_model *descriptor,
                            struct error *error);

/* STATUS_BAD_MODEL with all faults (up to a dozen), one per line. Reads the plugin's arrays. */
enum status descriptor_check(const struct stiffit_model *abi, const char *origin,
                             struct error *error);

/* The bits of enum note (base/outcome.h) for the derivatives that this model lacks. */
uint32_t model_missing_derivatives(const struct model *model);
