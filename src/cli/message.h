/* Messages on standard error, and the end of standard output. Names in a foreign file must not
 * control the terminal.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/output.h"
#include "base/terminal.h"
#include "base/view.h"

#include <stdio.h>

/* "stiffit: error: ...", further lines indented. Returns the exit code. */
int message_error(const struct error *error, enum when color);
/* For STATUS_USAGE two lines: the fault, then the nearest match and how to get help. Other errors
 * are reported by message_error. `command` may be NULL. Returns the exit code. */
int message_usage(const char *command, const struct error *error, enum when color);
/* "stiffit: ..." */
void message_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* message_say as the `tell` callback of a struct build_listener. */
void message_hear(void *context, const char *line);

/* Prints a view on standard output, without control characters. */
enum status command_print(const struct view *view, bool is_json, struct error *error);

/* Called at the end of a data command: flushes standard output and turns a failed write into
 * exit code 4. If the pipe is closed, ends quietly with 141, as after SIGPIPE. Otherwise returns
 * `code`. */
int command_close_output(int code);

/* At the end of a command that writes `output`: finishes it unless `status` is an error, closes
 * it, reports an error as message_usage does, and returns the exit code. */
int command_close_file(const char *command, struct output *output, enum status status,
                       struct error *error, enum when color);
