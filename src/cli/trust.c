/* `stiffit trust`: the list of native code that may run although only a data file names it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/model_text.h"
#include "io/problem/problem.h"
#include "io/result/result.h"
#include "model/build/shared_object.h"
#include "model/plugin.h"
#include "model/text/text.h"
#include "run/plan/trust.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct trust_call {
    const char *what; /* a file, or with --remove also a hash or its beginning */
    bool list, remove;
    enum when color;
};

#define FIELD(name) offsetof(struct trust_call, name)

static const struct option table[] = {
    {.name = "list", .kind = OPTION_FLAG, .offset = FIELD(list),
     .help = "print the list: SHA-256, date, file"},
    {.name = "remove", .kind = OPTION_FLAG, .offset = FIELD(remove),
     .help = "remove it from the list; FILE may also be a SHA-256 of the list, or at least its "
             "first eight digits"},
    OPTION_COLOR(FIELD(color)),
};

/* The code in question: its bytes and their origin. */
struct code {
    char *bytes, *origin;
    size_t n_byte;
    const char *text; /* instead of bytes: model text, which needs no trust */
    char sha256[SHA256_HEX];
    bool found;
};

static void code_fini(struct code *code)
{
    free(code->bytes);
    free(code->origin);
}

static enum status take(struct code *code, char *bytes, size_t n_byte, char *origin,
                        const char *expected, struct error *error)
{
    code->found = true;
    code->bytes = bytes;
    code->n_byte = n_byte;
    code->origin = origin;
    if (!bytes || !origin)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a plugin");
    if (kind_is_model_text(bytes, n_byte, origin)) {
        code->text = code->origin;
        return STATUS_OK;
    }
    sha256_hex_of(bytes, n_byte, code->sha256);
    if (expected && strcasecmp(expected, code->sha256))
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: this is not the expected plugin: its SHA-256 is %s and should be %s",
                         origin, code->sha256, expected);
    return elf_image_check(bytes, n_byte, origin, error);
}

static enum status take_file(struct code *code, const char *path, const char *expected,
                             struct error *error)
{
    char *bytes = NULL;
    size_t n_byte = 0;
    enum status status = model_read(path, &bytes, &n_byte, error);
    if (status)
        return status;
    char *origin = realpath(path, NULL);
    return take(code, bytes, n_byte, origin ? origin : strdup(path), expected, error);
}

static enum status take_from_problem(struct code *code, const char *path, struct error *error)
{
    struct problem *problem = NULL;
    enum status status = problem_open(&problem, path, error);
    if (status)
        return status;
    const struct problem_info *info = problem_info(problem);
    if (info->model.source) {
        code->found = true;
        code->text = path;
    } else if (info->model.plugin) {
        char *plugin = problem_model_path(problem);
        status = plugin ? take_file(code, plugin, info->model.sha256, error)
                        : error_set(error, STATUS_NO_MEMORY, "out of memory for the plugin's path");
        free(plugin);
    } else if (info->model.bytes) {
        char *bytes = malloc(info->model.n_byte), *folder = realpath(path, NULL), *origin = NULL;
        if (bytes)
            memcpy(bytes, info->model.bytes, info->model.n_byte);
        if (asprintf(&origin, "%s:/model/plugin", folder ? folder : path) < 0)
            origin = NULL;
        free(folder);
        status = take(code, bytes, info->model.n_byte, origin, info->model.sha256, error);
    }
    problem_close(problem);
    return status;
}

/* Takes the model_file of a result: a path, or "PROBLEM:/model/plugin" or "...source". */
static enum status take_fitted(struct code *code, const char *file, const char *sha256,
                               struct error *error)
{
    const char *part = strstr(file, ":/model/");
    char *problem = part ? strndup(file, (size_t)(part - file)) : NULL;
    enum status status =
        problem ? take_from_problem(code, problem, error) : take_file(code, file, sha256, error);
    free(problem);
    return status;
}

static enum status take_from_result(struct code *code, const char *path, struct error *error)
{
    struct result *result = NULL;
    enum status status = result_open(&result, path, error);
    if (status)
        return status;
    const struct provenance *provenance = &result_info(result)->provenance;
    const char *file = provenance_fact(provenance, "model_file");
    if (provenance_fact(provenance, "model_source")) {
        code->found = true;
        code->text = path;
    } else if (file) {
        status = take_fitted(code, file, provenance_fact(provenance, "model_sha256"), error);
    }
    result_close(result);
    return status;
}

static enum status find_code(struct code *code, const char *path, struct error *error)
{
    enum model_file kind;
    struct error ignored;
    if (model_file_kind(path, &kind, &ignored) || kind != MODEL_FILE_HDF5)
        return take_file(code, path, NULL, error);
    enum status status = take_from_problem(code, path, error);
    if (status == STATUS_BAD_PROBLEM && result_is_there(path))
        status = take_from_result(code, path, error);
    if (!status && !code->found)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: it names no model: there is nothing to trust", path);
    return status;
}

