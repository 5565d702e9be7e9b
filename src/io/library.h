/* The version of the HDF5 library.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_LIBRARY_H
#define IO_LIBRARY_H

#include <stddef.h>

/* For example "HDF5 1.10.8": that of the loaded library, not of the headers. */
void io_library(char *text, size_t size);

#endif
