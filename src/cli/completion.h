/* Completion scripts for bash, zsh and fish, made from the commands and their tables of options.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/command.h"

/* commands: NULL-terminated. */
void completion_bash(FILE *file, const struct command *const *commands);
void completion_zsh(FILE *file, const struct command *const *commands);
void completion_fish(FILE *file, const struct command *const *commands);
