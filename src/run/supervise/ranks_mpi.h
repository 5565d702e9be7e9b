/* What the supervisor needs of MPI: a table of functions in a shared object of its own,
 * stiffit-mpi.so, which is loaded when a fit over many datasets is launched by mpirun or srun.
 * The program itself is not linked with MPI: it starts as fast without, and one build may go
 * with OpenMPI or MPICH.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

enum { RANKS_MPI_VERSION = 1 };
#define RANKS_MPI_SYMBOL "stiffit_mpi"

/* All are called by one thread. Errors end the job (MPI_ERRORS_ARE_FATAL). */
struct ranks_mpi {
    int version;
    void (*begin)(int *n, int *rank);   /* MPI_Init */
    /* Begins to gather count[r] bytes of each rank r at all + offset[r]; root < 0: on every
     * rank. One at a time; the arrays must last until is_done. */
    void (*gather)(const void *bytes, void *all, const int *count, const int *offset, int rank,
                   int root);
    int (*is_done)(void);
    void (*end)(void);                  /* MPI_Finalize */
    void (*abort)(int code);            /* ends all ranks */
};
