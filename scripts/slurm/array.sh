#!/bin/sh
#SBATCH --job-name=stiffit
#SBATCH --array=1-8
#SBATCH --cpus-per-task=1
#SBATCH --time=1:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
# A job array: each task fits one shard. Copy it, change what is in capitals and the lines above, and give it to sbatch; then
#     sbatch --dependency=afterany:JOB --wrap='stiffit merge PROBLEM.h5'
# `stiffit submit` writes such a script by itself, with a guard against shards that never get on.
# SPDX-License-Identifier: BSD-3-Clause
set -u
stiffit=stiffit
problem=PROBLEM.h5
options=

# SLURM warns this script alone (B:) before the time is up.
warned='' child=''
trap 'warned=1; [ -z "$child" ] || kill -USR1 "$child"' USR1
# The array's numbers say which shard this is: they must begin at 0 or 1 and have no gaps, or stiffit refuses.
# shellcheck disable=SC2086 # options is a list of words
"$stiffit" run "$problem" --shard slurm $options &
child=$!
[ -z "$warned" ] || kill -USR1 "$child"
while wait "$child"; code=$?; kill -0 "$child" 2>/dev/null; do :; done # a signal ends wait early
if [ "$code" -gt 128 ] && [ "$(kill -l "$code")" = USR1 ]; then
    code=75 # the signal came before stiffit could handle it
fi
if [ "$code" = 75 ] && [ -n "$warned" ]; then
    # This task alone: the last one's job number is that of the whole array.
    exec scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$code"
