/* The program's version and its libraries'.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/version.h"

#include "base/version.h"
#include "io/library.h"
#include "ode/library.h"

void version_print(FILE *file)
{
    char integrator[64], file_library[64];
    ode_library(integrator, sizeof integrator);
    io_library(file_library, sizeof file_library);
    fprintf(file, "stiffit %s (%s, %s)\n", STIFFIT_VERSION, integrator, file_library);
}
