/* Where a data command writes text: standard output, or a file that appears whole or not at all.
 * No command destroys what it reads: a file to be written must not be one of its inputs, by
 * whatever name or link. Standard output is for data alone: what foreign code prints there goes
 * to standard error.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/destination.h"
#include "base/option.h"

#include <stdio.h>

struct output {
    FILE *file;
    const char *path;     /* NULL: standard output */
    /* the real standard output while `stdout` leads to standard error; or NULL */
    FILE *kept;
    char *temporary_path;
    bool overwrite, is_nameless; /* is_nameless: no name leads to the file yet */
    struct destination to;
};

/* path NULL or "-": standard output. A device or pipe is written into. An existing file is refused
 * unless `overwrite`. */
enum status output_open(struct output *output, const char *path, bool overwrite,
                        struct error *error);
/* Whether writing has failed already, so that a long export may stop early. */
bool output_failed(const struct output *output);
/* Flushes, and renames the file to its name. On standard output command_close_output reports
 * failures. */
enum status output_finish(struct output *output, struct error *error);
/* Without finish: removes the temporary file. Legal on a zeroed struct and after finish. */
void output_close(struct output *output);

/* A file that others may read while it grows; later processes (not is_first) append to it.
 * `standard`: what is returned for standard output, which may be redirected now. NULL on
 * failure. */
FILE *output_grow(const char *path, bool is_first, bool overwrite, FILE *standard,
                  struct error *error);

/* A file without a name for reading and writing: under $TMPDIR or /tmp, or in memory where that
 * cannot be written. NULL on failure: STATUS_SYSTEM. */
FILE *temporary_file(struct error *error);
/* A file without a name, in memory if the system can: for what other programs write, which may not
 * report that a disk is full. */
FILE *temporary_small_file(struct error *error);

/* Redirects `stdout`, with what is still in its buffer, to standard error, and returns a stream
 * to the real standard output. NULL: nothing has changed (no descriptor is left). One thread;
 * not nested. */
FILE *standard_output_keep(void);
/* Undoes the redirection and closes `kept`. NULL is legal. */
void standard_output_restore(FILE *kept);

/* STATUS_USAGE if both are the same regular file. NULL and "-" are no files. */
enum status spare_file(const char *output, const char *input, struct error *error);
/* The files that a command is going to write. Readers of files that name further files take it. */
struct outputs {
    size_t n;
    const char *const *path; /* n; NULL: no file */
};
/* STATUS_USAGE if one of the outputs and the input are the same regular file. */
enum status spare_outputs(const struct outputs *outputs, const char *input, struct error *error);
/* STATUS_USAGE if a file that an option of the table writes (is_output) is one that another option
 * or a word of the command line names. */
enum status spare_files(struct option_table table, const void *options,
                        const struct option_words *words, struct error *error);
