/* Where a data command writes text: standard output, or a file that appears whole or not at all.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *file;
    const char *path;     /* NULL: standard output */
    FILE *kept;           /* standard output itself, which a model does not reach meanwhile; or NULL */
    char *temporary_path;
};

/* path NULL or "-": standard output. An existing file is refused unless `overwrite`. */
enum status output_open(struct output *output, const char *path, bool overwrite, struct error *error);
/* Whether writing has failed already, so that a long export may stop early. */
bool output_failed(const struct output *output);
/* Flushes, and renames the file to its name. On standard output command_close_output tells of faults. */
enum status output_finish(struct output *output, struct error *error);
/* Without finish: removes the temporary file. Legal on a zeroed struct and after finish. */
void output_close(struct output *output);

#endif
