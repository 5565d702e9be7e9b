/* The finisher: turns the journal into the result file, in the problem's order, without loading the model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/arena.h"
#include "io/problem.h"
#include "io/result.h"
#include "run/supervise/board.h"
#include "run/plan/campaign.h"
#include "run/finish/finish_refits.h"
#include "run/finish/retry.h"
#include "run/finish/skeleton.h"
#include "run/supervise/stop.h"
#include "run/finish/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_AT_ONCE = 4096 };

struct finish {
    struct counter *heartbeat;
    struct problem *problem;
    struct result *skeleton;
    struct journal_reader *journal;
    struct result_writer *writer;
    char *result_path, *journal_path;
    struct refit_plan plan;
    struct selection selection;
    struct result *before;         /* --retry-failed: the rows that stay are its; else NULL */
    struct retry_provenance retry;
    struct finish_refits *refits;
    struct fit_record best, other; /* of a dataset's tasks */
    void *arrays;                  /* of both */
};

/* One row; its work is that of the starts, the summary's that of all tasks. */
static enum status write_row(struct finish *finish, uint64_t dataset, const char *id, struct run_summary *summary,
                             struct error *error)
{
    struct starts_tally tally, work;
    struct fit_record *best = &finish->best;
    size_t n_parameter = result_info(finish->skeleton)->n_parameter;
    best->start = finish->other.start = 0;
    fit_record_clear(best, n_parameter); /* columns that this run has no part of */
    fit_record_clear(&finish->other, n_parameter);
    enum status status = finish_refits_row(finish->refits, dataset, best, &finish->other, &tally, &work, error);
    if (status)
        return status;
    if (tally.n_start < result_info(finish->skeleton)->identity.n_start) {
        summary->journal_gone = true;
        return error_set(error, STATUS_SYSTEM, "%s: fits have been removed from it meanwhile", finish->journal_path);
    }
    best->seconds = tally.seconds;
    best->n_iteration = tally.n_iteration;
    best->n_evaluation = tally.n_evaluation;
    best->n_step = tally.n_step;
    if (finish->before)
        best->notes |= NOTE_retried;
    status = result_writer_add(finish->writer, id, best, error);
    if (status)
        return status;
    summary_add(summary, id, best);
    summary_add_refits(summary, best, n_parameter, finish->plan.n_bootstrap);
    if (finish->before)
        summary_add_retried(summary, best);
    summary->fit_seconds += work.seconds - tally.seconds;
    summary->n_evaluation += (uint64_t)(work.n_evaluation - tally.n_evaluation);
    summary->n_step += (uint64_t)(work.n_step - tally.n_step);
    return STATUS_OK;
}

/* A row of the result that was there; its work is not this run's. */
static enum status keep_row(struct finish *finish, const char *id, const struct fit_record *record, struct run_summary *summary,
                            struct error *error)
{
    double seconds = summary->fit_seconds;
    uint64_t n_evaluation = summary->n_evaluation, n_step = summary->n_step;
    summary_add(summary, id, record);
    summary->fit_seconds = seconds;
    summary->n_evaluation = n_evaluation;
    summary->n_step = n_step;
    return result_writer_add(finish->writer, id, record, error);
}

/* --retry-failed: all rows that were there, some of them anew. */
static enum status replace_rows(struct finish *finish, struct run_summary *summary, struct error *error)
{
    struct result_block rows = {0};
    enum status status = STATUS_OK;
    for (uint64_t first = 0; !status && first < result_info(finish->before)->n_fit; first += rows.n) {
        status = result_read(finish->before, &rows, first, IDS_AT_ONCE, error);
        if (!status && rows.n == 0)
            break;
        for (size_t i = 0; !status && i < rows.n; i++) {
            uint64_t dataset = rows.record[i].dataset;
            bool anew = selection_has(&finish->selection, dataset);
            status = finish_refits_pass(finish->refits, dataset, !anew, error);
            if (!status)
                status = anew ? write_row(finish, dataset, rows.id[i], summary, error)
                              : keep_row(finish, rows.id[i], &rows.record[i], summary, error);
        }
    }
    result_block_fini(&rows);
    return status;
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
        counter_add(finish->heartbeat, 1);
        arena_reset(&arena);
        char **ids = arena_calloc(&arena, n, sizeof *ids);
        if (!ids)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
        else
            status = problem_read_ids(finish->problem, first, n, &arena, ids, error);
        for (size_t i = 0; !status && i < n; i++)
            if (selection_has(&finish->selection, first + i))
                status = write_row(finish, first + i, ids[i], summary, error);
    }
    arena_fini(&arena);
    return status;
}

/* The selection as it was when the run began. */
static enum status select_datasets(struct finish *finish, const struct run_options *options, struct error *error)
{
    const struct run_identity *identity = &result_info(finish->skeleton)->identity;
    enum status status = selection_open(&finish->selection, options, finish->problem, error);
    if (!status && options->retry_failed)
        status = selection_by_failure(&finish->selection, finish->result_path, identity, error);
    if (!status && options->retry_failed)
        status = result_open(&finish->before, finish->result_path, error);
    if (!status && strcmp(finish->selection.text, identity->selection))
        status = error_set(error, STATUS_SYSTEM, "%s: the selection of datasets is no longer what it was when the run began (%s"
                           ", now %s)", finish->journal_path, identity->selection, finish->selection.text);
    return status;
}

