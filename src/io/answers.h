/* The answers of one long fit: what its evaluations gave, in order, kept in a file of its own until the fit has ended, so that
 * a fit whose process died goes on where it was. Payloads are the caller's; this file knows frames and files only.
 *
 * RESULT.journal/answers/DATASET-TASK.log. Everything is little-endian; a header and then frames:
 *
 *   header  "STFA", u32 format, u64 dataset, u32 task, identity[32] (SHA-256 of what a journal's header says of the run but for
 *           the words), u32 crc of the 52 bytes before
 *   frame   u32 length, u32 crc (begun with the header's, of number and payload), u32 number (from 0), payload[length]
 *
 * Processes that work on the same fit at once append to the same file: what they append is the same, since evaluations are
 * pure, but for the order of those that are asked for at once. Readers take the first frame of each number and pass over the
 * others.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_ANSWERS_H
#define IO_ANSWERS_H

#include "io/journal.h"

#define ANSWERS_FOLDER "answers"
/* Of one file; a fit with more goes on without one. */
#define ANSWERS_LIMIT (INT64_C(64) << 20)

struct answers_folder; /* const once it is made: for any number of threads */
/* Lists what is in the folder of this journal. Nothing there (or nothing that can be read): an empty list. NULL: out of
 * memory. */
struct answers_folder *answers_folder_new(const char *journal, const struct run_identity *identity);
void answers_folder_free(struct answers_folder *folder);
size_t answers_folder_n(const struct answers_folder *folder);
/* Deletes the files and the folder of a journal. What is no such file is left, and then it is an error. */
enum status answers_remove(const char *journal, struct error *error);

/* Of one fit; one thread at a time. Zero-initialise; no file is held open between calls. */
struct answers {
    const struct answers_folder *folder; /* NULL: nothing is kept */
    uint64_t fit;
    size_t max_payload;
    bool is_reading, on_disk, cut; /* cut: what lies behind `end` is to go */
    uint32_t number;               /* of the next answer */
    int64_t end;                   /* in the file, behind the last good frame */
    int64_t offset;                /* reading: in the file, of the next byte to come into the buffer */
    unsigned char *buffer;         /* reading: a piece of the file; else whole frames that are not in it yet */
    size_t at, size, capacity, given;
};

/* Begins another fit; the buffer is kept. `folder` NULL: nothing is to be kept. */
void answers_begin(struct answers *answers, const struct answers_folder *folder, uint64_t fit, size_t max_payload);
/* The next answer that was kept, good until the next call. NULL: there is no more, answers are to be added now. */
const unsigned char *answers_next(struct answers *answers, size_t *n);
/* The one that was given last is not what the caller needs: it and all behind it are dropped. */
void answers_refuse(struct answers *answers);
/* Room for the payload of a further answer, in memory; n as announced at the most. Not while there may be a next one. NULL:
 * nothing is kept, or out of memory (then nothing more will be). */
unsigned char *answers_add(struct answers *answers, size_t n);
/* Bytes that are in memory only. */
size_t answers_pending(const struct answers *answers);
/* Appends them to the file. If that cannot be done nothing more will be kept. OK also if the file has grown too large, or
 * has been taken away because the fit has ended elsewhere. */
enum status answers_flush(struct answers *answers, struct error *error);
/* Nothing more is kept of this fit, and what there was goes, its file too. */
void answers_drop(struct answers *answers);
void answers_fini(struct answers *answers); /* the file stays */

#endif
