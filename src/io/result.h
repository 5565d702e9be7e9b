/* Result files: written in one go from the journal, read by show, export and simulate. One thread only (HDF5).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_RESULT_H
#define IO_RESULT_H

#include "base/error.h"
#include "io/journal.h"

enum { RESULT_MAX_PROVENANCE = 32000 }; /* characters; longer ones are cut and end in "..." */

/* Attributes of /provenance, strings. Names that begin with "identity_" are the identity's own and not among them. */
struct provenance {
    size_t n;
    const char *const *name, *const *value;
};

/* The value of that name; NULL: there is none. */
const char *provenance_fact(const struct provenance *provenance, const char *name);

struct result_header {
    size_t n_parameter;
    const char *const *parameter_name;
    const char *const *parameter_scale;
    const char *const *parameter_unit;    /* or NULL */
    const char *objective_kind;           /* "half_sum_of_squares", "negative_log_likelihood", "laplace_loss", "huber_loss" or
                                           * "student_loss" */
    struct run_identity identity;
    uint64_t n_row;                       /* as many rows are expected, for the choice of chunks; 0: identity.n_dataset */
    struct provenance provenance;
    unsigned parts;                       /* bits of enum fit_part: columns besides the base */
    size_t id_length;                     /* the longest id in bytes as far as known, 0: not known; saves time only */
};

struct result_writer;
/* Writes under a temporary name beside `path`; result_writer_finish syncs and renames it: it appears whole or not at
 * all. `in_place_of`: NULL, or a problem file that is copied first and whose /fits (and /provenance) are then written
 * into the copy. */
enum status result_writer_open(struct result_writer **writer, const char *path, const char *in_place_of,
                               const struct result_header *header, struct error *error);
/* Rows in order. record->parameter and at_bound as in the header's order. The record and the id are copied. Equal
 * headers and rows make equal files, byte for byte. */
enum status result_writer_add(struct result_writer *writer, const char *id, const struct fit_record *record,
                              struct error *error);
enum status result_writer_finish(struct result_writer *writer, struct error *error);
void result_writer_close(struct result_writer *writer); /* without finish: removes the temporary file */

struct result; /* an open result file, or a problem file with results in it */
struct result_info {
    const char *path;
    size_t n_parameter;
    const char *const *parameter_name, *const *parameter_scale, *const *parameter_unit;
    const char *objective_kind;
    uint64_t n_fit;
    struct run_identity identity;
    struct provenance provenance;
};
/* Whether the file can be opened and has /fits; false for a problem file without results. */
bool result_is_there(const char *path);
/* STATUS_SYSTEM where there is no such file; STATUS_BAD_PROBLEM where it holds no results or is damaged, said in
 * words. */
enum status result_open(struct result **result, const char *path, struct error *error);
void result_close(struct result *result);
const struct result_info *result_info(const struct result *result);
bool result_has(const struct result *result, enum fit_column column);
/* This column is not read from now on: its numbers are missing. */
void result_ignore(struct result *result, enum fit_column column);
struct result_block {
    uint64_t first;
    size_t n;
    char **id, **reason;
    struct fit_record *record; /* n; their arrays point into the block */
    struct arena *arena;
};
/* Rows [first, first + n) as far as there are any, but fewer where they would need more than some 64 MiB: go on with
 * first + block->n until that is n_fit. Numbers that the file lacks are NaN or -1. Zero-initialise the block before its
 * first use. */
enum status result_read(struct result *result, struct result_block *block, uint64_t first, size_t n,
                        struct error *error);
void result_block_fini(struct result_block *block);

#endif
