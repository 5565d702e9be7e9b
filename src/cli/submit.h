/* What the parts of `stiffit submit` share: the plan of a submission and the scripts made from it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Absolute paths, so that scripts run from anywhere. */
struct submission {
    char *program;              /* this very stiffit */
    char *problem, *result;     /* result: of the merge, as it was given; "": the default */
    char *directory;            /* that relative names in the options are meant from */
    char *folder;               /* for scripts and logs, beside the result */
    const char *name;           /* of the jobs */
    int64_t n_shard;
    bool *wanted;               /* n_shard: no result of it is there yet */
    int64_t n_wanted;
    bool *stale;                /* n_shard: with overwrite, the journal of another run is there, which has to go */
    bool overwrite;             /* results that are there */
    char accept_failed[40];     /* as --accept-failed takes it; the merge's exit code follows it too */
    bool is_complete;           /* the merged result is there: there is nothing to do */
    uint64_t n_dataset;
    int n_run_option, n_sbatch_option;
    char **run_option, **sbatch_option;
};

/* Opens problem and model as a shard will, so that errors in them or in the options are reported at once; finds the missing
 * shards. STATUS_SYSTEM: a result or journal of another run is in the way. Loads the model, so call it in a child process. */
enum status submit_check(struct submission *submission, struct error *error);

/* The job array's script and the merge's. A failed write shows in ferror(out). */
void submit_shards_script(FILE *out, const struct submission *submission);
void submit_merge_script(FILE *out, const struct submission *submission);
/* The numbers of the wanted shards as sbatch --array takes them: "1-3,7". */
void submit_array(FILE *out, const struct submission *submission);

/* Runs `sbatch --parsable` with `arguments` (NULL-terminated, at most 8) and takes the number of the job that it prints. */
enum status submit_sbatch(const char *const *arguments, int64_t *job, struct error *error);

#endif
