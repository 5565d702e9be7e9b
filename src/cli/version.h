/* What `--version` prints.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdio.h>

void version_print(FILE *file);

#endif
