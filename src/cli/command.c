/* The list of commands and what all of them share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/message.h"

#include <errno.h>
#include <string.h>

static const struct command *const commands[] = {&command_run, &command_show, &command_import, &command_export,
                                                &command_simulate, &command_model, &command_help, NULL};

const struct command *const *command_list(void) { return commands; }

const struct command *command_find(const char *name)
{
    for (const struct command *const *command = commands; *command; command++)
        if (!strcmp((*command)->name, name))
            return *command;
    return NULL;
}

int command_parse(const struct command *command, void *options, struct option_words *words, size_t max_positional, int argc,
                  char **argv)
{
    struct error error;
    if (option_parse(command->table(), options, words, max_positional, argc, argv, &error))
        return message_usage(command->name, &error, WHEN_AUTO);
    if (!words->help)
        return -1;
    help_command(stdout, command);
    return command_close_output(0);
}

int command_close_output(int code)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed)
        return code;
    if (errno == EPIPE)
        return 128 + 13;
    struct error error;
    error_system(&error, errno ? errno : EIO, "cannot write to standard output");
    return message_error(&error, WHEN_AUTO);
}
