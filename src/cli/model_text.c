/* Reads model text from files, pipes and problem files.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/model_text.h"

#include "cli/command.h"
#include "io/problem/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum status model_file_kind(const char *path, enum model_file *kind, struct error *error)
{
    unsigned char head[8] = {0};
    *kind = MODEL_FILE_TEXT;
    if (!strcmp(path, "-"))
        return STATUS_OK;
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_system(error, errno, "%s: cannot be read", path);
    errno = 0;
    size_t n = fread(head, 1, sizeof head, file);
    int number = ferror(file) ? (errno ? errno : EIO) : 0;
    fclose(file);
    if (number)
        return error_system(error, number, "%s: cannot be read", path);
    if (n >= 4 && !memcmp(head, "\177ELF", 4))
        *kind = MODEL_FILE_PLUGIN;
    else if (n == 8 && !memcmp(head, "\211HDF\r\n\032\n", 8))
        *kind = MODEL_FILE_HDF5;
    return STATUS_OK;
}

/* Reads everything, up to one byte more than a text may have. */
static enum status read_stream(struct model_text *text, FILE *file, struct error *error)
{
    size_t room = 0;
    for (;;) {
        if (text->n_byte + 1 >= room) {
            room = room ? 2 * room : 65536;
            char *grown = realloc(text->text, room);
            if (!grown)
                return error_set(error, STATUS_NO_MEMORY, "%s: out of memory for its text",
                                 text->origin);
            text->text = grown;
        }
        errno = 0;
        size_t n = fread(text->text + text->n_byte, 1, room - 1 - text->n_byte, file);
        text->n_byte += n;
        text->text[text->n_byte] = '\0';
        if (ferror(file))
            return error_system(error, errno ? errno : EIO, "%s: cannot be read", text->origin);
        if (n == 0 || text->n_byte > TEXT_MAX_BYTES)
            return STATUS_OK; /* the parser reports that it is too long */
    }
}

static enum status read_problem(struct model_text *text, const char *path, struct error *error)
{
    struct problem *problem = NULL;
    enum status status = problem_open(&problem, path, error);
    if (status)
        return status;
    const struct problem_info *info = problem_info(problem);
    if (info->model.source) {
        text->text = strdup(info->model.source);
        text->n_byte = strlen(info->model.source);
        free(text->origin);
        text->origin = problem_source_origin(problem);
        if (!text->text || !text->origin)
            status = error_set(error, STATUS_NO_MEMORY, "%s: out of memory for its model", path);
    } else {
        status = error_set(error, STATUS_BAD_MODEL, "%s: contains no model text%s%s", path,
                           info->model.plugin ? "; its model is the plugin " : "",
                           info->model.plugin ? info->model.plugin : "");
    }
    problem_close(problem);
    return status;
}

enum status model_text_read(struct model_text *text, const char *path, struct error *error)
{
    enum model_file kind;
    enum status status = model_file_kind(path, &kind, error);
    if (status)
        return status;
    text->origin = strdup(strcmp(path, "-") ? path : "standard input");
    if (!text->origin)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    if (kind == MODEL_FILE_PLUGIN)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: a compiled plugin, not model text: it contains no equations", path);
    if (kind == MODEL_FILE_HDF5)
        return read_problem(text, path, error);
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    if (!file)
        return error_system(error, errno, "%s: cannot be read", path);
    status = read_stream(text, file, error);
    if (file != stdin)
        fclose(file);
    return status;
}

enum status model_text_parse(struct model_text *text, struct error *error)
{
    enum status status = text_parse(text->text, text->n_byte, text->origin, &text->equations,
                                    &text->messages, error);
    size_t n = text->messages.n_error;
    if (status == STATUS_BAD_MODEL && n > 0)
        error_set(error, status, "%s: %zu %s", text->origin, n, n == 1 ? "error" : "errors");
    return status;
}

enum status model_text_open(struct model_text *text, const char *path, bool warn, enum when color,
                            struct error *error)
{
    enum status status = model_text_read(text, path, error);
    if (!status)
        status = model_text_parse(text, error);
    if (warn || text->messages.n_error)
        model_text_show(&color, &text->messages, text->text, text->n_byte, text->origin);
    return status;
}

void model_text_fini(struct model_text *text)
{
    equations_free(text->equations);
    text_messages_fini(&text->messages);
    free(text->origin);
    free(text->text);
    *text = (struct model_text){.text = NULL};
}

static enum status load_from_problem(struct model *model, const char *path,
                                     const struct build_options *build, struct error *error)
{
    struct model_text text = {.text = NULL};
    enum status status = model_text_read(&text, path, error);
    if (!status)
        status = model_load_text(model, text.text, text.n_byte, text.origin, NULL, build, error);
    model_text_fini(&text);
    return status;
}

enum status model_text_load(struct model *model, const char *path, bool warn, bool quiet,
                            enum when color, struct error *error)
{
    const struct build_options build = {.warn = warn && !quiet,
                                        .show = model_text_show,
                                        .listener = {.tell = quiet ? NULL : message_hear,
                                                     .context = &color}};
    enum model_file kind = MODEL_FILE_TEXT;
    struct stat about;
    struct error ignored;
    bool is_problem = stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
                      !model_file_kind(path, &kind, &ignored) && kind == MODEL_FILE_HDF5;
    return is_problem ? load_from_problem(model, path, &build, error)
                      : model_load_with(model, path, NULL, &build, error);
}

void model_text_show(void *context, const struct text_messages *messages, const char *text,
                     size_t n_byte, const char *origin)
{
    text_messages_print(messages, text, n_byte, origin,
                        terminal_color(stderr, *(const enum when *)context), stderr);
}

void model_text_put_messages(const struct model_text *text, struct json *json)
{
    json_array_begin(json, "messages");
    for (size_t i = 0; i < text->messages.n_message; i++) {
        const struct text_message *message = &text->messages.message[i];
        json_object_begin(json, NULL);
        json_string(json, "severity", message->is_error ? "error" : "warning");
        json_unsigned(json, "line", message->line);
        json_unsigned(json, "column", message->column);
        json_unsigned(json, "length", message->length);
        json_string(json, "text", message->text);
        json_object_end(json);
    }
    json_array_end(json);
}
