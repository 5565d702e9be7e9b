/* The program's version and its libraries'.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/version.h"

#include "base/version.h"
#include "io/library.h"

void version_print(FILE *file)
{
    char hdf5[100];
    io_library(hdf5, sizeof hdf5);
    fprintf(file, "stiffit %s\n%s\n", STIFFIT_VERSION, hdf5);
}
