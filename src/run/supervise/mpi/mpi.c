/* stiffit-mpi.so: the few calls of MPI, for the library that mpicc belongs to.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/ranks_mpi.h"

#include <mpi.h>
#include <stddef.h>

static MPI_Request request = MPI_REQUEST_NULL;

static void begin(int *n, int *rank)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, n);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
}

static void gather(const void *bytes, void *all, const int *count, const int *offset, int rank,
                   int root)
{
    if (root < 0)
        MPI_Iallgatherv(bytes, count[rank], MPI_BYTE, all, count, offset, MPI_BYTE, MPI_COMM_WORLD,
                        &request);
    else
        MPI_Igatherv(bytes, count[rank], MPI_BYTE, all, count, offset, MPI_BYTE, root,
                     MPI_COMM_WORLD, &request);
}

static int is_done(void)
{
    int done;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done;
}

static void end(void) { MPI_Finalize(); }
static void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

extern const struct ranks_mpi stiffit_mpi;
const struct ranks_mpi stiffit_mpi = {RANKS_MPI_VERSION, begin, gather, is_done, end, abort_all};
