/* What all commands have in common: their options, and families of commands.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/help_text.h"

#include <string.h>

static int no_child(const struct command *family, const char *word)
{
    enum { MOST = 8 };
    struct error error;
    const char *names[MOST];
    char list[200] = "";
    size_t n = 0;
    for (const struct command *const *child = family->child; *child && n < MOST; child++) {
        names[n] = (*child)->name + strlen(family->name) + 1;
        words_add(list, sizeof list, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    const char *near = word ? nearest_name(word, names, n) : NULL;
    if (!word)
        error_set(&error, STATUS_USAGE, "no command of 'stiffit %s' was given\nCommands: %s.",
                  family->name, list);
    else if (near)
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nDid you mean %s?",
                  family->name, word, near);
    else
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nCommands: %s.", family->name,
                  word, list);
    return message_usage(family->name, &error, WHEN_AUTO);
}

int command_run_child(const struct command *family, int argc, char **argv)
{
    if (argc < 1)
        return no_child(family, NULL);
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        help_command(stdout, family);
        return command_close_output(0);
    }
    for (const struct command *const *child = family->child; *child; child++)
        if (!strcmp((*child)->name + strlen(family->name) + 1, argv[0]))
            return (*child)->run(*child, argc - 1, argv + 1);
    return no_child(family, argv[0]);
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

int command_parse(const struct command *command, void *options, struct option_words *words,
                  size_t max_positional, int argc, char **argv)
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
