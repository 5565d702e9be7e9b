/* The list of commands, and code common to all of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/nearest.h"
#include "base/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {&command_run, &command_show, &command_import, &command_export,
                                                &command_simulate, &command_model, &command_trust,
                                                &command_merge, &command_submit, &command_status,
                                                &command_help, NULL};

const struct command *const *command_list(void) { return commands; }

const struct command *command_find(const char *name)
{
    for (const struct command *const *command = commands; *command; command++) {
        if (!strcmp((*command)->name, name))
            return *command;
        for (const struct command *const *child = (*command)->child; child && *child; child++)
            if (!strcmp((*child)->name, name))
                return *child;
    }
    return NULL;
}

struct option_table command_table(const struct command *command)
{
    return command->run_table ? command->run_table() : command->table;
}

static int no_child(const struct command *group, const char *word)
{
    enum { MOST = 8 };
    struct error error;
    const char *names[MOST];
    char list[200] = "";
    size_t n = 0;
    for (const struct command *const *child = group->child; *child && n < MOST; child++) {
        names[n] = (*child)->name + strlen(group->name) + 1;
        strncat(list, n ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, names[n++], sizeof list - strlen(list) - 1);
    }
    const char *near = word ? nearest_name(word, names, n) : NULL;
    if (!word)
        error_set(&error, STATUS_USAGE, "no command of 'stiffit %s' was given\nCommands: %s.", group->name, list);
    else if (near)
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nDid you mean %s?", group->name, word, near);
    else
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nCommands: %s.", group->name, word, list);
    return message_usage(group->name, &error, WHEN_AUTO);
}

int command_run_child(const struct command *group, int argc, char **argv)
{
    if (argc < 1)
        return no_child(group, NULL);
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        help_command(stdout, group);
        return command_close_output(0);
    }
    for (const struct command *const *child = group->child; *child; child++)
        if (!strcmp((*child)->name + strlen(group->name) + 1, argv[0]))
            return (*child)->run(argc - 1, argv + 1);
    return no_child(group, argv[0]);
}

static enum when color_of(const struct command *command, const void *options)
{
    struct option_table table = command_table(command);
    enum when color = WHEN_AUTO;
    for (size_t i = 0; i < table.n; i++)
        if (!strcmp(table.option[i].name, "color"))
            memcpy(&color, (const char *)options + table.option[i].offset, sizeof color);
    return color;
}

int command_parse(const struct command *command, void *options, struct option_words *words, size_t max_positional, int argc,
                  char **argv)
{
    struct error error;
    if (option_parse(command_table(command), options, words, max_positional, argc, argv, &error))
        return message_usage(command->name, &error, WHEN_AUTO);
    if (words->help) {
        help_command(stdout, command);
        return command_close_output(0);
    }
    if (spare_files(command_table(command), options, words, &error))
        return message_usage(command->name, &error, WHEN_AUTO);
    if (!command->needs || words->n_positional > 0)
        return -1;
    error_set(&error, STATUS_USAGE, "no %s was given", command->needs);
    return message_usage(command->name, &error, color_of(command, options));
}

/* An earlier write may have failed and left nothing to write now. Then errno says nothing, but the pipe does. */
static bool reader_is_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) > 0 && output.revents & POLLERR;
}

int command_close_output(int code)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        return code;
    if (errno == EPIPE || (errno == 0 && reader_is_gone()))
        return 128 + 13;
    struct error error;
    error_system(&error, errno ? errno : EIO, "cannot write to standard output");
    return message_error(&error, WHEN_AUTO);
}

static void print_head(enum when color)
{
    bool colored = terminal_color(stderr, color);
    fprintf(stderr, "stiffit: %serror:%s ", colored ? "\033[1;31m" : "", colored ? "\033[0m" : "");
}

/* Names from a file may contain control sequences of a terminal. */
static void print_line(const char *line, size_t n)
{
    terminal_put(stderr, line, n);
    fputc('\n', stderr);
}

int message_error(const struct error *error, enum when color)
{
    fflush(stdout);
    print_head(color);
    for (const char *line = error->message; line;) {
        const char *end = strchr(line, '\n');
        print_line(line, end ? (size_t)(end - line) : strlen(line));
        line = end && end[1] ? end + 1 : NULL;
        if (line)
            fputs("  ", stderr);
    }
    fflush(stderr);
    return status_exit_code(error->status);
}

int message_usage(const char *command, const struct error *error, enum when color)
{
    if (error->status != STATUS_USAGE)
        return message_error(error, color);
    const char *hint = strchr(error->message, '\n');
    print_head(color);
    fprintf(stderr, "%.*s\n", hint ? (int)(hint - error->message) : (int)strlen(error->message), error->message);
    fprintf(stderr, "%s%sSee `stiffit %s%s`.\n", hint ? hint + 1 : "", hint ? " " : "", command ? command : "help",
            command ? " --help" : "");
    return status_exit_code(STATUS_USAGE);
}

void message_say(const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (n < 0)
        return;
    fputs("stiffit: ", stderr);
    print_line(line, (size_t)n);
    free(line);
}

void message_hear(void *context, const char *line)
{
    (void)context;
    message_say("%s", line);
}

void shell_word(FILE *out, const char *word)
{
    if (word[0] && !word[strcspn(word, " \t\n'\"\\$`&|;<>()*?[]#~!{}")]) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            fputs("'\\''", out);
        else
            putc(*c, out);
    }
    putc('\'', out);
}

void shell_words(FILE *out, int n, char *const *words)
{
    for (int i = 0; i < n; i++) {
        putc(' ', out);
        shell_word(out, words[i]);
    }
}

char *shell_line(const char *command, int n, char *const *words)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(command, out);
    shell_words(out, n, words);
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}

static const struct command *const model_commands[] = {&command_model_new, &command_model_build, &command_model_check,
                                                &command_model_show, NULL};

static int run_model(int argc, char **argv) { return command_run_child(&command_model, argc, argv); }

const struct command command_model = {
    .name = "model", .synopsis = "COMMAND [OPTIONS] ...", .summary = "write, build, check and show models",
    .example = "stiffit model new wells\nstiffit model show wells.ode",
    .description =
        "A model is text, equations as one writes them (stiffit-model(5)), or a plugin compiled from C (stiffit-model(3)). "
        "Every command takes either.",
    .child = model_commands, .run = run_model};
