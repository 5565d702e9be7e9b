/* The states of long fits, of one dataset or many, each in a file until the fit's record is in the
 * journal, so that a fit whose process died can go on where it was. Payloads belong to the caller;
 * this file handles only frames and files.
 *
 * RESULT.journal/states/DATASET-TASK.state, of two frames (io/journal/frame.h). The first one's
 * payload is the run's identity_digest, u64 dataset, u32 task; the second one's is the state.
 *
 * A state replaces the one before at once, by another file with the process's number in its name.
 * Processes that work on the same fit replace each other's: since evaluations are pure, each is a
 * state of the same search.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/journal/frame.h"
#include "io/journal/run_identity.h"

#define STATES_FOLDER "states"
/* The most bytes of a state; a fit that needs more continues without one. */
#define STATES_LIMIT ((size_t)1 << 30)
/* Where a state's payload begins in its file. */
enum { STATES_OWNER = 32 + 8 + 4, STATES_HEAD = 2 * FRAME_HEAD + STATES_OWNER };

struct states_folder; /* constant after creation; may be shared by threads */
/* Lists the folder of this journal. A missing or unreadable folder gives an empty list. NULL:
 * out of memory. */
struct states_folder *states_folder_new(const char *journal, const struct run_identity *identity);
void states_folder_free(struct states_folder *folder);
/* Whether the fit had a file then. */
bool states_has(const struct states_folder *folder, uint64_t fit);
/* The payload of the fit's state, *n bytes to be freed. NULL: there is none, or it is damaged,
 * another run's, or there is no memory for it. */
unsigned char *states_read(const struct states_folder *folder, uint64_t fit, size_t *n);
/* Writes STATES_HEAD bytes, which this sets, and n of payload behind them, in place of an earlier
 * state. *is_there: the fit has a file; if it has disappeared, because the fit has ended in another
 * process, or if the journal has, nothing is written, *is_there is false, and the fit needs no
 * further states. syncs: it outlives a failure of the machine. An error: the earlier state is still
 * there, if there is one. */
enum status states_write(const struct states_folder *folder, uint64_t fit, bool *is_there,
                         unsigned char *bytes, size_t n, bool syncs, struct error *error);
/* Deletes the fit's file. */
void states_drop(const struct states_folder *folder, uint64_t fit);
/* Deletes the files and the folder of a journal. Other files are kept, and are an error. */
enum status states_remove(const char *journal, struct error *error);
