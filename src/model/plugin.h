/* A loaded and checked model: a plugin as it is, or one that is made from model text on the way.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_PLUGIN_H
#define MODEL_PLUGIN_H

#include "base/error.h"
#include "model/build/build.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>

/* Immutable once loaded; shared by all threads. `abi` is our own full-size copy: fields that the plugin's header did
 * not know yet are zero. The names in it point into the plugin. */
struct model {
    struct stiffit_model abi;
    char *path;       /* where it came from, for messages */
    char sha256[65];  /* of the very bytes that were loaded, or of the text; lower-case hexadecimal */
    void *handle;
    char *source;     /* the model text; NULL: native code was given */
    char *compiler;   /* what compiled the text: words for the provenance, or NULL */
};

/* Loads the model at `path`: a plugin, or model text (model/text/text.h), which is compiled for this CPU unless the cache
 * has it. Reads the bytes, hashes them, and loads exactly those bytes (a plugin is copied to a private place first, so
 * that nobody can exchange the file in between). Fails with STATUS_BAD_MODEL or STATUS_SYSTEM and a message that says
 * what is wrong (not a shared object, no descriptor, another ABI, a required function missing, names not unique, faults
 * in the text, ...). `expected_sha256` may be NULL; otherwise it must match. */
enum status model_load(struct model *model, const char *path, const char *expected_sha256, struct error *error);
/* The same with a say in how text is compiled; `options` may be NULL. */
enum status model_load_with(struct model *model, const char *path, const char *expected_sha256,
                            const struct build_options *options, struct error *error);

/* The parts of it, for callers that must know the bytes before they are run: the file's bytes (*bytes to be freed),
 * native code held in memory, and text held in memory, which can do no harm. `origin` names them in messages. */
enum status model_read(const char *path, char **bytes, size_t *n_byte, struct error *error);
enum status model_load_bytes(struct model *model, const void *bytes, size_t n_byte, const char *origin,
                             const char *expected_sha256, struct error *error);
enum status model_load_text(struct model *model, const char *text, size_t n_byte, const char *origin,
                            const char *expected_sha256, const struct build_options *options, struct error *error);
void model_unload(struct model *model);

/* Checks of a descriptor (descriptor.c): everything that can be wrong in it without any of its functions being called. */
enum { MODEL_MAX_COUNT = 100000, MODEL_MAX_WORK = 10000000, MODEL_MAX_NONZERO = 100000000, MODEL_MAX_NAME = 255 };

/* Copies what the plugin's header knew of the descriptor into `copy`; the rest becomes zero. ABI version and size are
 * checked before anything else is read. `origin` names the plugin in messages. */
enum status descriptor_copy(struct stiffit_model *copy, const struct stiffit_model *descriptor, const char *origin,
                            struct error *error);

/* STATUS_BAD_MODEL with all faults (up to a dozen), one a line. Reads the plugin's arrays. */
enum status descriptor_check(const struct stiffit_model *abi, const char *origin, struct error *error);

/* The bits of enum note (base/outcome.h) for the derivatives that this model lacks. */
uint32_t model_missing_derivatives(const struct model *model);
/* Index of a name, or -1. */
int model_find(const char *const *names, size_t n, const char *name);
#define model_find_parameter(model, name) model_find((model)->abi.parameter_name, (model)->abi.n_parameter, name)
#define model_find_observable(model, name) model_find((model)->abi.observable_name, (model)->abi.n_observable, name)
#define model_find_covariate(model, name) model_find((model)->abi.covariate_name, (model)->abi.n_covariate, name)

#endif
