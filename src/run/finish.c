/* The finisher: turns the journal into the result file, in the problem's order, without loading the model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/arena.h"
#include "io/problem.h"
#include "io/result.h"
#include "run/board.h"
#include "run/campaign.h"
#include "run/skeleton.h"
#include "run/stop.h"
#include "run/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_AT_ONCE = 4096 };

struct finish {
    struct problem *problem;
    struct result *skeleton;
    struct journal_reader *journal;
    struct result_writer *writer;
    char *result_path, *journal_path;
    struct fit_record best, other; /* of a dataset's starts */
};

static bool record_alloc(struct fit_record *record, size_t n_parameter)
{
    record->parameter = calloc(n_parameter, sizeof(double));
    record->at_bound = calloc(n_parameter, 1);
    return record->parameter && record->at_bound;
}

static void record_free(struct fit_record *record)
{
    free(record->parameter);
    free(record->at_bound);
}

static void swap(struct fit_record *a, struct fit_record *b)
{
    struct fit_record c = *a;
    *a = *b;
    *b = c;
}

/* Successes before failures, then the smaller objective, then the earlier start. */
static bool is_better(const struct fit_record *a, const struct fit_record *b)
{
    bool a_success = outcome_is_success((enum outcome)a->outcome), b_success = outcome_is_success((enum outcome)b->outcome);
    if (a_success != b_success)
        return a_success;
    return a->objective < b->objective || (isnan(b->objective) && !isnan(a->objective));
}

/* The best of a dataset's starts into finish->best; work is the sum over the starts. */
static enum status choose_best(struct finish *finish, uint64_t dataset, const struct run_identity *identity,
                               struct error *error)
{
    bool any = false;
    double seconds = 0;
    int64_t n_iteration = 0, n_evaluation = 0, n_step = 0;
    for (uint32_t start = 0; start < identity->n_start; start++) {
        error->status = STATUS_OK;
        if (!journal_get(finish->journal, dataset * identity->n_start + start, &finish->other, error)) {
            if (error->status)
                return error->status;
            continue;
        }
        seconds += finish->other.seconds;
        n_iteration += finish->other.n_iteration;
        n_evaluation += finish->other.n_evaluation;
        n_step += finish->other.n_step;
        if (!any || is_better(&finish->other, &finish->best))
            swap(&finish->best, &finish->other);
        any = true;
    }
    struct fit_record *best = &finish->best;
    if (!any) {
        *best = (struct fit_record){.dataset = dataset, .outcome = OUTCOME_not_run, .objective = NAN, .gradient_norm = NAN,
                                    .parameter = best->parameter, .at_bound = best->at_bound};
        for (uint32_t i = 0; i < identity->n_parameter; i++) {
            best->parameter[i] = NAN;
            best->at_bound[i] = 0;
        }
    }
    best->seconds = seconds;
    best->n_iteration = n_iteration;
    best->n_evaluation = n_evaluation;
    best->n_step = n_step;
    return STATUS_OK;
}

static enum status write_rows(struct finish *finish, struct run_summary *summary, struct error *error)
{
    const struct run_identity *identity = &result_info(finish->skeleton)->identity;
    struct arena arena = {0};
    enum status status = STATUS_OK;
    if (problem_info(finish->problem)->n_dataset != identity->n_dataset)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: has %llu datasets where there were %llu when the run began",
                         problem_info(finish->problem)->path,
                         (unsigned long long)problem_info(finish->problem)->n_dataset,
                         (unsigned long long)identity->n_dataset);
    for (uint64_t first = 0; !status && first < identity->n_dataset; first += IDS_AT_ONCE) {
        size_t n = identity->n_dataset - first < IDS_AT_ONCE ? (size_t)(identity->n_dataset - first) : IDS_AT_ONCE;
        arena_reset(&arena);
        char **ids = arena_calloc(&arena, n, sizeof *ids);
        if (!ids)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
        else
            status = problem_read_ids(finish->problem, first, n, &arena, ids, error);
        for (size_t i = 0; !status && i < n; i++) {
            status = choose_best(finish, first + i, identity, error);
            if (!status)
                status = result_writer_add(finish->writer, ids[i], &finish->best, error);
            if (!status)
                summary_add(summary, ids[i], &finish->best);
        }
    }
    arena_fini(&arena);
    return status;
}

