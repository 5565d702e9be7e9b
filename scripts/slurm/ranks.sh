#!/bin/sh
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=USR1@60
# One fit with shared parameters on several nodes, by MPI: each rank has a part of the datasets, and the result has
# the same bits for any number of them. A rank or node that is lost, or a time limit that is near, puts the job back
# into the queue, where it resumes from its journal. `srun --mpi=list` says what this SLURM calls PMIx (OpenMPI) or
# PMI-2 (MPICH).
# SPDX-License-Identifier: BSD-3-Clause
#
#     sbatch ranks.sh
stiffit=stiffit
problem=PROBLEM.h5
options="--share NAME"

# shellcheck disable=SC2086 # options are words
srun --mpi=pmix --kill-on-bad-exit=1 "$stiffit" run "$problem" $options
code=$?
if { [ "$code" = 75 ] || [ "$code" -gt 128 ]; } && [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ]; then
    exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
