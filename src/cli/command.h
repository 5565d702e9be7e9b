/* The commands: each is one constant, defined in its own file and listed in command.c. Common to
 * all: parsing, and messages on standard error. Help, completions and the manual are made from
 * these constants and the tables of options.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/option.h"
#include "base/output.h"
#include "base/terminal.h"
#include "base/words.h"

struct command {
    const char *name;        /* with that of its group, as in "model check" */
    const char *synopsis;    /* the arguments after the options */
    const char *summary;     /* one line, small letter, no full stop */
    const char *example;     /* command lines, one per line, no newline at the end */
    const char *needs;       /* the message if no argument is given; NULL: none is needed */
    const char *description; /* paragraphs separated by newlines */
    /* of a group of commands, NULL-terminated; NULL for others */
    const struct command *const *child;
    struct option_table table;
    struct option_table (*run_table)(void); /* of `run`, instead of `table` */
    /* The arguments after the command's name; returns the exit code. */
    int (*run)(int argc, char **argv);
};

#define COMMAND_TABLE(array) {(array), sizeof(array) / sizeof *(array)}

extern const struct command command_run, command_show, command_import, command_export,
    command_simulate, command_model, command_plot, command_report, command_compare,
    command_population, command_trust, command_merge, command_submit, command_status, command_help;
extern const struct command command_model_new, command_model_build, command_model_check,
    command_model_show;
/* Children of `run`, which no help mentions. */
int command_compute(int argc, char **argv);
int command_finish(int argc, char **argv);

/* NULL-terminated, in the order in which help shows them. */
const struct command *const *command_list(void);
const struct command *command_find(const char *name); /* or NULL; "model check" is also a name */
struct option_table command_table(const struct command *command); /* empty for a group */
/* Runs a command of a group: the one that the first argument names. */
int command_run_child(const struct command *group, int argc, char **argv);

/* Parses the arguments of `command` into its struct of options, and checks that needed ones are
 * there. Returns -1 to continue; otherwise the command ends with this exit code: help has been
 * printed, or a usage error. */
int command_parse(const struct command *command, void *options, struct option_words *words,
                  size_t max_positional, int argc, char **argv);

/* Called at the end of a data command: flushes standard output and turns a failed write into
 * exit code 4. If the pipe is closed, ends quietly with 141, as after SIGPIPE. Otherwise returns
 * `code`. */
int command_close_output(int code);

/* At the end of a command that writes `output`: finishes it unless `status` is an error, closes
 * it, reports an error as message_usage does, and returns the exit code. */
int command_close_file(const char *command, struct output *output, enum status status,
                       struct error *error, enum when color);

/* "stiffit: error: ...", further lines indented. Both return the exit code. */
int message_error(const struct error *error, enum when color);
/* For STATUS_USAGE two lines: the fault, then the nearest match and how to get help. Other
 * errors: as above. `command` may be NULL. */
int message_usage(const char *command, const struct error *error, enum when color);
/* "stiffit: ..." */
void message_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* message_say as the `tell` callback of a struct build_listener. */
void message_hear(void *context, const char *line);

/* Prints what `print` writes on standard output. Names in a foreign file must not control the
 * terminal. */
enum status print_safely(void (*print)(FILE *file, const void *context), const void *context,
                         struct error *error);

/* Quotes words for a POSIX shell if needed, so that a printed command can be pasted and a script
 * does what was meant. */
void shell_word(FILE *out, const char *word);
/* The words, each after a blank. */
void shell_words(FILE *out, int n, char *const *words);
/* A command and its words as a line to paste; free() it. NULL: out of memory. */
char *shell_line(const char *command, int n, char *const *words);

/* The report at the end of a run: text on standard error (unless --quiet), and with --json an
 * object on standard output. */
struct run_summary;
struct run_shown;
void run_report(const struct run_summary *summary, const struct run_shown *shown);

/* cli/help.c, cli/completion.c */
void help_overview(FILE *file);
void help_command(FILE *file, const struct command *command);
void help_mdoc(FILE *file, const struct command *command);
void completion_bash(FILE *file);
void completion_zsh(FILE *file);
void completion_fish(FILE *file);

/* Calls function(context) in a child process and returns its exit code. If the child crashes,
 * prints a message with `what` (the files it worked on) and returns 3; likewise if a function of
 * the model computes for a minute (process_alarm). If no process can be made, calls the function
 * in this one. Call it before starting threads, HDF5 or plugins: the child is a fork. */
int contained_run(int (*function)(void *context), void *context, const char *what, enum when color);
/* In such a child: bounds its time on the processor and its memory, for libraries that know no
 * bounds. */
void contained_limit(int cpu_s, int gib);
/* The same for a function that reads files and computes almost nothing: HDF5 loops forever on
 * some damaged files. A child that computes for a minute without reading or writing is killed,
 * with a message; returns 3. Needs /proc. */
int contained_read(int (*function)(void *context), void *context, const char *what,
                   enum when color);
/* The same for one in which libSBML reads, which is killed also where it does nothing for two
 * minutes; messages say that the reader failed, as it does on some legal files. */
int contained_sbml(int (*function)(void *context), void *context, const char *what,
                   enum when color);
