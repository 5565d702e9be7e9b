/* Loads a plugin: reads its bytes, hashes them, loads exactly those bytes as a shared object,
 * and checks the descriptor.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/plugin.h"

#include "base/outcome.h"
#include "base/sha256.h"
#include "model/build/shared_object.h"
#include "model/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PLUGIN_BYTES ((size_t)256 << 20)

/* An open file's bytes; free them after a failure, too. */
static enum status read_bytes(int fd, const char *path, char **bytes, size_t *n_byte,
                              struct error *error)
{
    struct stat info;
    *n_byte = 0;
    if (fstat(fd, &info) != 0)
        return error_system(error, errno, "cannot read the model %s", path);
    if (!S_ISREG(info.st_mode))
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: this is %s, not a model; give the path of a model text (.ode) or "
                         "a plugin (.so)",
                         path, S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
    if ((uintmax_t)info.st_size > MAX_PLUGIN_BYTES)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: a model can have at most 256 MiB, and this file has %ju bytes", path,
                         (uintmax_t)info.st_size);
    *bytes = malloc((size_t)info.st_size + 1);
    if (!*bytes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory while reading the model %s", path);
    while (*n_byte < (size_t)info.st_size) {
        ssize_t n = read(fd, *bytes + *n_byte, (size_t)info.st_size - *n_byte);
        if (n < 0 && errno != EINTR)
            return error_system(error, errno, "cannot read the model %s", path);
        if (n == 0)
            break; /* the file was truncated while it was read; the checks of its bytes will fail */
        *n_byte += n > 0 ? (size_t)n : 0;
    }
    return STATUS_OK;
}

enum status model_read(const char *path, char **bytes, size_t *n_byte, struct error *error)
{
    /* O_NONBLOCK: a pipe must not hold us up before it is turned away. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *read = NULL;
    if (fd < 0)
        return error_system(error, errno, "cannot open the model %s", path);
    enum status status = read_bytes(fd, path, &read, n_byte, error);
    close(fd);
    if (status)
        free(read);
    else
        *bytes = read;
    return status;
}

enum status model_load(struct model *model, const char *path, const char *expected_sha256,
                       struct error *error)
{
    return model_load_with(model, path, expected_sha256, NULL, error);
}

enum status model_load_with(struct model *model, const char *path, const char *expected_sha256,
                            const struct build_options *options, struct error *error)
{
    *model = (struct model){0};
    char *bytes = NULL;
    size_t n_byte = 0;
    enum status status = model_read(path, &bytes, &n_byte, error);
    if (!status && kind_is_model_text(bytes, n_byte, path))
        status = model_load_text(model, bytes, n_byte, path, expected_sha256, options, error);
    else if (!status)
        status = model_load_bytes(model, bytes, n_byte, path, expected_sha256, error);
    free(bytes);
    return status;
}

/* Path and hash: the first step for both kinds. */
static enum status identify(struct model *model, const void *bytes, size_t n_byte,
                            const char *origin, const char *expected_sha256, struct error *error)
{
    *model = (struct model){0};
    model->path = strdup(origin);
    if (!model->path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory while loading the model %s",
                         origin);
    sha256_hex_of(bytes, n_byte, model->sha256);
    if (expected_sha256 && *expected_sha256 && strcasecmp(expected_sha256, model->sha256) != 0)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: this is not the expected model: its SHA-256 is %s and should be %s; "
                         "restore the old file, or "
                         "correct or remove the attribute sha256",
                         origin, model->sha256, expected_sha256);
    return STATUS_OK;
}

