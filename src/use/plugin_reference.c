/* Finds and reads a plugin's file without running it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/plugin_reference.h"

#include "model/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum status plugin_reference_embed(struct plugin_reference *reference, const unsigned char *bytes, size_t n_byte,
                                   struct error *error)
{
    unsigned char digest[SHA256_BYTES];
    reference->bytes = malloc(n_byte + 1);
    if (!reference->bytes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a plugin of %zu bytes", n_byte);
    memcpy(reference->bytes, bytes, n_byte);
    reference->n_byte = n_byte;
    sha256_of(reference->bytes, n_byte, digest);
    sha256_hex(digest, reference->sha256);
    return STATUS_OK;
}

static enum status read_bytes(struct plugin_reference *reference, const char *path, struct error *error)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &about)) {
        error_system(error, errno, "%s: cannot be read", path);
        if (file)
            fclose(file);
        return STATUS_SYSTEM;
    }
    size_t n = (size_t)about.st_size;
    unsigned char *bytes = malloc(n + 1);
    enum status status = STATUS_OK;
    if (!bytes)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %s (%zu bytes)", path, n);
    else if (fread(bytes, 1, n, file) != n)
        status = error_set(error, STATUS_SYSTEM, "%s: cannot be read completely", path);
    else
        status = plugin_reference_embed(reference, bytes, n, error);
    free(bytes);
    fclose(file);
    return status;
}

enum status plugin_reference_init(struct plugin_reference *reference, const struct model *model, const char *path, bool embed,
                                  struct error *error)
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
    if (embed)
        return read_bytes(reference, path, error);
    reference->path = realpath(path, NULL);
    return reference->path ? STATUS_OK : error_system(error, errno, "%s: cannot be found", path);
}

void plugin_reference_use(const struct plugin_reference *reference, struct problem_header *header)
{
    header->model_plugin = reference->path;
    header->model_source = reference->source;
    header->model_name = reference->name;
    header->model_bytes = reference->bytes;
    header->n_model_byte = reference->n_byte;
    header->model_sha256 = reference->sha256[0] ? reference->sha256 : NULL;
}

void plugin_reference_fini(struct plugin_reference *reference)
{
    free(reference->path);
    free(reference->source);
    free(reference->name);
    free(reference->bytes);
    memset(reference, 0, sizeof *reference);
}
