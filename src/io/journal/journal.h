/* The journal: the folder RESULT.journal, in which each process of a run appends to files of its
 * own, made of frames (io/journal/frame.h): the run and its plan first, then every finished fit;
 * and what counts until the next of its kind, in files that are begun anew as they grow. A later
 * process reads them all. No HDF5; appending records is thread-safe and takes one write(2).
 *
 *   first frame  the run (io/journal/run_identity.h), u64 nanoseconds since 1970 when the process
 *                began, and the plan's bytes: the caller's
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/file/fit_record.h"
#include "io/journal/frame.h"
#include "io/journal/run_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal; /* open for appending */
/* Before anything in it is read: STATUS_SYSTEM if it is no folder, or another user's. */
enum status journal_check_directory(const char *directory, struct error *error);
/* Creates the directory if it does not exist, and this process's file in it, which begins with the
 * run and its plan, n bytes. Survives a power failure when this returns. */
enum status journal_open(struct journal **journal, const char *directory,
                         const struct run_identity *identity, const void *plan, size_t n,
                         struct error *error);
/* Thread-safe. The operating system has the record when this returns. After an error (the disk
 * is full) an incomplete record is removed if possible. */
enum status journal_append(struct journal *journal, const struct fit_record *record,
                           struct error *error);
/* Appends several records at once, in two steps: the size of a record's frame, its bytes, and any
 * number of complete ones. */
size_t journal_size(const struct journal *journal, const struct fit_record *record);
size_t journal_encode(const struct journal *journal, const struct fit_record *record,
                      unsigned char *bytes);
enum status journal_append_bytes(struct journal *journal, const unsigned char *bytes, size_t n,
                                 struct error *error);
/* What counts in place of everything of this type and a lower number, which stays in the file: for
 * what is kept a few times. Survives a power failure when this returns. */
enum status journal_keep(struct journal *journal, enum frame_type type, uint32_t number,
                         const void *bytes, size_t n, struct error *error);
/* fsync; called by the thread that keeps time. */
enum status journal_sync(struct journal *journal, struct error *error);
/* Whether this process's file has been removed, so that nothing appended to it will be read. */
bool journal_is_gone(const struct journal *journal);
void journal_close(struct journal *journal);

struct journal_reader; /* an index of all frames of a directory: 16 bytes a fit */
/* A missing directory is an empty journal. Incomplete and damaged frames are skipped and
 * counted, and those after them are found again. A journal of another identity is STATUS_SYSTEM,
 * with the differences. `identity` may be NULL: then it is taken from the journal
 * (journal_identity). */
enum status journal_read(struct journal_reader **reader, const char *directory,
                         const struct run_identity *identity, struct error *error);
/* NULL if the journal is empty */
const struct run_identity *journal_identity(const struct journal_reader *reader);
/* The plan of the process that began last; NULL: there is none. It lives as long as the reader. */
const unsigned char *journal_plan(const struct journal_reader *reader, size_t *n);
uint64_t journal_n_record(const struct journal_reader *reader);  /* distinct fits */
/* files with damage that was passed over */
uint64_t journal_n_damaged(const struct journal_reader *reader);
/* Whether files that were read have been removed since. */
bool journal_is_removed(const struct journal_reader *reader);
bool journal_has(const struct journal_reader *reader, uint64_t fit);
/* The first recorded fit whose number is at least `fit`; UINT64_MAX if there is none. */
uint64_t journal_next(const struct journal_reader *reader, uint64_t fit);
/* Fills the record and those of its arrays that are not NULL. False with error->status OK: the
 * fit is not recorded; false with another status: it cannot be read. If a fit is recorded twice,
 * the first record by file name and position counts. One thread at a time; cheap if fits are
 * requested roughly in the order in which they ended. (journal_has is for any number of
 * threads.) */
bool journal_get(struct journal_reader *reader, uint64_t fit, struct fit_record *record,
                 struct error *error);
/* journal_get by dataset and task, of a journal that has an identity. */
bool journal_get_task(struct journal_reader *reader, uint64_t dataset, uint32_t task,
                      struct fit_record *record, struct error *error);
/* What journal_keep has kept of this type, *n bytes, to be freed, and its number. *bytes is NULL if
 * there is none, or only damaged ones. An error: there is one, and it cannot be read. */
enum status journal_kept(struct journal_reader *reader, enum frame_type type, unsigned char **bytes,
                         size_t *n, uint32_t *number, struct error *error);
void journal_reader_free(struct journal_reader *reader);

/* Deletes the journal's files and the directory. Other files are kept, and the presence of any
 * is an error. A missing directory is not an error. */
enum status journal_remove(const char *directory, struct error *error);

/* The first frame's payload. */
enum { JOURNAL_MADE = IDENTITY_BYTES, JOURNAL_PLAN = IDENTITY_BYTES + 8 };
