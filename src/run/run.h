/* A run: the supervisor and its two children, the compute process and the finisher. Nothing in
 * run/ prints; cli/ supplies hooks and prints the summary.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The folders are layers, too (scripts/lint-layers): supervise -> plan -> finish -> compute,
 * merge. This header is below all of them.
 *   supervise/  the processes: supervise, child (starting, watching and stopping one), stop
 *               (signals); board (memory that they share, with the options); suspects (which fit
 *               caused a death); rank* (the processes of other ranks)
 *   plan/       what there is to do: run_options, recipe*; run_plan, header (what each journal
 *               begins with); campaign* (data, model, identity); trust; selection* (which
 *               datasets); share, components (fits over many datasets); refit, review; pilot;
 *               best (of several starts)
 *   finish/     the result: finish*, summary; obsolete (journals to be removed)
 *   compute/    the compute process: compute (what its parts have in common), compute_run
 *               (set-up); compute_single and compute_joint (fits of one dataset, and of many:
 *               search*, joint_refits) over compute_pass (one pass over the datasets, and fits
 *               as coroutines); record_batch (records on their way to the journal); block_ring
 *               (data for the workers); schedule, job, turn_length (the order of work); task
 *               (what a fit does); keeper (what is kept of it); trace
 *   merge/      shards as files: shard_set, merge* */
#pragma once

#include "base/error.h"
#include "base/method.h"
#include "base/option.h"
#include "base/outcome.h"
#include "fit/statistics/digest.h"
#include "io/result/population.h"

struct text_messages;
struct run_options;
struct run_plan;

/* Reports of a running child; called on its main thread. */
struct run_hooks {
    /* called first: an earlier process has died in the middle of its output */
    void (*take_over)(void *context);
    void (*say)(void *context, const char *line);    /* one line for the user, no newline */
    /* Before the first fit of the process; the run began at `begun_ns`, when `n_done_before`
     * fits were done. */
    void (*begin)(void *context, uint64_t n_total, uint64_t n_done_before, int64_t begun_ns);
    /* About ten times a second; `where`: of fits over many datasets, how far those have come
     * that are under way; or NULL. */
    void (*progress)(void *context, uint64_t n_done, uint64_t n_failed, const char *where);
    void (*end)(void *context);
    /* The errors of the model's text (model/build/build.h); NULL: the run's error has the first. */
    void (*show)(void *context, const struct text_messages *messages, const char *text,
                 size_t n_byte, const char *origin);
    void *context;
};

/* What the user sees of a run, and which failures its exit code accepts. */
struct run_shown {
    bool json;                         /* --json: the summary as JSON on stdout */
    bool quiet;                        /* -q: nothing but errors on stderr */
    int progress, color;               /* --progress, --color auto|always|never: enum when */
    struct option_share accept_failed; /* --accept-failed N or N% */
    /* --strict: converged fits that are doubtful (NOTE_DOUBTFUL) count as failed */
    bool strict;
};

enum { RUN_ID_LENGTH = 64 };

/* Of a fit with random parameters. */
struct run_population {
    size_t n_estimate;        /* 0: there is no such fit */
    struct population_head head;
    size_t n_zero;            /* variances of 0; and the parameter of the first one: */
    char zero[RUN_ID_LENGTH];
    size_t n_no_error;        /* other estimates without a standard error; and the first one: */
    char no_error[RUN_ID_LENGTH];
    char flat[300];           /* result_population_flat */
};

struct run_summary {
    char *result_path;                    /* run_summary_fini frees it */
    bool already_complete;                /* the result existed before: nothing was computed */
    /* with an error: another process has removed the journal, or changed the problem or the
     * result; the caller must start again and see which fits remain */
    bool journal_gone;
    /* with an error: a new process, with free memory, must continue */
    bool wants_fresh;
    /* with an error: another rank has ended or begins again */
    bool follows_ranks;
    bool is_reported;                         /* with an error: rank 0 reports it */
    /* of the rows of /fits; its work is that of refits, too */
    struct digest digest;
    uint64_t n_retried, n_retried_success; /* rows fitted again (--retry-failed) */
    char reason[N_OUTCOME][160];          /* of the first failure of each kind */
    uint64_t by_limit[N_LIMIT];           /* sides of profiles */
    uint64_t n_replicate, n_replicate_failed; /* of the bootstraps of fits that succeeded */
    /* of the last row; NaN: unknown, or there are no priors */
    double objective, log_likelihood, log_prior;
    struct run_population population;
    int64_t n_same_optimum;               /* starts that reached it */
};
void run_summary_fini(struct run_summary *summary);
/* OK or FITS_FAILED, as --accept-failed says. */
enum status run_summary_status(const struct run_summary *summary, const struct run_shown *shown);

struct run_request {
    const char *problem, *journal;
    double time_limit_s;      /* infinity: none */
    bool is_trace;            /* there is no result to be written */
    bool is_alone;            /* other tasks of the same job have their own runs: --shard */
    /* the processes; they return exit codes */
    int (*compute)(int argc, char **argv), (*finish)(int argc, char **argv);
    int argc;
    /* as `ps` shows the compute processes; the finisher's is the journal, which holds the plan */
    char **argv;
    const void *options;      /* n_option bytes of run_options_bytes, for the compute processes */
    size_t n_option;
};

/* The supervisor: starts the children and watches them. Returns the exit code of the command;
 * the children have said what was to be said, and `error` holds what the supervisor itself has
 * to say (status OK: nothing). */
int run_supervise(const struct run_request *request, struct error *error);
/* Supervisor and children: the path of the journal of a run with --trace; NULL: there is none. */
const char *run_trace_journal(void);

/* The compute child: everything up to the last fit in the journal. summary->already_complete: no
 * finisher is needed. Options of the problem file that were not on the command line are put into
 * `options`. */
enum status run_compute(struct run_options *options, const struct run_hooks *hooks,
                        struct run_summary *summary, struct error *error);

/* The finisher: journal -> result file. Reads the plan (zeroed; run_plan_fini) from the journal
 * first. No plugin is loaded. */
enum status run_finish(const char *journal, struct run_plan *plan, const struct run_hooks *hooks,
                       struct run_summary *summary, struct error *error);

/* Exit codes of the children in addition to those of status_exit_code: the result existed
 * before; another process has removed the journal, so the supervisor must start again and see
 * which fits remain; a new process must continue; and another rank has ended or begins again. */
enum {
    RUN_EXIT_COMPLETE = 90,
    RUN_EXIT_COMPLETE_FAILED = 91,
    RUN_EXIT_AGAIN = 92,
    RUN_EXIT_FRESH = 93,
    RUN_EXIT_RANKS = 94
};
