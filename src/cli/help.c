/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/help.h"

#include "cli/completion.h"
#include "cli/help_text.h"
#include "model/text/token.h"

#include <string.h>

const struct command *command_find(const struct command *const *commands, const char *name)
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

struct help_options {
    const char *completion, *man_options;
    bool model_words;
};

static const struct {
    const char *name;
    void (*print)(FILE *file, const struct command *const *commands);
} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
enum { N_SHELL = sizeof shells / sizeof *shells };

static const struct option table[] = {
    {.name = "completion", .kind = OPTION_STRING, .metavar = "bash|zsh|fish",
     .offset = offsetof(struct help_options, completion),
     .help = "print a completion script for this shell"},
};
/* For authors of manuals and syntax colouring: not shown in help or completions. */
static const struct option hidden_table[] = {
    {.name = "completion", .kind = OPTION_STRING,
     .offset = offsetof(struct help_options, completion)},
    {.name = "man-options", .kind = OPTION_STRING,
     .offset = offsetof(struct help_options, man_options)},
    {.name = "model-words", .kind = OPTION_FLAG,
     .offset = offsetof(struct help_options, model_words)},
};

static int print_completion(const char *shell, const struct command *const *commands)
{
    const char *names[N_SHELL];
    for (size_t i = 0; i < N_SHELL; i++) {
        names[i] = shells[i].name;
        if (!strcmp(shell, names[i])) {
            shells[i].print(stdout, commands);
            return command_close_output(0);
        }
    }
    struct error error;
    char hint[NEAREST_HINT];
    error_set(&error, STATUS_USAGE, "--completion: '%s' is not one of bash, zsh, fish%s", shell,
              nearest_hint(hint, "\nDid you mean ", "?", shell, names, N_SHELL));
    return message_usage("help", &error, WHEN_AUTO);
}

static int print_model_words(void)
{
    const struct reserved *word;
    for (size_t i = 0; (word = token_reserved_at(i)); i++)
        printf("%s %s\n", word->name, token_is_function(word) ? "function" : "word");
    return command_close_output(0);
}

int help_run(const struct command *const *commands, const struct command *self, int argc,
             char **argv)
{
    struct help_options options = {.completion = NULL};
    struct option_words words;
    struct error error;
    if (option_parse(OPTION_TABLE(hidden_table), &options, &words, 2, argc, argv, &error))
        return message_usage("help", &error, WHEN_AUTO);
    if (words.help) {
        help_command(stdout, self);
        return command_close_output(0);
    }
    if (options.model_words)
        return print_model_words();
    if (options.completion)
        return print_completion(options.completion, commands);
    const char *name = options.man_options  ? options.man_options
                       : words.n_positional ? words.positional[0]
                                            : NULL;
    if (!name) {
        help_overview(stdout, commands);
        return command_close_output(0);
    }
    const struct command *command = command_find(commands, name);
    if (!command)
        return -1; /* main reports unknown commands */
    if (words.n_positional > 1 && !command->child) {
        error_set(&error, STATUS_USAGE,
                  "'stiffit %s' has no commands of its own: '%.100s' is unexpected", name,
                  words.positional[1]);
        return message_usage(name, &error, WHEN_AUTO);
    }
    if (words.n_positional > 1) {
        char child[100], option[] = "--help", *child_argv[] = {child, option, NULL};
        snprintf(child, sizeof child, "%s", words.positional[1]);
        return command_run_child(command, 2, child_argv);
    }
    if (options.man_options)
        help_mdoc(stdout, command);
    else
        help_command(stdout, command);
    return command_close_output(0);
}

struct option_table help_table(void) { return OPTION_TABLE(table); }
