/* The program's version and its libraries'.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/version.h"

#include "base/version.h"
#include "io/library.h"
#include "ode/library.h"

void version_print(FILE *file)
{
    char hdf5[100], integrator[100];
    io_library(hdf5, sizeof hdf5);
    ode_library(integrator, sizeof integrator);
    fprintf(file, "stiffit %s\n%s\n%s\n", STIFFIT_VERSION, integrator, hdf5);
}
