/* The steps from text to plugin. The cache is searched first; only then is the text translated.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/build.h"

#include "base/clock.h"
#include "base/version.h"
#include "base/words.h"
#include "model/build/cache.h"
#include "model/generate/generate.h"
#include "model/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <stiffit/model.h>
#include <string.h>

/* One text being built; its parts are made when first needed. */
struct making {
    const char *text, *origin;
    size_t n_byte;
    const struct build_options *options;
    struct equations *equations;
    struct text_messages own_messages, *messages;
    struct cache cache;
    struct cache_lock lock;
    int64_t touched_ns;
    struct build_wait wait;
};

/* While the compiler works: a sign of life once a second, for other processes and for our own
 * supervisor. */
static void beat(void *context)
{
    struct making *making = context;
    const struct build_listener *outer = &making->options->listener;
    if (clock_now_ns() - making->touched_ns > 1000000000) {
        making->touched_ns = clock_now_ns();
        cache_touch(&making->lock);
    }
    if (outer->beat)
        outer->beat(outer->context);
}

static void tell(void *context, const char *line)
{
    const struct build_listener *outer = &((struct making *)context)->options->listener;
    if (outer->tell)
        outer->tell(outer->context, line);
}

static void tell_warnings(struct making *making)
{
    enum { SHOWN = 3 };
    size_t n = 0;
    char line[700];
    for (size_t i = 0; i < making->messages->n_message; i++) {
        const struct text_message *message = &making->messages->message[i];
        if (n++ >= SHOWN)
            continue;
        snprintf(line, sizeof line, "%.200s:%u:%u: %s: %.400s", making->origin, message->line,
                 message->column, message->is_error ? "error" : "warning", message->text);
        tell(making, line);
    }
    n += making->messages->n_dropped;
    if (n > SHOWN) {
        snprintf(line, sizeof line, "%.200s: and %zu more warning%s", making->origin, n - SHOWN,
                 n - SHOWN == 1 ? "" : "s");
        tell(making, line);
    }
}

static enum status parse(struct making *making, struct error *error)
{
    if (making->equations)
        return STATUS_OK;
    enum status status = text_parse(making->text, making->n_byte, making->origin,
                                    &making->equations, making->messages, error);
    size_t n = making->messages->n_error;
    if (status != STATUS_BAD_MODEL || n == 0 || !making->options->show)
        return status;
    making->options->show(making->options->listener.context, making->messages, making->text,
                          making->n_byte, making->origin);
    return error_set(error, status, "%s: %zu %s", making->origin, n, n == 1 ? "error" : "errors");
}

/* Generates the C source, whose bytes depend only on the text and the generator. */
static enum status generate(struct making *making, char **source, size_t *n_source,
                            struct error *error)
{
    struct functions functions;
    *source = NULL;
    enum status status = parse(making, error);
    if (!status)
        status = functions_derive(making->equations, &functions, error);
    if (status)
        return status;
    FILE *memory = open_memstream(source, n_source);
    if (memory)
        status = generate_c(making->equations, &functions, memory, error);
    bool failed = !memory || ferror(memory);
    if ((memory && fclose(memory)) || failed)
        status = status ? status
                        : error_set(error, STATUS_NO_MEMORY, "%s: out of memory for the C source",
                                    making->origin);
    functions_fini(&functions);
    if (status) {
        free(*source);
        *source = NULL;
    }
    return status;
}

static void make_key(const struct making *making, const struct compiler *compiler,
                     char key[SHA256_HEX])
{
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add_string(&hash, STIFFIT_VERSION);
    sha256_add_uint64(&hash, STIFFIT_ABI_VERSION);
    sha256_add_string(&hash, compile_model_header);
    sha256_add_uint64(&hash, GENERATOR_VERSION);
    sha256_add_string(&hash, kind_text_is_named(making->text, making->n_byte)
                                 ? NULL
                                 : words_file(making->origin));
    sha256_add_uint64(&hash, making->n_byte);
    sha256_add(&hash, making->text, making->n_byte);
    compiler_hash(compiler, &hash);
    machine_hash(!making->options->portable, &hash);
    sha256_end_hex(&hash, key);
}

static enum status compile(struct making *making, const struct compiler *compiler,
                           struct built *built, struct error *error)
{
    char *source;
    size_t n_source = 0;
    enum status status = generate(making, &source, &n_source, error);
    if (status)
        return status;
    const struct compile_request request = {.source = source,
                                            .n_byte = n_source, .origin = making->origin,
                                            .portable = making->options->portable};
    status = compile_plugin(compiler, &request, &making->wait, built, error);
    free(source);
    return status;
}

static enum status find_or_compile(struct making *making, struct built *built, struct error *error)
{
    struct compiler compiler;
    char key[SHA256_HEX];
    enum cache_claim claim = CACHE_NO_LOCK;
    enum status status = compiler_find(&compiler, error);
    if (status)
        return error_context(error, "%s", making->origin);
    making->cache.folder = -1;
    if (!making->options->no_cache)
        cache_open(&making->cache, &making->wait);
    make_key(making, &compiler, key);
    if (!making->options->anew)
        claim = cache_claim(&making->cache, key, &making->wait, &making->lock, built);
    if (claim == CACHE_STOPPED)
        status =
            error_set(error, STATUS_STOPPED,
                      "stopped by a signal while the model %s was being compiled", making->origin);
    else if (claim != CACHE_HAS_IT)
        status = compile(making, &compiler, built, error);
    if (!status && claim != CACHE_HAS_IT)
        cache_put(&making->cache, key, built);
    cache_unlock(&making->cache, &making->lock);
    cache_close(&making->cache);
    compiler_fini(&compiler);
    return status;
}

static void making_init(struct making *making, const char *text, size_t n_byte, const char *origin,
                        const struct build_options *options, struct text_messages *messages)
{
    *making = (struct making){.text = text,
                              .n_byte = n_byte, .origin = origin, .options = options,
                              .lock = {.file = -1}};
    making->messages = messages ? messages : &making->own_messages;
}

static void making_fini(struct making *making)
{
    equations_free(making->equations);
    text_messages_fini(&making->own_messages);
}

enum status build_model(const char *text, size_t n_byte, const char *origin,
                        const struct build_options *options, struct built *built,
                        struct text_messages *messages, struct error *error)
{
    static const struct build_options plain = {.portable = false};
    struct making making;
    making_init(&making, text, n_byte, origin, options ? options : &plain, messages);
    const struct build_listener listener = {.beat = beat, .tell = tell, .context = &making};
    *built = (struct built){.bytes = NULL};
    wait_begin(&making.wait, &listener);
    enum status status = STATUS_OK;
    if (messages || making.options->warn) /* otherwise a text found in the cache need not be read */
        status = parse(&making, error);
    if (!status && making.options->warn)
        tell_warnings(&making);
    if (!status)
        status = find_or_compile(&making, built, error);
    making_fini(&making);
    wait_end(&making.wait);
    return status;
}

enum status build_source(const char *text, size_t n_byte, const char *origin, char **source,
                         struct text_messages *messages, struct error *error)
{
    static const struct build_options plain = {.portable = false};
    struct making making;
    size_t n_source = 0;
    making_init(&making, text, n_byte, origin, &plain, messages);
    enum status status = generate(&making, source, &n_source, error);
    making_fini(&making);
    return status;
}
