/* The finisher: turns the journal into the result file, in the problem's order, without loading the model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/arena.h"
#include "io/problem.h"
#include "io/result.h"
#include "run/board.h"
#include "run/campaign.h"
#include "run/finish_refits.h"
#include "run/skeleton.h"
#include "run/stop.h"
#include "run/summary.h"

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
    struct refit_plan plan;
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
    enum status status = finish_refits_row(finish->refits, dataset, best, &finish->other, &tally, &work, error);
    if (status)
        return status;
    best->seconds = tally.seconds;
    best->n_iteration = tally.n_iteration;
    best->n_evaluation = tally.n_evaluation;
    best->n_step = tally.n_step;
    status = result_writer_add(finish->writer, id, best, error);
    if (status)
        return status;
    summary_add(summary, id, best);
    summary_add_refits(summary, best, result_info(finish->skeleton)->n_parameter, finish->plan.n_bootstrap);
    summary->fit_seconds += work.seconds - tally.seconds;
    summary->n_evaluation += (uint64_t)(work.n_evaluation - tally.n_evaluation);
    summary->n_step += (uint64_t)(work.n_step - tally.n_step);
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
        for (size_t i = 0; !status && i < n; i++)
            status = write_row(finish, first + i, ids[i], summary, error);
    }
    arena_fini(&arena);
    return status;
}

static enum status finish_run(struct finish *finish, struct run_options *options, struct run_summary *summary,
                              struct error *error)
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
    if (journal_n_record(finish->journal) < info->identity.n_dataset * info->identity.n_start) {
        summary->journal_gone = true;
        return error_set(error, STATUS_SYSTEM, "%s: fits have been removed from it meanwhile", finish->journal_path);
    }
    size_t bytes = (fit_record_array_bytes(info->n_parameter) + 7) / 8 * 8;
    if (!(finish->arrays = calloc(2, bytes)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", info->n_parameter);
    fit_record_set_arrays(&finish->best, info->n_parameter, finish->arrays);
    fit_record_set_arrays(&finish->other, info->n_parameter, (char *)finish->arrays + bytes);
    const struct result_header header = {
        .n_parameter = info->n_parameter, .parameter_name = info->parameter_name,
        .parameter_scale = info->parameter_scale, .parameter_unit = info->parameter_unit,
        .objective_kind = info->objective_kind, .identity = info->identity, .provenance = info->provenance,
        .parts = finish_refits_parts(&finish->plan, info->identity.n_start)};
    status = result_writer_open(&finish->writer, finish->result_path, options->in_place ? options->problem : NULL, &header,
                                error);
    const struct finish_source source = {finish->journal, info, &finish->plan};
    if (!status)
        status = finish_refits_new(&finish->refits, &source, finish->writer, error);
    if (!status)
        status = write_rows(finish, summary, error);
    if (!status)
        status = finish_refits_end(finish->refits, error);
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
    finish_refits_free(finish.refits);
    result_writer_close(finish.writer);
    journal_reader_free(finish.journal);
    if (!status)
        drop_journal(finish.journal_path, hooks);
    refit_plan_fini(&finish.plan);
    result_close(finish.skeleton);
    problem_close(finish.problem);
    free(finish.arrays);
    free(finish.result_path);
    free(finish.journal_path);
    counter_set(&board->phase, BOARD_DONE);
    return status;
}