static enum status load_native(struct model *model, const void *bytes, size_t n_byte,
                               struct error *error)
{
    const char *origin = model->path;
    const struct stiffit_model *descriptor;
    enum status status = elf_image_check(bytes, n_byte, origin, error);
    if (status)
        return status;
    model->handle = shared_object_open_bytes(bytes, n_byte, origin, error);
    if (!model->handle)
        return error ? error->status : STATUS_BAD_MODEL;
    descriptor = shared_object_symbol(model->handle, "stiffit_model");
    if (!descriptor)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: this shared object is not a stiffit model: it has no symbol "
                         "stiffit_model; define "
                         "`STIFFIT_EXPORT const struct stiffit_model stiffit_model = "
                         "{STIFFIT_MODEL_HEADER, ...}` "
                         "(man 3 stiffit-model)",
                         origin);
    status = descriptor_copy(model, descriptor, error);
    return status ? status : descriptor_check(&model->abi, origin, error);
}

enum status model_load_bytes(struct model *model, const void *bytes, size_t n_byte,
                             const char *origin, const char *expected_sha256, struct error *error)
{
    enum status status = identify(model, bytes, n_byte, origin, expected_sha256, error);
    if (!status)
        status = load_native(model, bytes, n_byte, error);
    if (status)
        model_unload(model);
    return status;
}

/* A cached plugin may fail to load although it was made for a machine like this one; it is then
 * rebuilt. */
static enum status load_built(struct model *model, const char *text, size_t n_byte,
                              const struct build_options *options, struct error *error)
{
    struct build_options changed = {.portable = false};
    struct built built;
    if (options)
        changed = *options;
    for (;;) {
        enum status status = build_model(text, n_byte, model->path, &changed, &built, NULL, error);
        if (!status)
            status = load_native(model, built.bytes, built.n_byte, error);
        bool again = status && built.from_cache && !changed.anew;
        if (!again) {
            model->compiler = built.compiler;
            built.compiler = NULL;
        }
        built_fini(&built);
        if (!again)
            return status;
        shared_object_close(model->handle);
        free(model->lanes);
        model->handle = model->lanes = NULL;
        changed.anew = true;
        changed.warn = false;
    }
}

enum status model_load_text(struct model *model, const char *text, size_t n_byte,
                            const char *origin, const char *expected_sha256,
                            const struct build_options *options, struct error *error)
{
    enum status status = identify(model, text, n_byte, origin, expected_sha256, error);
    if (!status && !(model->source = malloc(n_byte + 1)))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory while loading the model %s", origin);
    if (!status) {
        memcpy(model->source, text, n_byte);
        model->source[n_byte] = '\0';
        status = load_built(model, text, n_byte, options, error);
    }
    if (status)
        model_unload(model);
    return status;
}

void model_unload(struct model *model)
{
    shared_object_close(model->handle);
    free(model->lanes);
    free(model->path);
    free(model->source);
    free(model->compiler);
    *model = (struct model){0};
}

/* Whether some parameter affects the functions of `bit`; true without masks. */
static bool some_parameter_enters(const struct stiffit_model *abi, unsigned bit)
{
    if (!abi->parameter_use)
        return true;
    for (size_t i = 0; i < abi->n_parameter; i++)
        if (abi->parameter_use[i] & bit)
            return true;
    return false;
}

uint32_t model_missing_derivatives(const struct model *model)
{
    const struct stiffit_model *abi = &model->abi;
#define LACKS(derivative, bit) (!abi->derivative && some_parameter_enters(abi, STIFFIT_USE_##bit))
    uint32_t missing = 0;
    bool has_states = abi->n_state > 0;
    if (has_states && !abi->jacobian && !abi->jacobian_sparse)
        missing |= NOTE_difference_jacobian;
    if (has_states && LACKS(rhs_parameter, RHS))
        missing |= NOTE_difference_rhs_parameter;
    if (has_states && LACKS(initial_parameter, INITIAL))
        missing |= NOTE_difference_initial;
    if ((has_states && !abi->observe_state) || LACKS(observe_parameter, OBSERVE))
        missing |= NOTE_difference_observe;
    if (abi->noise && ((has_states && !abi->noise_state) || LACKS(noise_parameter, NOISE)))
        missing |= NOTE_difference_noise;
#undef LACKS
    return missing;
}
