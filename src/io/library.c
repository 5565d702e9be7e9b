/* The loaded HDF5's own word on its version.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/library.h"

#include <hdf5.h>
#include <stdio.h>

void io_library(char *text, size_t size)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    snprintf(text, size, "HDF5 %u.%u.%u", major, minor, release);
}
