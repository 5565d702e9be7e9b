#!/bin/sh
#SBATCH --job-name=stiffit
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=1
#SBATCH --time=1:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
# One step over several nodes: each of its tasks fits one shard, and the job merges them. Copy it, change what is in capitals
# and the lines above, and give it to sbatch. (For hundreds of shards, or nodes that come and go, use array.sh.)
# SPDX-License-Identifier: BSD-3-Clause
set -u
stiffit=stiffit
problem=PROBLEM.h5
options=

# SLURM warns the tasks of the step (--signal without B:) before the time is up; they stop with 75 and have lost nothing.
# shellcheck disable=SC2086 # options is a list of words
srun --kill-on-bad-exit=0 "$stiffit" run "$problem" --shard slurm $options
code=$?
if [ "$code" = 75 ]; then
    exec scontrol requeue "$SLURM_JOB_ID"
fi
exec "$stiffit" merge "$problem"