/* As the skeleton has it; of a retry as it was, and what is new. */
static enum status make_header(struct finish *finish, struct result_header *header, struct error *error)
{
    const struct result_info *info = result_info(finish->skeleton);
    *header = (struct result_header){
        .n_parameter = info->n_parameter, .parameter_name = info->parameter_name, .parameter_scale = info->parameter_scale,
        .parameter_unit = info->parameter_unit, .objective_kind = info->objective_kind, .identity = info->identity,
        .n_row = finish->selection.n, .provenance = info->provenance,
        .parts = finish_refits_parts(&finish->plan, info->identity.n_start) | (finish->selection.bit ? FIT_PART_SELECTION : 0)};
    if (!finish->before)
        return STATUS_OK;
    const struct result_info *before = result_info(finish->before);
    header->identity = before->identity;
    header->n_row = before->n_fit;
    header->parts &= ~(unsigned)FIT_PART_SELECTION;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        header->parts |= result_has(finish->before, (enum fit_column)i) ? fit_column_part((enum fit_column)i) : 0u;
    enum status status = retry_provenance_init(&finish->retry, before, info, error);
    header->provenance = finish->retry.provenance;
    return status;
}

static enum status finish_run(struct finish *finish, struct run_options *options, const struct board *board,
                              struct run_summary *summary, struct error *error)
{
    finish->result_path = campaign_result_path(options);
    finish->journal_path = campaign_journal_path(options);
    if (!finish->result_path || !finish->journal_path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of the result");
    enum status status = problem_open(&finish->problem, options->problem, error);
    if (!status)
        status = campaign_file_options(finish->problem, options, error);
    if (!status)
        status = skeleton_open(finish->journal_path, &finish->skeleton, error);
    if (status)
        return status;
    const struct result_info *info = result_info(finish->skeleton);
    if ((status = refit_plan_init(&finish->plan, options, info->parameter_name, info->n_parameter, error)))
        return status;
    if ((status = journal_read(&finish->journal, finish->journal_path, &info->identity, error)))
        return status;
    if ((status = select_datasets(finish, options, error)))
        return status;
    size_t bytes = (fit_record_array_bytes(info->n_parameter) + 7) / 8 * 8;
    if (!(finish->arrays = calloc(2, bytes)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", info->n_parameter);
    fit_record_set_arrays(&finish->best, info->n_parameter, finish->arrays);
    fit_record_set_arrays(&finish->other, info->n_parameter, (char *)finish->arrays + bytes);
    struct result_header header;
    if ((status = make_header(finish, &header, error)))
        return status;
    status = result_writer_open(&finish->writer, finish->result_path, options->in_place ? options->problem : NULL, &header,
                                error);
    const struct finish_source source = {finish->journal, info, &finish->plan, finish->before};
    if (!status)
        status = finish_refits_new(&finish->refits, &source, finish->writer, error);
    if (!status)
        status = (finish->before ? replace_rows : write_rows)(finish, summary, error);
    if (!status)
        status = finish_refits_end(finish->refits, error);
    if (!status && !(stamp_holds(&board->problem, options->problem) && stamp_holds(&board->result, finish->result_path))) {
        summary->journal_gone = true;
        status = error_set(error, STATUS_SYSTEM, "%s or %s has been changed meanwhile", options->problem, finish->result_path);
    }
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
    if (!board)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for what the supervisor watches; every fit is in the journal");
    counter_set(&board->phase, BOARD_WRITING);
    stop_ignore(); /* it takes moments, and a result is worth more to whoever stops us than none; if not, we are ended */
    if (!board_die_with_supervisor(board))
        return error_set(error, STATUS_STOPPED, "stopped: the supervisor has gone");
    struct finish finish = {.heartbeat = &board->heartbeat};
    enum status status = finish_run(&finish, options, board, summary, error);
    if (status && finish.journal_path && !skeleton_is_there(finish.journal_path))
        summary->journal_gone = true; /* a twin of this run was faster: then the result is there */
    if (status && !summary->journal_gone && finish.journal)
        hooks->say(hooks->context, "every fit is in the journal: once this is mended, the same command writes the result");
    finish_refits_free(finish.refits);
    result_writer_close(finish.writer);
    journal_reader_free(finish.journal);
    if (!status)
        drop_journal(finish.journal_path, hooks);
    refit_plan_fini(&finish.plan);
    selection_fini(&finish.selection);
    retry_provenance_fini(&finish.retry);
    result_close(finish.before);
    result_close(finish.skeleton);
    problem_close(finish.problem);
    free(finish.arrays);
    free(finish.result_path);
    free(finish.journal_path);
    counter_set(&board->phase, BOARD_DONE);
    return status;
}
