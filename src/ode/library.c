/* The version that the loaded SUNDIALS reports.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/library.h"

#include <stdio.h>
#include <sundials/sundials_version.h>

void ode_library(char *text, size_t size)
{
    char version[32] = "of unknown version";
    SUNDIALSGetVersion(version, (int)sizeof version);
    snprintf(text, size, "SUNDIALS %s", version);
}
