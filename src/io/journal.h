/* The journal: every finished fit is appended to this process's own file in RESULT.journal/. A resumed run reads all files
 * there. No HDF5; appending is thread-safe and takes one write(2).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/fit_record.h"
#include "io/run_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal; /* open for appending */
/* Before anything in it is read: STATUS_SYSTEM if it is no folder, or another user's. */
enum status journal_check_directory(const char *directory, struct error *error);
/* Creates the directory if it does not exist, and this process's file in it. */
enum status journal_open(struct journal **journal, const char *directory, const struct run_identity *identity,
                         struct error *error);
/* Thread-safe. The operating system has the record when this returns. After an error (the disk is full) an incomplete record is
 * removed if possible. */
enum status journal_append(struct journal *journal, const struct fit_record *record, struct error *error);
/* The same in two steps, for several records at once: the size of a record's bytes, these bytes,
 * and any number of complete records. */
size_t journal_size(const struct journal *journal, const struct fit_record *record);
size_t journal_encode(const struct journal *journal, const struct fit_record *record,
                      unsigned char *bytes);
enum status journal_append_bytes(struct journal *journal, const unsigned char *bytes, size_t n,
                                 struct error *error);
/* fsync; called by the thread that keeps time. */
enum status journal_sync(struct journal *journal, struct error *error);
/* Whether this process's file has been removed, so that nothing appended to it will be read. */
bool journal_is_gone(const struct journal *journal);
void journal_close(struct journal *journal);

struct journal_reader; /* an index of all records of a directory: 16 bytes a fit */
/* A missing directory is an empty journal. Incomplete and damaged records are skipped and counted, and the records after
 * them are found again. A journal of another identity is STATUS_SYSTEM, with the differences. `identity` may be NULL: then
 * it is taken from the journal (journal_identity). */
enum status journal_read(struct journal_reader **reader, const char *directory, const struct run_identity *identity,
                         struct error *error);
const struct run_identity *journal_identity(const struct journal_reader *reader); /* NULL if the journal is empty */
uint64_t journal_n_record(const struct journal_reader *reader);  /* distinct fits */
uint64_t journal_n_damaged(const struct journal_reader *reader); /* files with damage that was passed over */
bool journal_has(const struct journal_reader *reader, uint64_t fit);
/* The first recorded fit whose number is at least `fit`; UINT64_MAX if there is none. */
uint64_t journal_next(const struct journal_reader *reader, uint64_t fit);
/* Fills the record and those of its arrays that are not NULL. False with error->status OK: the fit is not recorded; false
 * with another status: it cannot be read. If a fit is recorded twice, the first record by file name and position counts. One
 * thread at a time; cheap if fits are requested roughly in the order in which they ended. (journal_has is for any number of
 * threads.) */
bool journal_get(struct journal_reader *reader, uint64_t fit, struct fit_record *record, struct error *error);
void journal_reader_free(struct journal_reader *reader);
/* Files in the journal's directory that describe the run; journal_remove deletes them, too. */
#define JOURNAL_COMPANION "header.h5" /* by result_writer: run/finish/skeleton.h */
#define JOURNAL_PLAN "plan"           /* run/plan/run_plan.h */
#define JOURNAL_STATE "state"         /* io/journal_state.h */
#define JOURNAL_POPULATION "population" /* io/mixed_result.h */
/* Deletes the journal's files and the directory. Other files are kept, and the presence of any is an error. A missing
 * directory is not an error. */
enum status journal_remove(const char *directory, struct error *error);
