/* `stiffit help`. Of all commands it alone needs the list of them, which it is given.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/command.h"

/* NULL: there is none. "model check" is also a name. */
const struct command *command_find(const struct command *const *commands, const char *name);

/* commands: NULL-terminated. */
int help_run(const struct command *const *commands, const struct command *self, int argc,
             char **argv);
struct option_table help_table(void);
