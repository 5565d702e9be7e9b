/* How a compute process reaches those of the other ranks: through a socket to its supervisor,
 * which calls MPI. A compute process may die and be replaced; the ranks then all begin again
 * from the state that was kept last.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "par/monitor.h"

#include <stdint.h>

enum { RANK_LINK_PATH = 4096 };

/* Numbers are in this machine's order. A request is followed by n bytes, and so is an answer. */
enum rank_kind { RANK_JOIN, RANK_GATHER, RANK_GATHER_AT_FIRST, RANK_TEXT };
enum rank_flag { RANK_OK, RANK_AGAIN, RANK_END, RANK_REFUSED };
struct rank_request {
    uint64_t kind, n;
};
struct rank_answer {
    uint64_t flag, n;
};
/* Of an answer to RANK_JOIN that is not refused, with a reason as bytes. */
struct rank_info {
    uint64_t n, rank;
    char journal[RANK_LINK_PATH]; /* of a rank other than 0, for itself */
};

/* Zero-initialise. */
struct rank_link {
    int descriptor;
    struct rank_info info;
    struct counter *heartbeat;    /* of the waiting process */
    /* is_lost: another rank has ended or begins again, or this one was asked to stop */
    bool is_joined, is_lost;
    unsigned char *bytes;         /* of the latest answer */
};

/* How many tasks mpirun or srun has launched, by the environment; 1: it is not known that there
 * are others. */
unsigned rank_n_launched(void);
/* Whether they can find each other; srun without --mpi only starts them. */
bool rank_has_manager(void);
bool rank_is_first_launched(void);
/* The name of the environment entry with the socket's descriptor. */
extern const char rank_link_variable[];

/* Whether the supervisor offers a link; removes the environment entry. */
bool rank_link_find(struct rank_link *link);
/* Waits until all ranks have joined. STATUS_USAGE: there is no MPI. */
enum status rank_link_join(struct rank_link *link, struct counter *heartbeat, struct error *error);
/* As joint_ranks.gather: the context is the link. rank_link_gather_at_first: only rank 0 gets
 * the bytes, the others none. */
const unsigned char *rank_link_gather(void *link, const void *bytes, size_t n, size_t *n_all);
const unsigned char *rank_link_gather_at_first(void *link, const void *bytes, size_t n,
                                               size_t *n_all);
/* Why this process ends, for rank 0 to say. */
void rank_link_tell(struct rank_link *link, const char *text);
void rank_link_fini(struct rank_link *link);
/* A rank's own journal with the folder around it; "" is legal. */
void rank_journal_remove(const char *journal);

/* Exactly n bytes, whatever signals come. False: the other end is gone. */
bool rank_send(int descriptor, const void *bytes, size_t n);
bool rank_receive(int descriptor, void *bytes, size_t n);
