/* The list of commands and what all of them share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/nearest.h"
#include "base/spare.h"
#include "cli/message.h"

#include <errno.h>
#include <poll.h>
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
    return command->table ? command->table() : (struct option_table){NULL, 0};
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
        error_set(&error, STATUS_USAGE, "which command of 'stiffit %s'? None was given\nThere are %s.", group->name, list);
    else if (near)
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nDid you mean %s?", group->name, word, near);
    else
        error_set(&error, STATUS_USAGE, "unknown command '%s %.100s'\nThere are %s.", group->name, word, list);
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

int command_parse(const struct command *command, void *options, struct option_words *words, size_t max_positional, int argc,
                  char **argv)
{
    struct error error;
    if (option_parse(command->table(), options, words, max_positional, argc, argv, &error))
        return message_usage(command->name, &error, WHEN_AUTO);
    if (!words->help)
        return spare_files(command->table(), options, words, &error) ? message_usage(command->name, &error, WHEN_AUTO) : -1;
    help_command(stdout, command);
    return command_close_output(0);
}

/* An earlier write may have failed and left nothing to be written now: then errno says nothing, but the pipe does. */
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
