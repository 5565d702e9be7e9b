/* Everything that commands say on standard error: errors, usage errors, notes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "base/error.h"
#include "base/terminal.h"

/* "stiffit: error: ...", further lines indented. Both return the exit code. */
int message_error(const struct error *error, enum when color);
/* For STATUS_USAGE: the fault, then the nearest match and where help is, two lines. Other errors: as above. `command` may
 * be NULL. */
int message_usage(const char *command, const struct error *error, enum when color);
/* "stiffit: ..." */
void message_say(const char *line);
/* The same as the `tell` of a struct build_listener. */
void message_hear(void *context, const char *line);

#endif
