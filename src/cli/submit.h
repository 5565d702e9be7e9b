/* Common to the parts of `stiffit submit`: the plan of a submission, and the scripts made from
 * it. Independent fits are a job array of shards and a job that merges their results; a fit with
 * shared parameters is one job, with MPI ranks as its tasks.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Absolute paths, so that scripts run from anywhere. */
struct submission {
    char *program;              /* path of this program */
    /* result: of the merge or of the ranks, as given; "": the default */
    char *problem, *result;
    char *directory;            /* relative names in the options refer to it */
    char *folder;               /* for scripts and logs, next to the result */
    const char *name;           /* of the jobs */
    int64_t n_rank;             /* 0: shards */
    const char *mpi;            /* the value of srun --mpi */
    int64_t n_shard;
    bool *wanted;               /* n_shard: it has no result yet */
    int64_t n_wanted;
    /* n_shard: with overwrite, it has a journal of another run, to be removed */
    bool *stale;
    bool overwrite;             /* existing results */
    bool strict;                /* --strict of the run, also for the merge */
    /* as for --accept-failed; the merge's exit code depends on it too */
    char accept_failed[40];
    bool is_complete;           /* the merged result exists: nothing to do */
    uint64_t n_dataset;
    int n_run_option, n_sbatch_option;
    char **run_option, **sbatch_option;
};

/* Opens problem and model as a shard or rank will, so that errors in them or in the options are
 * reported at once; finds the missing shards. STATUS_SYSTEM: a result or journal of another run
 * is in the way. Loads the model, so call it in a child process. */
enum status submit_check(struct submission *submission, struct error *error);

/* Write the scripts of the job array, of the merge and of the ranks. Check ferror(out)
 * afterwards. */
void submit_shards_script(FILE *out, const struct submission *submission);
void submit_ranks_script(FILE *out, const struct submission *submission);
void submit_merge_script(FILE *out, const struct submission *submission);
/* The numbers of the wanted shards for sbatch --array: "1-3,7". */
void submit_array(FILE *out, const struct submission *submission);

/* Runs `sbatch --parsable` with `arguments` (NULL-terminated, at most 8) and returns the job
 * number that it prints in *job. */
enum status submit_sbatch(const char *const *arguments, int64_t *job, struct error *error);
