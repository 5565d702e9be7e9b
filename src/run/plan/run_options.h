/* The options of `stiffit run`: one table for parsing, help, completions, the manual and
 * /options of a problem file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/problem/problem.h"
#include "run/plan/recipe.h"
#include "run/plan/selection_request.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* What changing an option changes: the `effect` of its row. Those that change results are in the
 * order of the description of a run (recipe.h). */
enum run_effect {
    RUN_SHOWN = 1,  /* what is shown or written, and where; which failures the exit code accepts */
    RUN_MACHINE,    /* how this machine computes, and what happens to existing files */
    RUN_INPUT,      /* what is fitted: part of the identity apart from the description */
    RUN_FITS,       /* the result of every fit ... */
    RUN_OBJECTIVE,  /* ... through the objective */
    RUN_FITS_LATER, /* the result of every fit, too: newer options,
        described only if they are not the default */
    RUN_REFITS      /* what is computed in addition to the fits */
};

/* Where a run's result and its journal are, and what may become of a result that is there. */
struct run_paths {
    const char *problem;
    char *result, *journal; /* run_paths_fini frees them */
    bool in_place;          /* the result goes into the problem file */
    bool overwrite;         /* a result that is there is replaced ... */
    bool retry_failed;      /* ... or its failed rows are */
};

struct run_options {
    const char *problem;      /* positional */
    const char *output;       /* -o; NULL: PROBLEM.result.h5 (PROBLEM without .h5) */
    const char *model;        /* --model PATH; NULL: the problem file's */
    bool trust;               /* --trust: run native code that the problem file names or embeds */
    bool in_place;            /* --in-place */
    bool overwrite;           /* --overwrite */
    bool restart;             /* --restart: drop an unfinished run and start again */
    bool retry_failed;        /* --retry-failed: repeat the failed fits of an existing result */
    struct selection_request select; /* --only, --shard, --cost-from */
    const char *trace;        /* --trace FILE, "-": standard output; NULL: none */
    struct run_shown shown;   /* --json, --quiet, --progress, --color, --accept-failed */
    int64_t n_thread;         /* -j, --threads; 0: the CPUs this process may use */
    struct recipe recipe;     /* all that change results, but what is to be fitted */
    double time_limit_s;      /* --time-limit S or [D-]HH:MM:SS; infinity: none */
    int64_t max_crashes;      /* --max-crashes; -1: 100, or 3 if the first ones hang */
    const char *command_line; /* as it was typed, for the provenance */
    void *memory;             /* run_options_take (run_plan.h): of the texts; free() it */
    /* Bit i: option i of the table was on the command line, so /options does not change it. */
    uint64_t given;
};

extern const struct run_options run_options_default;
/* The one table; its offsets are those of struct run_options. */
struct option_table run_options_table(void);
/* The arguments after `run`. *help: --help was among them, and nothing else counts. */
enum status run_options_parse(struct run_options *options, int argc, char *const *argv, bool *help,
                              struct error *error);
/* With problem and flags set: result and journal. `output` may be NULL: then the result is
 * PROBLEM<suffix>.result.h5, PROBLEM without .h5 and the suffix of the selection. run_paths_fini
 * is legal after a failure. */
enum status run_paths_init(struct run_paths *paths, const char *output,
                           const struct selection_request *select, struct error *error);
void run_paths_fini(struct run_paths *paths);
/* run_paths_init, for the paths that the options name. */
enum status run_options_paths(const struct run_options *options, struct run_paths *paths,
                              struct error *error);
/* Once all options are known: --evaluate turns off what only searches need. */
enum status run_options_settle(struct run_options *options, struct error *error);
/* Applies what /options of the file says and the command line does not, and settles them. */
enum status run_options_of_file(struct run_options *options, const struct problem *problem,
                                struct error *error);
/* Applies one attribute of /options unless the command line gave that option. The text must live
 * as long as `options`. STATUS_USAGE with the nearest match for an unknown name or a bad value. */
enum status run_options_apply(struct run_options *options, const char *name, const char *value,
                              struct error *error);
