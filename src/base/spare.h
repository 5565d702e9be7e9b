/* No command overwrites its input: an output file must not be one of the input files, under any name or link.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include "base/error.h"
#include "base/option.h"

/* STATUS_USAGE if both are the same regular file. NULL and "-" are no files. */
enum status spare_file(const char *output, const char *input, struct error *error);
/* The same for a command line: a file written by an option (is_output) must not be named by another option or a word. */
enum status spare_files(struct option_table table, const void *options, const struct option_words *words,
                        struct error *error);

#endif
