/* The program's version and its libraries'.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/version.h"

#include "base/version.h"

void version_print(FILE *file) { fprintf(file, "stiffit %s\n", STIFFIT_VERSION); }
