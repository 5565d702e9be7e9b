/* No command destroys what it reads: a file to be written must not be one of its inputs, by whatever name or link.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include "base/error.h"
#include "base/option.h"

/* STATUS_USAGE if both are the same regular file. NULL and "-" are no files. */
enum status spare_file(const char *output, const char *input, struct error *error);
/* The same for a command line: no file that an option of the table writes (is_output) may be one that another option or a
 * word names. */
enum status spare_files(struct option_table table, const void *options, const struct option_words *words,
                        struct error *error);

#endif
