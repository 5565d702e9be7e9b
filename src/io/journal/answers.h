/* The answers to the evaluations of a long fit, in order, kept in a file until the fit has
 * ended, so that a fit whose process died can continue where it was. Payloads belong to the
 * caller; this file handles only frames and files.
 *
 * RESULT.journal/answers/DATASET-TASK.log, of frames (io/journal/frame.h). The first one's payload
 * is the run's identity_digest, u64 dataset, u32 task. Those of FRAME_ANSWER are numbered from 0.
 *
 * Processes that work on the same fit at once append to the same file: what they append is the
 * same, since evaluations are pure, but for the order of those that are asked for at once.
 * Readers take the first frame of each number and pass over the others.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/journal/run_identity.h"

#define ANSWERS_FOLDER "answers"
/* The most bytes of a file; a fit with more continues without recording. */
#define ANSWERS_LIMIT (INT64_C(64) << 20)

struct answers_folder; /* constant after creation; may be shared by threads */
/* Lists the folder of this journal. A missing or unreadable folder gives an empty list. NULL:
 * out of memory. */
struct answers_folder *answers_folder_new(const char *journal, const struct run_identity *identity);
void answers_folder_free(struct answers_folder *folder);
size_t answers_folder_n(const struct answers_folder *folder);
/* Deletes the files and the folder of a journal. Other files are kept, and are an error. */
enum status answers_remove(const char *journal, struct error *error);

/* The answers of one fit; one thread at a time. Zero-initialise. No file is open between calls. */
struct answers {
    const struct answers_folder *folder; /* NULL: nothing is kept */
    uint64_t fit;
    size_t max_payload;
    bool is_reading, on_disk, cut; /* cut: what lies behind `end` is to go */
    uint32_t number;               /* of the next answer */
    int64_t end;                   /* in the file, behind the last good frame */
    /* reading: in the file, of the next byte to come into the buffer */
    int64_t offset;
    /* reading: a piece of the file; else whole frames that are not in it yet */
    unsigned char *buffer;
    size_t at, size, capacity, given;
};

/* Begins another fit; the buffer is reused. `folder` NULL: records nothing. */
void answers_begin(struct answers *answers, const struct answers_folder *folder, uint64_t fit,
                   size_t max_payload);
/* The next recorded answer, valid until the next call. NULL: there are no more, and new answers
 * may be added. */
const unsigned char *answers_next(struct answers *answers, size_t *n);
/* The last answer is not the one that the caller needs: drops it and all that follow. */
void answers_refuse(struct answers *answers);
/* Room in memory for the payload of a new answer, at most n bytes as announced; only after
 * answers_next has returned NULL. NULL: recording is off, or out of memory (then it is turned
 * off). */
unsigned char *answers_add(struct answers *answers, size_t n);
/* Bytes not written yet. */
static inline size_t answers_pending(const struct answers *answers)
{
    return answers->is_reading ? 0 : answers->size;
}
/* Appends them to the file. If that fails, recording is turned off. Also OK if the file has
 * grown too large, or was removed because the fit has ended in another process. */
enum status answers_flush(struct answers *answers, struct error *error);
/* Turns recording off for this fit and deletes its answers and file. */
void answers_drop(struct answers *answers);
void answers_fini(struct answers *answers); /* the file stays */
