/* Rows of the trace. A row begins when an evaluation is requested and ends at the next event,
 * because the optimiser judges an answer after receiving it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/trace.h"

#include "base/clock.h"
#include "base/output.h"
#include "io/table/csv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "experiment" only if the problem has /experiments. */
static const char *const column_before[] = {"id",   "task",   "evaluation", "experiment",
                                            "kind", "engine", "tighter"};
static const char *const column_behind[] = {"objective", "gradient_norm", "outcome",
                                            "steps",     "seconds",       "reason"};
enum { EXPERIMENT_COLUMN = 3 };
enum {
    N_BEFORE = sizeof column_before / sizeof *column_before,
    N_BEHIND = sizeof column_behind / sizeof *column_behind
};

struct trace {
    const struct campaign *campaign;
    struct board *board;    /* trace_row: 1 while a row is begun but not ended */
    struct csv_writer writer;
    FILE *output;           /* the real standard output */
    const char *path;
    int failure;            /* the first errno */
    uint64_t *dataset;      /* n, increasing, with their ids */
    char **id;
    size_t n;
    struct arena arena;
    uint64_t fit;           /* 1 + its number; 0: none yet */
    const char *fit_id;
    char task[80];
    int64_t n_evaluation, began_ns;
    /* of the current row */
    double objective, gradient_norm, seconds;
    const char *outcome;
    int64_t n_step;
    char reason[160];
};

static const char *outcome_word(enum evaluation_outcome outcome)
{
    static const char *const words[] = {"ok",     "ode_failed", "model_failed",
                                        "budget", "timeout",    "out_of_memory"};
    return (size_t)outcome < sizeof words / sizeof *words ? words[outcome] : "";
}

static void note_failure(struct trace *trace)
{
    if (ferror(trace->writer.file) && !trace->failure)
        trace->failure = errno ? errno : EIO;
}

static void flush(struct trace *trace)
{
    errno = 0;
    fflush(trace->writer.file);
    note_failure(trace);
}

/* An empty field if there is no number. */
static void put_number(struct trace *trace, double value)
{
    if (isnan(value))
        csv_put_text(&trace->writer, "");
    else
        csv_put_number(&trace->writer, value);
}

static void end_row(struct trace *trace)
{
    struct csv_writer *writer = &trace->writer;
    if (!writer->in_row)
        return;
    put_number(trace, trace->objective);
    put_number(trace, trace->gradient_norm);
    csv_put_text(writer, trace->outcome);
    csv_put_integer(writer, trace->n_step);
    put_number(trace, trace->seconds);
    csv_put_text(writer, trace->reason);
    csv_end_row(writer);
    flush(trace);
    counter_set(&trace->board->trace_row, 0);
}

static bool has_experiments(const struct trace *trace)
{
    return problem_info(trace->campaign->problem)->has_experiments;
}

static void begin_row(struct trace *trace, const char *experiment, const char *kind,
                      int64_t n_evaluation)
{
    struct csv_writer *writer = &trace->writer;
    end_row(trace);
    trace->objective = trace->gradient_norm = trace->seconds = NAN;
    trace->outcome = "";
    trace->n_step = 0;
    trace->reason[0] = '\0';
    csv_put_text(writer, trace->fit_id);
    csv_put_text(writer, trace->task);
    csv_put_integer(writer, n_evaluation);
    if (has_experiments(trace))
        csv_put_text(writer, experiment);
    csv_put_text(writer, kind);
}

static void write_header(struct trace *trace)
{
    const char *const *name = problem_parameter_name(trace->campaign->problem);
    for (int i = 0; i < N_BEFORE; i++)
        if (i != EXPERIMENT_COLUMN || has_experiments(trace))
            csv_put_text(&trace->writer, column_before[i]);
    for (size_t i = 0; i < trace->campaign->n_parameter; i++)
        csv_put_text(&trace->writer, name[i]);
    for (int i = 0; i < N_BEHIND; i++)
        csv_put_text(&trace->writer, column_behind[i]);
    csv_end_row(&trace->writer);
}

/* Ends a row that an earlier process had begun when it died. */
static void end_row_of_dead(struct trace *trace)
{
    if (counter_get(&trace->board->trace_row) == 0)
        return;
    trace->writer.in_row = true;
    trace->objective = trace->gradient_norm = trace->seconds = NAN;
    trace->outcome = "crashed";
    end_row(trace);
}

static enum status open_file(struct trace *trace, bool overwrite, FILE *output, struct error *error)
{
    bool is_first = trace->board->n_process == 0;
    trace->output = output;
    trace->writer.file = output_grow(trace->path, is_first, overwrite, output, error);
    if (!trace->writer.file)
        return error->status;
    if (is_first)
        write_header(trace);
    else
        end_row_of_dead(trace);
    flush(trace);
    return STATUS_OK;
}

