/* A command is one constant, defined in its own file and listed in cli/commands.c, which nobody but
 * main includes. Help, completions and the manual are made from these constants and their tables of
 * options.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/option.h"
#include "base/words.h"
#include "cli/message.h"

struct command {
    const char *name;        /* with that of its family, as in "model check" */
    const char *synopsis;    /* the arguments after the options */
    const char *summary;     /* one line, small letter, no full stop */
    const char *example;     /* command lines, one per line, no newline at the end */
    const char *needs;       /* the message if no argument is given; NULL: none is needed */
    const char *description; /* paragraphs separated by newlines */
    /* of a family of commands, NULL-terminated; NULL for others */
    const struct command *const *child;
    struct option_table table;
    struct option_table (*run_table)(void); /* instead of `table`; or NULL */
    /* The arguments after the command's name; returns the exit code. `self` is this command. */
    int (*run)(const struct command *self, int argc, char **argv);
};

#define COMMAND_TABLE(array) {(array), sizeof(array) / sizeof *(array)}

/* Empty for a family. */
static inline struct option_table command_table(const struct command *command)
{
    return command->run_table ? command->run_table() : command->table;
}

/* The `run` of a family: runs the command that the first argument names. */
int command_run_child(const struct command *family, int argc, char **argv);

/* Parses the arguments of `command` into its struct of options, and checks that needed ones are
 * there. Returns -1 to continue; otherwise the command ends with this exit code: help has been
 * printed, or a usage error. */
int command_parse(const struct command *command, void *options, struct option_words *words,
                  size_t max_positional, int argc, char **argv);

/* Children of `run`, which no help mentions. */
int command_compute(int argc, char **argv);
int command_finish(int argc, char **argv);

/* The report at the end of a run: text on standard error (unless --quiet), and with --json an
 * object on standard output. */
struct run_summary;
struct run_shown;
void run_report(const struct run_summary *summary, const struct run_shown *shown);