static void print_code(const struct code *code, const char *asked)
{
    fputs("file    ", stdout);
    terminal_put_name(stdout, code->origin);
    if (strcmp(asked, code->origin)) {
        fputs("\nfrom    ", stdout);
        terminal_put_name(stdout, asked);
    }
    printf("\nsize    %zu bytes\nsha256  %s\n", code->n_byte, code->sha256);
    struct elf_links links;
    elf_image_links(code->bytes, code->n_byte, &links);
    if (!links.paths[0])
        return;
    fputs("links   ", stdout);
    terminal_put_name(stdout, links.paths);
    fputs("\nnote: it loads libraries from there, which this SHA-256 does not cover: who can write "
          "to them can change what "
          "runs\n",
          stdout);
}

static int add(void *context)
{
    const struct trust_call *call = context;
    struct code code = {.found = false};
    struct trust_list list = {.n = 0};
    struct error error = {.status = STATUS_OK};
    enum status status = find_code(&code, call->what, &error);
    if (!status && code.text) {
        printf("%s holds model text, which can only become arithmetic: it needs no trust\n",
               call->what);
    } else if (!status) {
        print_code(&code, call->what);
        status = trust_check_links(code.bytes, code.n_byte, code.origin, &error);
        if (!status)
            status = trust_read(&list, &error);
        if (!status && trust_has(&list, code.sha256)) {
            printf("is trusted already (%s)\n", list.path);
        } else if (!status) {
            status = trust_add(&list, code.sha256, code.origin, &error);
            if (!status)
                printf("is trusted from now on, exactly these bytes (%s); to undo this: stiffit "
                       "trust --remove %.16s\n",
                       list.path, code.sha256);
        }
    }
    trust_fini(&list);
    code_fini(&code);
    return status ? message_error(&error, call->color) : command_close_output(0);
}

static enum status print_list(struct error *error)
{
    struct trust_list list = {.n = 0};
    enum status status = trust_read(&list, error);
    for (size_t i = 0; !status && i < list.n; i++) {
        printf("%s ", list.entry[i].sha256);
        terminal_put_name(stdout, list.entry[i].date);
        putchar(' ');
        terminal_put_name(stdout, list.entry[i].origin);
        putchar('\n');
    }
    trust_fini(&list);
    return status;
}

/* Finds the one entry that the user means: by the beginning of its hash, its listed name, or the
 * contents of a file. */
static enum status find_entry(const struct trust_list *list, const char *what,
                              const struct trust_entry **found, struct error *error)
{
    enum { LEAST_DIGITS = 8 };
    size_t n_digit = strspn(what, "0123456789abcdefABCDEF"), n_match = 0;
    bool is_hash = n_digit == strlen(what) && n_digit >= LEAST_DIGITS && n_digit <= 64;
    for (size_t i = 0; i < list->n; i++)
        if (is_hash ? !strncasecmp(list->entry[i].sha256, what, n_digit)
                    : !strcmp(list->entry[i].origin, what)) {
            *found = &list->entry[i];
            n_match++;
        }
    if (n_match == 1)
        return STATUS_OK;
    if (n_match > 1)
        return error_set(error, STATUS_USAGE,
                         "'%.200s' matches %zu entries of %s: give the SHA-256 of one", what,
                         n_match, list->path);
    if (!is_hash) {
        struct code code = {.found = false};
        enum status status = find_code(&code, what, error);
        for (size_t i = 0; !status && !code.text && i < list->n; i++)
            if (!strcasecmp(list->entry[i].sha256, code.sha256))
                *found = &list->entry[i];
        code_fini(&code);
        if (status || *found)
            return status;
    }
    return error_set(error, STATUS_USAGE, "'%.200s' is not in the list %s", what, list->path);
}

static int remove_it(void *context)
{
    const struct trust_call *call = context;
    struct trust_list list = {.n = 0};
    struct error error = {.status = STATUS_OK};
    const struct trust_entry *entry = NULL;
    enum status status = trust_read(&list, &error);
    if (!status)
        status = find_entry(&list, call->what, &entry, &error);
    if (!status)
        status = trust_remove(&list, entry->sha256, &error);
    if (!status)
        printf("%s %s is no longer trusted\n", entry->sha256, entry->origin);
    trust_fini(&list);
    return status ? message_usage("trust", &error, call->color) : command_close_output(0);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct trust_call call = {.list = false};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    call.what = words.n_positional > 0 ? words.positional[0] : NULL;
    if (call.list && (call.remove || call.what))
        error_set(&error, STATUS_USAGE, "--list takes no other arguments");
    else if (!call.list && !call.what)
        error_set(&error, STATUS_USAGE, "no file to %s was given",
                  call.remove ? "remove from the list" : "trust");
    if (!error.status && call.list)
        return print_list(&error) ? message_error(&error, call.color) : command_close_output(0);
    if (error.status)
        return message_usage("trust", &error, call.color);
    return contained_run(call.remove ? remove_it : add, &call, call.what, call.color);
}

const struct command command_trust = {
    .name = "trust", .synopsis = "FILE", .summary = "allow a plugin that data files name to run",
    .example = "stiffit trust wells.h5\nstiffit trust --list",
    .description =
        "A data file may name or embed a plugin, which is native code and runs only with your "
        "permission. FILE is such a problem or result file, or a plugin. Shows what the code is "
        "and adds its SHA-256 to a list: from then on exactly these bytes run, whichever file "
        "names them. Model text needs no trust.",
    .table = COMMAND_TABLE(table), .run = run};
