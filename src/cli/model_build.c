/* `stiffit model build`: model text to plugins, and the C source in between.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/model_text.h"
#include "model/build/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct build_call {
    const char *output, *c_source;
    bool portable, no_cache, json, quiet;
    enum when color;
};

#define FIELD(name) offsetof(struct build_call, name)

static const struct option table[] = {
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true, .is_output = true, .default_text = "MODEL.so",
     .help = "the plugin to write, or a folder for it; - is standard output"},
    {.name = "portable", .kind = OPTION_FLAG, .offset = FIELD(portable),
     .help = "compile for any CPU of this architecture, not only for this CPU"},
    {.name = "c", .letter = 'c', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(c_source), .is_file = true, .is_output = true,
     .help = "write the generated C source (- is standard output); without -o nothing is compiled"},
    {.name = "no-cache", .kind = OPTION_FLAG, .offset = FIELD(no_cache),
     .help = "compile even if the cache has the model"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
     .help = "print errors, warnings and what was built as JSON"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
     .help = "print only errors"},
    OPTION_COLOR(FIELD(color)),
};

/* The result for one model. */
struct outcome {
    struct model_text text;
    char *plugin; /* path, or NULL */
    size_t n_byte;
    double seconds;
    bool from_cache;
};

/* The path of the plugin for `path`; free it. */
static char *plugin_path(const struct build_call *call, const char *path)
{
    struct stat about;
    bool into_folder = call->output && stat(call->output, &about) == 0 && S_ISDIR(about.st_mode);
    if (call->output && !into_folder)
        return strdup(call->output);
    const char *slash = strrchr(path, '/'), *name = into_folder && slash ? slash + 1 : path;
    size_t length = strlen(name), size = length + (into_folder ? strlen(call->output) : 0) + 5;
    if (length > 4 && !strcmp(name + length - 4, ".ode"))
        length -= 4;
    else if (length > 3 && !strcmp(name + length - 3, ".h5"))
        length -= 3;
    char *made = malloc(size);
    if (made)
        snprintf(made, size, "%s%s%.*s.so", into_folder ? call->output : "", into_folder ? "/" : "",
                 (int)length, name);
    return made;
}

/* Refuses to overwrite the text itself, to which MODEL.so may be a symbolic link. */
static enum status write_file(const char *path, const char *model, const void *bytes, size_t n_byte,
                              struct error *error)
{
    struct output output = {.file = NULL};
    enum status status = spare_file(path, model, error);
    if (!status)
        status = output_open(&output, path, true, error);
    if (!status) {
        fwrite(bytes, 1, n_byte, output.file);
        status = output_finish(&output, error);
    }
    output_close(&output);
    return status;
}

static enum status write_source(const struct build_call *call, const char *path,
                                const struct model_text *text, struct error *error)
{
    char *source = NULL;
    enum status status = build_source(text->text, text->n_byte, text->origin, &source, NULL, error);
    if (!status)
        status = write_file(call->c_source, path, source, strlen(source), error);
    free(source);
    return status;
}

static enum status compile(const struct build_call *call, const char *path, struct outcome *outcome,
                           struct error *error)
{
    struct build_options options = {.portable = call->portable, .no_cache = call->no_cache};
    struct built built = {.bytes = NULL};
    int64_t begun = clock_now_ns();
    if (!call->quiet)
        options.listener.tell = message_hear;
    outcome->plugin = plugin_path(call, path);
    enum status status =
        outcome->plugin ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory");
    if (!status)
        status = build_model(outcome->text.text, outcome->text.n_byte, outcome->text.origin,
                             &options, &built, NULL, error);
    if (!status)
        status = write_file(outcome->plugin, path, built.bytes, built.n_byte, error);
    outcome->n_byte = built.n_byte;
    outcome->from_cache = built.from_cache;
    outcome->seconds = (double)(clock_now_ns() - begun) * 1e-9;
    built_fini(&built);
    if (status) {
        free(outcome->plugin);
        outcome->plugin = NULL;
    }
    return status;
}

static void say(const struct outcome *outcome)
{
    const struct equations *equations = outcome->text.equations;
    if (!outcome->plugin || !strcmp(outcome->plugin, "-"))
        return;
    message_say("%.500s: %u state%s, %u parameter%s, %u observable%s; %zu KiB in %.2f s%s",
                outcome->plugin, equations->n_state, plural(equations->n_state),
                equations->n_parameter, plural(equations->n_parameter), equations->n_observable,
                plural(equations->n_observable), (outcome->n_byte + 1023) / 1024, outcome->seconds,
                outcome->from_cache ? ", from the cache" : "");
}

