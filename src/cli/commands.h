/* All commands. Nobody but main includes the list, so that no command depends on others.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "cli/command.h"

extern const struct command *const commands[]; /* NULL-terminated */
