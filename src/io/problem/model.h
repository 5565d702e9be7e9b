/* How a problem file names or carries its model.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>

/* At most one of plugin, source and bytes; NULL: the file has no such part. */
struct problem_model {
    const char *plugin;         /* /model@plugin, a path; resolve with problem_model_path */
    const char *source;         /* /model/source, model text */
    const char *name;           /* /model@name: of a text that has no name of its own */
    const unsigned char *bytes; /* /model/plugin, embedded */
    size_t n_byte;
    const char *sha256;         /* /model@sha256, hexadecimal */
};