static void put_outcome(struct json *json, const char *path, const struct outcome *outcome,
                        enum status status, const struct error *error)
{
    json_object_begin(json, NULL);
    json_string(json, "file", path);
    model_text_put_messages(&outcome->text, json);
    json_unsigned(json, "errors", outcome->text.messages.n_error);
    json_string(json, "error", status ? error->message : NULL);
    if (outcome->text.equations) {
        const struct equations *equations = outcome->text.equations;
        json_string(json, "model", equations->name);
        json_unsigned(json, "states", equations->n_state);
        json_unsigned(json, "parameters", equations->n_parameter);
        json_unsigned(json, "observables", equations->n_observable);
    }
    if (outcome->plugin) {
        json_string(json, "plugin", outcome->plugin);
        json_unsigned(json, "bytes", outcome->n_byte);
        json_number(json, "seconds", outcome->seconds);
        json_boolean(json, "from_cache", outcome->from_cache);
    }
    json_object_end(json);
}

/* One model from text to plugin. Returns the exit code. */
static int build_one(const struct build_call *call, const char *path, struct json *json)
{
    struct outcome outcome = {.plugin = NULL};
    struct error error = {.status = STATUS_OK};
    enum when color = call->color;
    enum status status = model_text_read(&outcome.text, path, &error);
    if (!status)
        status = model_text_parse(&outcome.text, &error);
    if (!json && (!call->quiet || outcome.text.messages.n_error))
        model_text_show(&color, &outcome.text.messages, outcome.text.text, outcome.text.n_byte,
                        outcome.text.origin);
    if (!status && call->c_source)
        status = write_source(call, path, &outcome.text, &error);
    if (!status && (call->output || !call->c_source))
        status = compile(call, path, &outcome, &error);
    if (json)
        put_outcome(json, path, &outcome, status, &error);
    else if (!status && !call->quiet)
        say(&outcome);
    int code = !status ? 0 : json ? status_exit_code(status) : message_error(&error, color);
    free(outcome.plugin);
    model_text_fini(&outcome.text);
    return code;
}

static enum status check_call(const struct build_call *call, const struct option_words *words,
                              struct error *error)
{
    struct stat about;
    bool to_stdout = (call->output && !strcmp(call->output, "-")) ||
                     (call->c_source && !strcmp(call->c_source, "-"));
    bool one_file = call->c_source ||
                    (call->output && !(stat(call->output, &about) == 0 && S_ISDIR(about.st_mode)));
    if (words->n_positional > 1 && one_file)
        return error_set(error, STATUS_USAGE,
                         "%zu models cannot go into one file\nGive -o a folder that exists, "
                         "without --c.",
                         words->n_positional);
    if (to_stdout && call->json)
        return error_set(error, STATUS_USAGE,
                         "--json and another output cannot both go to standard output");
    for (size_t i = 0; i < words->n_positional; i++)
        if (!strcmp(words->positional[i], "-") && (!call->output || !one_file) && !call->c_source)
            return error_set(error, STATUS_USAGE, "a model from standard input needs -o FILE");
    return STATUS_OK;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct build_call call = {.output = NULL};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    struct json json;
    int code =
        command_parse(self, &call, &words, OPTION_MAX_POSITIONAL, argc, argv);
    if (code >= 0)
        return code;
    if (check_call(&call, &words, &error))
        return message_usage("model build", &error, call.color);
    if (call.json) {
        json_begin(&json, stdout);
        json_array_begin(&json, NULL);
    }
    code = 0;
    for (size_t i = 0; i < words.n_positional; i++) {
        int one = build_one(&call, words.positional[i], call.json ? &json : NULL);
        code = one > code ? one : code;
    }
    if (call.json)
        json_end(&json);
    return command_close_output(code);
}

const struct command command_model_build = {
    .name = "model build", .synopsis = "MODEL.ode ...",
    .summary = "compile model text into a plugin, or into C",
    .example = "stiffit model build decay.ode\nstiffit model build decay.ode --c decay.c",
    .needs = "model",
    .description =
        "Compiles MODEL.ode into MODEL.so next to it: the equations and all their derivatives, by "
        "way of C and the system's compiler ($CC, otherwise cc). This is seldom needed: commands "
        "that take a plugin also take text, and cache what they compile. All errors in the text "
        "are shown at once, with their lines.",
    .table = COMMAND_TABLE(table), .run = run};
