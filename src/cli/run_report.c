/* Prints the summary of a run as text and as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run_report.h"

#include "base/json.h"
#include "base/terminal.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_NOTE_BIT = 32 };

static void print_failures(const struct run_summary *summary, bool color)
{
    for (int i = 0; i < N_OUTCOME; i++) {
        enum outcome outcome = (enum outcome)i;
        if (summary->by_outcome[i] == 0 || outcome_is_success(outcome))
            continue;
        fprintf(stderr, "  %s%llu %s%s: %s\n", color ? "\033[31m" : "", (unsigned long long)summary->by_outcome[i],
                outcome_name(outcome), color ? "\033[0m" : "", outcome_meaning(outcome));
        fputs("    for example", stderr);
        for (int k = 0; k < RUN_N_EXAMPLE && summary->example[i][k][0]; k++)
            fprintf(stderr, "%s %s", k ? "," : "", summary->example[i][k]);
        if (summary->reason[i][0])
            fprintf(stderr, "; the first one: %s", summary->reason[i]);
        fputc('\n', stderr);
    }
}

static void print_notes(const struct run_summary *summary)
{
    for (int bit = 0; bit < N_NOTE_BIT; bit++)
        if (summary->by_note[bit] && note_meaning(bit))
            fprintf(stderr, "  note: %s%s (%llu %s)\n", note_meaning(bit),
                    1 << bit == NOTE_flat_direction ? ": `stiffit show` names the dataset" : "",
                    (unsigned long long)summary->by_note[bit], summary->by_note[bit] == 1 ? "fit" : "fits");
}

static void print_refits(const struct run_summary *summary)
{
    for (int i = LIMIT_none + 1; i < N_LIMIT; i++)
        if (summary->by_limit[i])
            fprintf(stderr, "  profiles: %llu %s %s: %s\n", (unsigned long long)summary->by_limit[i],
                    summary->by_limit[i] == 1 ? "side" : "sides", limit_name(i), limit_meaning(i));
    if (summary->n_replicate)
        fprintf(stderr, "  bootstrap: %llu replicates, %llu failed\n", (unsigned long long)summary->n_replicate,
                (unsigned long long)summary->n_replicate_failed);
}

static void print_text(const struct run_summary *summary, const struct run_shown *shown)
{
    uint64_t n_failed = run_summary_n_failed(summary);
    fprintf(stderr, "stiffit: %s: %s%llu %s, %llu converged, %llu failed\n", summary->result_path ? summary->result_path : "",
            summary->already_complete ? "already complete: " : "", (unsigned long long)summary->n_fit,
            summary->n_fit == 1 ? "fit" : "fits", (unsigned long long)(summary->n_fit - n_failed),
            (unsigned long long)n_failed);
    if (summary->n_retried)
        fprintf(stderr, "  %llu of them fitted again (--retry-failed): %llu converged, %llu failed\n",
                (unsigned long long)summary->n_retried, (unsigned long long)summary->n_retried_success,
                (unsigned long long)(summary->n_retried - summary->n_retried_success));
    print_failures(summary, terminal_color(stderr, shown->color));
    print_notes(summary);
    print_refits(summary);
    if (!summary->already_complete)
        fprintf(stderr, "  %llu evaluations, %llu integrator steps, %.3g s of computing\n",
                (unsigned long long)summary->n_evaluation, (unsigned long long)summary->n_step, summary->fit_seconds);
}

static void print_json(const struct run_summary *summary, const struct run_shown *shown)
{
    struct json json;
    json_begin(&json, stdout);
    json_object_begin(&json, NULL);
    json_string(&json, "result", summary->result_path);
    json_boolean(&json, "already_complete", summary->already_complete);
    json_unsigned(&json, "fits", summary->n_fit);
    json_unsigned(&json, "failed", run_summary_n_failed(summary));
    json_unsigned(&json, "retried", summary->n_retried);
    json_boolean(&json, "accepted", run_summary_status(summary, shown) == STATUS_OK);
    json_object_begin(&json, "status");
    for (int i = 0; i < N_OUTCOME; i++) {
        json_unsigned(&json, outcome_name((enum outcome)i), summary->by_outcome[i]);
    }
    json_object_end(&json);
    json_object_begin(&json, "notes");
    for (int bit = 0; bit < N_NOTE_BIT; bit++)
        if (note_name(bit)) {
            json_unsigned(&json, note_name(bit), summary->by_note[bit]);
        }
    json_object_end(&json);
    json_object_begin(&json, "profile_sides");
    for (int i = LIMIT_none + 1; i < N_LIMIT; i++) {
        json_unsigned(&json, limit_name(i), summary->by_limit[i]);
    }
    json_object_end(&json);
    json_unsigned(&json, "replicates", summary->n_replicate);
    json_unsigned(&json, "replicates_failed", summary->n_replicate_failed);
    json_unsigned(&json, "evaluations", summary->n_evaluation);
    json_unsigned(&json, "steps", summary->n_step);
    json_number(&json, "seconds", summary->fit_seconds);
    json_end(&json);
}

void run_report(const struct run_summary *summary, const struct run_shown *shown)
{
    if (!shown->quiet)
        print_text(summary, shown);
    if (shown->json)
        print_json(summary, shown);
}
