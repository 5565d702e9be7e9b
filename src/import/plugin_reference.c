/* Finds and reads a plugin's file without running it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/plugin_reference.h"

#include "model/text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum status plugin_reference_embed(struct plugin_reference *reference, const unsigned char *bytes,
                                   size_t n_byte, struct error *error)
{
    reference->bytes = malloc(n_byte + 1);
    if (!reference->bytes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a plugin of %zu bytes",
                         n_byte);
    memcpy(reference->bytes, bytes, n_byte);
    reference->n_byte = n_byte;
    sha256_hex_of(reference->bytes, n_byte, reference->sha256);
    return STATUS_OK;
}

enum status plugin_reference_init(struct plugin_reference *reference, const struct model *model,
                                  const char *path, bool embed, struct error *error)
{
    if (model->source) {
        bool named = kind_text_is_named(model->source, strlen(model->source));
        reference->source = strdup(model->source);
        reference->name = named ? NULL : strdup(model->abi.name);
        memcpy(reference->sha256, model->sha256, sizeof reference->sha256);
        if (!reference->source || (!named && !reference->name))
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the model's text");
        return STATUS_OK;
    }
    if (embed) {
        char *bytes = NULL;
        size_t n_byte;
        enum status status = model_read(path, &bytes, &n_byte, error);
        if (!status)
            status = plugin_reference_embed(reference, (unsigned char *)bytes, n_byte, error);
        free(bytes);
        return status;
    }
    reference->path = realpath(path, NULL);
    return reference->path ? STATUS_OK : error_system(error, errno, "%s: cannot be found", path);
}

struct problem_model plugin_reference_model(const struct plugin_reference *reference)
{
    return (struct problem_model){.plugin = reference->path, .source = reference->source,
                                  .name = reference->name, .bytes = reference->bytes,
                                  .n_byte = reference->n_byte,
                                  .sha256 = reference->sha256[0] ? reference->sha256 : NULL};
}

void plugin_reference_fini(struct plugin_reference *reference)
{
    free(reference->path);
    free(reference->source);
    free(reference->name);
    free(reference->bytes);
    memset(reference, 0, sizeof *reference);
}
