/* The commands: one constant each, defined in the file of its own, gathered in command.c; and what all of them share: how they
 * parse, what they say on standard error. Help, completions and the manual are made from what stands here and in the tables of
 * options.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/option.h"
#include "base/terminal.h"

struct command {
    const char *name;        /* with its group's, as in "model check" */
    const char *synopsis;    /* the arguments after the options */
    const char *summary;     /* one line, small letter, no full stop */
    const char *example;     /* command lines, one a line, no newline at the end */
    const char *needs;       /* what is said without an argument; NULL: it needs none */
    const char *description; /* paragraphs separated by newlines */
    const struct command *const *child; /* of a group of commands, NULL-terminated; NULL for others */
    struct option_table table;
    struct option_table (*run_table)(void); /* of `run`, instead of `table` */
    /* The arguments after the command's name; returns the exit code. */
    int (*run)(int argc, char **argv);
};

#define COMMAND_TABLE(array) {(array), sizeof(array) / sizeof *(array)}

extern const struct command command_run, command_show, command_import, command_export, command_simulate, command_model,
    command_trust, command_merge, command_submit, command_status, command_help;
extern const struct command command_model_new, command_model_build, command_model_check, command_model_show;
/* Children of `run`, which no help mentions. */
int command_compute(int argc, char **argv);
int command_finish(int argc, char **argv);

/* NULL-terminated, in the order in which help shows them. */
const struct command *const *command_list(void);
const struct command *command_find(const char *name); /* or NULL; "model check" is a name, too */
struct option_table command_table(const struct command *command); /* empty for a group */
/* What a group does: runs the child that the first argument names. */
int command_run_child(const struct command *group, int argc, char **argv);

/* Parses the arguments of `command` into its struct of options; one that is needed must be there. Returns -1 to go on;
 * otherwise the command ends with this exit code: help has been printed, or a usage error. */
int command_parse(const struct command *command, void *options, struct option_words *words, size_t max_positional, int argc,
                  char **argv);

/* What a data command returns in the end: flushes standard output and turns a failed write into exit code 4; a closed pipe
 * ends quietly with 141, as if by SIGPIPE. Otherwise `code`. */
int command_close_output(int code);

/* "s", and "" for one. */
static inline const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }
/* "stiffit: error: ...", further lines indented. Both return the exit code. */
int message_error(const struct error *error, enum when color);
/* For STATUS_USAGE: the fault, then the nearest match and where help is, two lines. Other errors: as above. `command` may
 * be NULL. */
int message_usage(const char *command, const struct error *error, enum when color);
/* "stiffit: ..." */
void message_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same as the `tell` of a struct build_listener. */
void message_hear(void *context, const char *line);

/* Words for a POSIX shell, in single quotes where it would take them for something else: what the user sees can be pasted, and
 * what is put into a script means what was meant. */
void shell_word(FILE *out, const char *word);
/* The words, a blank before each. */
void shell_words(FILE *out, int n, char *const *words);
/* A command and its words as a line that can be pasted; free() it. NULL: out of memory. */
char *shell_line(const char *command, int n, char *const *words);

/* cli/help.c, cli/completion.c */
void help_overview(FILE *file);
void help_command(FILE *file, const struct command *command);
void help_mdoc(FILE *file, const struct command *command);
void completion_bash(FILE *file);
void completion_zsh(FILE *file);

#endif
