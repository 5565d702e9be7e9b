/* Result files: written in one pass from the journal, read by show, export and simulate. One
 * thread only (HDF5).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/journal/journal.h"
#include "io/problem/own_columns.h"

enum { RESULT_MAX_PROVENANCE = 32000 }; /* characters; longer ones are cut and end in "..." */

/* Attributes of /provenance, strings, without those of the identity, whose names begin with
 * "identity_". */
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
    /* "half_sum_of_squares", "negative_log_likelihood", "laplace_loss", "huber_loss" or
     * "student_loss" */
    const char *objective_kind;
    struct run_identity identity;
    /* expected number of rows, for the choice of chunks; 0: identity.n_dataset */
    uint64_t n_row;
    struct provenance provenance;
    unsigned parts;                       /* bits of enum fit_part: columns besides the base */
    /* length in bytes of the longest id if known, otherwise 0; only saves time */
    size_t id_length;
    struct own_columns column;            /* of datasets; the records' `own` has their values */
};

struct result_writer;
/* Writes under a temporary name in the folder of `path`; result_writer_finish syncs and renames
 * it, so it appears whole or not at all. `in_place_of`: NULL, or a problem file that is copied
 * first, with /fits and /provenance written into the copy. */
enum status result_writer_open(struct result_writer **writer, const char *path,
                               const char *in_place_of, const struct result_header *header,
                               struct error *error);
/* Parameters that all datasets have in common: the group /shared. n values each. Before
 * result_writer_finish. */
struct result_shared {
    size_t n;
    const char *const *name;
    const double *value, *standard_error;
};
enum status result_writer_shared(struct result_writer *writer, const struct result_shared *shared,
                                 struct error *error);
/* Rows in order. record->parameter and at_bound as in the header's order. The record and the id
 * are copied. Equal headers and rows make equal files, byte for byte. */
enum status result_writer_add(struct result_writer *writer, const char *id,
                              const struct fit_record *record, struct error *error);
enum status result_writer_finish(struct result_writer *writer, struct error *error);
/* without finish: removes the temporary file */
void result_writer_close(struct result_writer *writer);

struct result; /* an open result file, or a problem file with results in it */
struct result_info {
    const char *path;
    size_t n_parameter;
    const char *const *parameter_name, *const *parameter_scale, *const *parameter_unit;
    const char *objective_kind;
    bool is_shared;            /* its fits are over several datasets, with shared parameters */
    uint64_t n_fit;
    /* columns of datasets, which the records' `own` has, and what they are called beside the
     * numbers of fits: their names, or dataset_NAME if a number or parameter has that name */
    struct own_columns column;
    const char *const *column_label;
    struct run_identity identity;
    struct provenance provenance;
};
/* Whether the file can be opened and has /fits; false for a problem file without results. */
bool result_is_there(const char *path);
/* STATUS_SYSTEM: there is no such file; STATUS_BAD_PROBLEM: it has no results or is damaged, and
 * the message says which. */
enum status result_open(struct result **result, const char *path, struct error *error);
void result_close(struct result *result);
const struct result_info *result_info(const struct result *result);
bool result_has(const struct result *result, enum fit_column column);
/* Stops reading this column: its numbers count as missing. */
void result_ignore(struct result *result, enum fit_column column);
struct result_block {
    uint64_t first;
    size_t n;
    char **id, **reason;
    struct fit_record *record; /* n; their arrays point into the block */
    struct arena *arena;
};
/* Rows [first, first + n), or fewer at the end or if they would need more than about 64 MiB:
 * continue with first + block->n until that is n_fit. Numbers that the file lacks are NaN or -1.
 * Zero-initialise the block before its first use. */
enum status result_read(struct result *result, struct result_block *block, uint64_t first, size_t n,
                        struct error *error);
/* For loops over all rows: reads the rows after the block's (a zeroed block: from the first), at
 * most n. False at the end, and after an error, which is in *status. */
bool result_next(struct result *result, struct result_block *block, size_t n, enum status *status,
                 struct error *error);
/* Reads only these two columns from now on. */
void result_read_only(struct result *result, enum fit_column a, enum fit_column b);
void result_block_fini(struct result_block *block);