static enum status finish_run(struct finish *finish, const struct run_options *options, struct run_summary *summary,
                              struct error *error)
{
    finish->result_path = campaign_result_path(options);
    finish->journal_path = campaign_journal_path(options);
    if (!finish->result_path || !finish->journal_path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of the result");
    enum status status = problem_open(&finish->problem, options->problem, error);
    if (!status)
        status = skeleton_open(finish->journal_path, &finish->skeleton, error);
    if (status)
        return status;
    const struct result_info *info = result_info(finish->skeleton);
    if ((status = journal_read(&finish->journal, finish->journal_path, &info->identity, error)))
        return status;
    if (journal_n_record(finish->journal) < info->identity.n_dataset * info->identity.n_start) {
        summary->journal_gone = true;
        return error_set(error, STATUS_SYSTEM, "%s: fits have been removed from it meanwhile", finish->journal_path);
    }
    if (!record_alloc(&finish->best, info->n_parameter) || !record_alloc(&finish->other, info->n_parameter))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", info->n_parameter);
    const struct result_header header = {
        .n_parameter = info->n_parameter, .parameter_name = info->parameter_name,
        .parameter_scale = info->parameter_scale, .parameter_unit = info->parameter_unit,
        .objective_kind = info->objective_kind, .identity = info->identity, .provenance = info->provenance};
    status = result_writer_open(&finish->writer, finish->result_path, options->in_place ? options->problem : NULL, &header,
                                error);
    if (!status)
        status = write_rows(finish, summary, error);
    if (!status)
        status = result_writer_finish(finish->writer, error);
    if (!status)
        summary->result_path = strdup(finish->result_path);
    return status;
}

/* The result is complete and on disk, so what is left of the journal can only be in the way. */
static void drop_journal(const char *journal_path, const struct run_hooks *hooks)
{
    struct error error;
    skeleton_remove(journal_path);
    if (journal_remove(journal_path, &error)) {
        char line[sizeof error.message + 40];
        snprintf(line, sizeof line, "warning: the result is complete, but %s", error.message);
        hooks->say(hooks->context, line);
    }
}

enum status run_finish(struct run_options *options, const struct run_hooks *hooks, struct run_summary *summary,
                       struct error *error)
{
    struct board private_board = {0}, *board = board_attach(&private_board);
    counter_set(&board->n_finished, 1); /* the fits are in the journal: a death from now on loses nothing */
    counter_set(&board->phase, BOARD_WRITING);
    stop_ignore(); /* it takes moments, and a result is worth more to whoever stops us than none */
    if (!board_die_with_supervisor(board))
        return error_set(error, STATUS_STOPPED, "stopped: the supervisor has gone");
    struct finish finish = {0};
    enum status status = finish_run(&finish, options, summary, error);
    if (status && finish.journal_path && !skeleton_is_there(finish.journal_path))
        summary->journal_gone = true; /* a twin of this run was faster: then the result is there */
    if (status && !summary->journal_gone && finish.journal)
        hooks->say(hooks->context, "every fit is in the journal: once this is mended, the same command writes the result");
    result_writer_close(finish.writer);
    journal_reader_free(finish.journal);
    if (!status)
        drop_journal(finish.journal_path, hooks);
    result_close(finish.skeleton);
    problem_close(finish.problem);
    record_free(&finish.best);
    record_free(&finish.other);
    free(finish.result_path);
    free(finish.journal_path);
    counter_set(&board->phase, BOARD_DONE);
    return status;
}