static enum status read_ids(struct trace *trace, struct error *error)
{
    const struct campaign *campaign = trace->campaign;
    trace->dataset =
        arena_calloc(&trace->arena, campaign->plan.selection.n + 1, sizeof *trace->dataset);
    trace->id = arena_calloc(&trace->arena, campaign->plan.selection.n + 1, sizeof *trace->id);
    if (!trace->dataset || !trace->id)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %llu ids",
                         (unsigned long long)campaign->plan.selection.n);
    enum status status = STATUS_OK;
    for (uint64_t d = 0;
         !status && d < campaign->n_dataset && trace->n < campaign->plan.selection.n; d++) {
        if (!selection_has(&campaign->plan.selection, d))
            continue;
        status =
            problem_read_ids(campaign->problem, d, 1, &trace->arena, &trace->id[trace->n], error);
        trace->dataset[trace->n++] = d;
    }
    return status;
}

enum status trace_open(struct trace **made, const char *path, bool overwrite,
                       const struct campaign *campaign, struct board *board, FILE *output,
                       struct error *error)
{
    struct trace *trace = calloc(1, sizeof *trace);
    *made = trace;
    if (!trace)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the trace");
    trace->campaign = campaign;
    trace->board = board;
    trace->path = path;
    enum status status = read_ids(trace, error);
    return status ? status : open_file(trace, overwrite, output, error);
}

enum status trace_status(const struct trace *trace, struct error *error)
{
    return trace && trace->failure
               ? error_system(error, trace->failure, "cannot write %s",
                              strcmp(trace->path, "-") ? trace->path : "to standard output")
               : STATUS_OK;
}

void trace_close(struct trace *trace)
{
    if (!trace)
        return;
    if (trace->writer.file && trace->writer.file != trace->output)
        fclose(trace->writer.file);
    arena_fini(&trace->arena);
    free(trace);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

bool trace_wants(const struct trace *trace, uint64_t dataset)
{
    return trace && trace->n &&
           bsearch(&dataset, trace->dataset, trace->n, sizeof dataset, compare_numbers);
}

void trace_begin(struct trace *trace, uint64_t dataset, uint32_t task)
{
    const struct campaign *campaign = trace->campaign;
    const uint64_t *found =
        bsearch(&dataset, trace->dataset, trace->n, sizeof dataset, compare_numbers);
    uint64_t fit = 1 + campaign_number(campaign, dataset, task);
    if (fit == trace->fit)
        return;
    end_row(trace);
    trace->fit = fit;
    trace->fit_id = found ? trace->id[found - trace->dataset] : "";
    trace->n_evaluation = 0;
    if (task < campaign->n_start) {
        snprintf(trace->task, sizeof trace->task, "start %u", task);
        return;
    }
    const struct refit refit = refit_plan_get(&campaign->plan.refits, task - campaign->n_start);
    if (refit.kind == REFIT_PROFILE)
        snprintf(trace->task, sizeof trace->task, "profile %.50s %s",
                 problem_parameter_name(campaign->problem)[refit.parameter],
                 refit.side < 0 ? "below" : "above");
    else
        snprintf(trace->task, sizeof trace->task, "bootstrap %u", refit.replicate);
}

void trace_ask(struct trace *trace, const char *experiment, const struct evaluation *evaluation)
{
    char tighter[32];
    const char *kind = evaluation->adjoint  ? "gradient"
                       : evaluation->n_sens ? "derivatives"
                                            : "values";
    begin_row(trace, experiment, kind, trace->n_evaluation++);
    csv_put_text(&trace->writer, engine_word[evaluation->engine]);
    snprintf(tighter, sizeof tighter, "%.6g", evaluation->tighter > 0 ? evaluation->tighter : 1);
    csv_put_text(&trace->writer, tighter);
    for (size_t i = 0; i < trace->campaign->n_parameter; i++)
        csv_put_number(&trace->writer, evaluation->named[i]);
    counter_set(&trace->board->trace_row, 1);
    flush(trace);
    trace->began_ns = clock_now_ns();
}

void trace_answer(struct trace *trace, const struct evaluation *evaluation)
{
    trace->seconds = (double)(clock_now_ns() - trace->began_ns) / 1e9;
    trace->outcome = outcome_word(evaluation->outcome);
    trace->n_step = evaluation->n_step;
    snprintf(trace->reason, sizeof trace->reason, "%s", evaluation->reason);
}

void trace_judge(struct trace *trace, double objective, double gradient_norm)
{
    if (isfinite(objective))
        trace->objective = objective;
    if (isfinite(gradient_norm))
        trace->gradient_norm = gradient_norm;
}

void trace_end(struct trace *trace, const struct fit_record *record)
{
    trace_begin(trace, record->dataset, record->start);
    begin_row(trace, "", "end", record->n_evaluation);
    csv_put_text(&trace->writer, "");
    csv_put_text(&trace->writer, "");
    for (size_t i = 0; i < trace->campaign->n_parameter; i++)
        put_number(trace, record->parameter[i]);
    trace->objective = record->objective;
    trace->gradient_norm = record->gradient_norm;
    trace->outcome = outcome_name((enum outcome)record->outcome);
    trace->n_step = record->n_step;
    trace->seconds = record->seconds;
    snprintf(trace->reason, sizeof trace->reason, "%s", record->reason);
    end_row(trace);
    trace->fit = 0;
}
