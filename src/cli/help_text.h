/* Help, made from the commands and their tables of options.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/command.h"

/* commands: NULL-terminated, in the order in which they are shown. */
void help_overview(FILE *file, const struct command *const *commands);
void help_command(FILE *file, const struct command *command);
/* The list of options for a manual page: the pages under man/ contain it, and a test compares
 * them. */
void help_mdoc(FILE *file, const struct command *command);
