/* The options of `stiffit run`: one table that parsing, help, completions, the manual and /options of a problem file share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_RUN_OPTIONS_H
#define RUN_RUN_OPTIONS_H

#include "fit/fit.h"
#include "ode/evaluation.h"
#include "run/plan/shard.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

struct run_options {
    const char *problem;      /* positional */
    const char *output;       /* -o; NULL: PROBLEM.result.h5 (PROBLEM without .h5) */
    const char *model;        /* --model PATH; NULL: the problem file's */
    bool portable;            /* --portable: compile model text for any CPU of this kind */
    bool trust;               /* --trust: run native code that the problem file names or embeds */
    bool in_place;            /* --in-place */
    bool overwrite;           /* --overwrite */
    bool restart;             /* --restart: begin anew, dropping an old journal */
    bool retry_failed;        /* --retry-failed: fit anew what failed in the result that is there */
    const char *only;         /* --only ID[,ID...]; NULL: all datasets */
    const char *shard_text;   /* --shard k/K or slurm; NULL: not sharded */
    struct shard shard;       /* what it means */
    const char *cost_from;    /* --cost-from RESULT; NULL: shards are interleaved */
    const char *trace;        /* --trace FILE, "-": standard output; NULL: none */
    struct run_shown shown;   /* --json, --quiet, --progress, --color, --accept-failed */
    int64_t n_thread;         /* -j, --threads; 0: the CPUs this process may use */
    int64_t n_start;          /* --starts; 1 */
    int64_t seed;             /* --seed; 1 */
    int warm_start;           /* --warm-start none|pilot: 0, 1 */
    const char *profile;      /* --profile NAME[,NAME...]; NULL: none */
    int64_t n_bootstrap;      /* --bootstrap N; 0 */
    int bootstrap_kind;       /* --bootstrap-kind auto|residual|parametric: enum bootstrap_kind */
    bool keep_starts, keep_profile, keep_bootstrap; /* --keep-starts, ... */
    struct ode_options ode;   /* --rtol, --atol, --linear-solver auto|dense|lapack|klu */
    struct fit_options fit;   /* --optimizer, --ftol, --gtol, --max-evaluations, --max-steps, --max-total-steps,
                               * --max-seconds */
    int error;                /* --error: enum error_kind of observables that nothing else says it of */
    double huber_k, student_nu; /* --huber-k, --student-nu */
    double time_limit_s;      /* --time-limit S or [D-]HH:MM:SS; infinity: none */
    int64_t max_crashes;      /* --max-crashes; -1: 100, or 3 if the first ones hang */
    const char *command_line; /* as it was typed, for the provenance */
    uint64_t given;           /* bit i: option i of the table was on the command line, so /options does not change it */
};

/* Sets the defaults. */
void run_options_init(struct run_options *options);
/* The one table; its offsets are those of struct run_options. */
struct option_table run_options_table(void);
/* The arguments after `run`. *help: --help was among them, and nothing else counts. */
enum status run_options_parse(struct run_options *options, int argc, char *const *argv, bool *help,
                              struct error *error);
/* Applies one attribute of /options unless the command line gave that option. The text must live as long as `options`.
 * STATUS_USAGE with the nearest match for an unknown name or a bad value. */
enum status run_options_apply(struct run_options *options, const char *name, const char *value, struct error *error);

#endif
