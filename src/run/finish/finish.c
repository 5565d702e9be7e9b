/* The finisher: turns the journal into the result file, in the problem's order, without loading
 * the model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/arena.h"
#include "io/problem/problem.h"
#include "io/result/gather.h"
#include "run/finish/finish_population.h"
#include "run/finish/finish_refits.h"
#include "run/finish/summary.h"
#include "run/plan/campaign.h"
#include "run/plan/selection_retry.h"
#include "run/supervise/board.h"
#include "run/supervise/stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_AT_ONCE = 4096, N_RETRY_FACT = 4 };

/* Of the first row that has a best fit. */
struct shared_values {
    struct result_shared shared;
    uint32_t *index;
    double *numbers;               /* values and standard errors */
    const char **name;
    bool is_taken;
};

struct finish {
    struct share share;            /* of fits over many datasets */
    struct shared_values shared;
    struct counter *heartbeat;
    struct problem *problem;
    size_t n_parameter, n_start;
    struct journal_reader *journal;
    struct result_writer *writer;
    const struct run_plan *plan;
    struct result *before;         /* --retry-failed: the rows that stay are its; else NULL */
    struct {
        const char **name, **value;
        char text[N_RETRY_FACT][40];
    /* facts that this step adds to the result's attributes; all others point into the plan or
     * the earlier result */
    } added;
    struct finish_refits *refits;
    struct fit_record best, other; /* of a dataset's tasks */
    const struct own_value *own;   /* the columns of the dataset that is written */
    void *arrays;                  /* of both */
};

/* The parameters of --share that all datasets have in common. */
static enum status open_shared(struct finish *finish, const struct result_header *known,
                               struct error *error)
{
    struct shared_values *values = &finish->shared;
    const struct share *share = &finish->share;
    size_t n = known->n_parameter;
    values->index = calloc(n + 1, sizeof *values->index);
    values->numbers = calloc(2 * n + 1, sizeof *values->numbers);
    values->name = calloc(n + 1, sizeof *values->name);
    if (!values->index || !values->numbers || !values->name)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    for (size_t i = 0; i < n; i++)
        if (share->level[i] == 1 && !(share->random.n > 0 && share->random.block[i])) {
            values->name[values->shared.n] = known->parameter_name[i];
            values->index[values->shared.n++] = (uint32_t)i;
        }
    for (size_t i = 0; i < 2 * n; i++)
        values->numbers[i] = NAN;
    values->shared.name = values->name;
    values->shared.value = values->numbers;
    values->shared.standard_error = values->numbers + values->shared.n;
    return STATUS_OK;
}

static void take_shared(struct shared_values *values, const struct fit_record *record)
{
    if (values->is_taken || isnan(record->objective))
        return;
    values->is_taken = true;
    for (size_t i = 0; i < values->shared.n; i++) {
        values->numbers[i] = record->parameter[values->index[i]];
        values->numbers[values->shared.n + i] = record->standard_error[values->index[i]];
    }
}

static bool is_first_of_fit(const struct finish *finish, uint64_t dataset)
{
    return finish->share.components.position[dataset] == 0;
}

/* Writes one row. The row's work is that of its starts; the summary's is that of all tasks. */
static enum status write_row(struct finish *finish, uint64_t dataset, const char *id,
                             struct run_summary *summary, struct error *error)
{
    struct starts_tally tally;
    struct fit_record work;
    struct fit_record *best = &finish->best;
    size_t n_parameter = finish->n_parameter;
    enum status status =
        finish_refits_row(finish->refits, dataset, best, &finish->other, &tally, &work, error);
    if (status)
        return status;
    if (tally.n_start < finish->n_start) {
        summary->journal_gone = true;
        return error_set(error, STATUS_SYSTEM,
                         "%s: fits have been removed from it meanwhile; the same command computes "
                         "them again",
                         finish->plan->paths.journal);
    }
    if (finish->before)
        best->notes |= NOTE_retried;
    if (finish->shared.index)
        take_shared(&finish->shared, best);
    best->own = finish->own;
    status = result_writer_add(finish->writer, id, best, error);
    if (status)
        return status;
    summary_add(summary, id, best, n_parameter);
    if (!finish->share.n ||
        is_first_of_fit(finish, dataset)) /* its replicates are the same in all rows */
        summary_add_refits(summary, best, n_parameter, finish->plan->refits.n_bootstrap);
    if (finish->before) {
        summary->n_retried++;
        summary->n_retried_success += outcome_is_success((enum outcome)best->outcome);
    }
    summary->digest.seconds += work.seconds - tally.work.seconds;
    summary->digest.n_evaluation += (uint64_t)(work.n_evaluation - tally.work.n_evaluation);
    summary->digest.n_step += (uint64_t)(work.n_step - tally.work.n_step);
    return STATUS_OK;
}

/* Copies a row of the old result; its work does not count for this run. */
static enum status keep_row(struct finish *finish, const char *id, const struct fit_record *record,
                            struct run_summary *summary, struct error *error)
{
    double seconds = summary->digest.seconds;
    uint64_t n_evaluation = summary->digest.n_evaluation, n_step = summary->digest.n_step;
    summary_add(summary, id, record, finish->n_parameter);
    summary->digest.seconds = seconds;
    summary->digest.n_evaluation = n_evaluation;
    summary->digest.n_step = n_step;
    return result_writer_add(finish->writer, id, record, error);
}

/* --retry-failed: writes all rows of the old result, with the retried ones replaced. */
static enum status replace_rows(struct finish *finish, struct gather *gather,
                                struct run_summary *summary, struct error *error)
{
    enum status status = STATUS_OK;
    for (struct gathered row; gather_next(gather, &row, &status, error);) {
        bool anew = selection_has(&finish->plan->selection, row.record->dataset);
        finish->own = row.record->own;
        status = gather_tables(gather, anew ? NULL : finish_refits_tables(finish->refits), error);
        if (!status)
            status = anew ? write_row(finish, row.record->dataset, row.id, summary, error)
                          : keep_row(finish, row.id, row.record, summary, error);
    }
    return status;
}

static enum status write_retried(struct finish *finish, const bool *table,
                                 struct run_summary *summary, struct error *error)
{
    const struct result_info *before = result_info(finish->before);
    const struct gather_file file = {.path = before->path};
    struct gather_request request = {.file = &file, .n = 1, .n_parameter = before->n_parameter,
                                     .n_dataset = finish->plan->identity.n_dataset};
    struct gather *gather = NULL;
    memcpy(request.table, table, sizeof request.table);
    enum status status = gather_new(&gather, &request, error);
    if (!status)
        status = replace_rows(finish, gather, summary, error);
    gather_free(gather);
    return status;
}

static enum status write_rows(struct finish *finish, struct run_summary *summary,
                              struct error *error)
{
    const struct run_identity *identity = &finish->plan->identity;
    struct arena arena = {0};
    enum status status = STATUS_OK;
    if (problem_info(finish->problem)->n_dataset != identity->n_dataset)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: has %llu datasets where there were %llu when the run began",
                         problem_info(finish->problem)->path,
                         (unsigned long long)problem_info(finish->problem)->n_dataset,
                         (unsigned long long)identity->n_dataset);
    for (uint64_t first = 0; !status && first < identity->n_dataset; first += IDS_AT_ONCE) {
        size_t n = identity->n_dataset - first < IDS_AT_ONCE ? (size_t)(identity->n_dataset - first)
                                                             : IDS_AT_ONCE;
        counter_add(finish->heartbeat, 1);
        arena_reset(&arena);
        char **ids = arena_calloc(&arena, n, sizeof *ids);
        if (!ids)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
        else
            status = problem_read_ids(finish->problem, first, n, &arena, ids, error);
        size_t n_own = problem_info(finish->problem)->column.n;
        struct own_value *own = arena_calloc(&arena, n * n_own + 1, sizeof *own);
        if (!status && !own)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", n);
        if (!status)
            status = problem_read_columns(finish->problem, first, n, &arena, own, error);
        for (size_t i = 0; !status && i < n; i++)
            if (selection_has(&finish->plan->selection, first + i)) {
                finish->own = own + i * n_own;
                status = write_row(finish, first + i, ids[i], summary, error);
            }
    }
    arena_fini(&arena);
    return status;
}

/* Adds what is to be said of this retry to what the result said before. */
static enum status add_retry(struct finish *finish, struct provenance *provenance,
                             struct error *error)
{
    const struct result_info *before = result_info(finish->before);
    const struct result_header *now = &finish->plan->header;
    static const char *const what[N_RETRY_FACT] = {"selection", "command_line", "options",
                                                   "started"};
    const char *value[N_RETRY_FACT] = {selection_retry_words(now->identity.selection)};
    size_t n = before->provenance.n;
    finish->added.name = calloc(n + N_RETRY_FACT, sizeof *finish->added.name);
    finish->added.value = calloc(n + N_RETRY_FACT, sizeof *finish->added.value);
    if (!finish->added.name || !finish->added.value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the provenance");
    for (size_t i = 0; i < n; i++) {
        finish->added.name[i] = before->provenance.name[i];
        finish->added.value[i] = before->provenance.value[i];
    }
    for (size_t i = 0; i < N_RETRY_FACT; i++) {
        if (i > 0)
            value[i] = provenance_fact(&now->provenance, what[i]);
        char *name = finish->added.text[i];
        snprintf(name, sizeof finish->added.text[i], "retry_%u_%s", selection_n_retry(before) + 1,
                 what[i]);
        finish->added.name[n + i] = name;
        finish->added.value[n + i] = value[i] ? value[i] : "";
    }
    *provenance = (struct provenance){n + N_RETRY_FACT, finish->added.name, finish->added.value};
    return STATUS_OK;
}

/* The share of the lanes that held an evaluation. */
static enum status add_use(struct finish *finish, const struct board *board,
                           struct provenance *provenance, struct error *error)
{
    size_t n = provenance->n;
    finish->added.name = calloc(n + 1, sizeof *finish->added.name);
    finish->added.value = calloc(n + 1, sizeof *finish->added.value);
    if (!finish->added.name || !finish->added.value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the provenance");
    memcpy(finish->added.name, provenance->name, n * sizeof *finish->added.name);
    memcpy(finish->added.value, provenance->value, n * sizeof *finish->added.value);
    snprintf(finish->added.text[0], sizeof finish->added.text[0], "%.4f",
             (double)board->n_held / (double)board->n_seat);
    finish->added.name[n] = "lanes_in_use";
    finish->added.value[n] = finish->added.text[0];
    *provenance = (struct provenance){n + 1, finish->added.name, finish->added.value};
    return STATUS_OK;
}

/* The plan's, with what only the end shows; for a retry, the earlier header and the retry's
 * attributes. */
static enum status make_header(struct finish *finish, const struct board *board,
                               struct result_header *header, struct error *error)
{
    const struct run_plan *plan = finish->plan;
    *header = plan->header;
    header->n_row = plan->selection.n;
    header->parts = finish_refits_parts(&plan->refits, plan->identity.n_start) |
                    (plan->recipe.fit.evaluates ? FIT_PART_EVALUATION : 0) |
                    (plan->recipe.random ? FIT_PART_RANDOM : 0) |
                    (plan->selection.bit ? FIT_PART_SELECTION : 0);
    header->column = finish->before ? result_info(finish->before)->column
                                    : problem_info(finish->problem)->column;
    if (!finish->before)
        return board->n_seat ? add_use(finish, board, &header->provenance, error) : STATUS_OK;
    const struct result_info *before = result_info(finish->before);
    header->identity = before->identity;
    header->n_row = before->n_fit;
    header->parts &= ~(unsigned)FIT_PART_SELECTION;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        header->parts |= result_has(finish->before, (enum fit_column)i)
                             ? fit_column_part((enum fit_column)i)
                             : 0u;
    return add_retry(finish, &header->provenance, error);
}

static enum status finish_run(struct finish *finish, struct run_plan *plan,
                              const struct board *board, struct run_summary *summary,
                              struct error *error)
{
    const struct run_paths *paths = &plan->paths;
    bool is_joint = recipe_is_joint(&plan->recipe);
    enum status status = (is_joint ? problem_open : problem_open_ids)(&finish->problem,
                                                                      paths->problem, error);
    if (status)
        return status;
    const struct result_header *known = &plan->header;
    finish->n_parameter = known->n_parameter;
    finish->n_start = plan->identity.n_start;
    if (is_joint)
        status = share_read(&finish->share, &plan->recipe, known->parameter_name,
                            known->n_parameter, finish->problem, error);
    if (!status && is_joint)
        status = open_shared(finish, known, error);
    if (!status)
        status = refit_plan_init(&plan->refits, &plan->recipe, known->parameter_name,
                                 finish->share.is_common, known->n_parameter, error);
    if (status)
        return status;
    if (paths->retry_failed && (status = result_open(&finish->before, paths->result, error)))
        return status;
    size_t bytes = (fit_record_array_bytes(known->n_parameter) + 7) / 8 * 8;
    if (!(finish->arrays = calloc(2, bytes)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters",
                         known->n_parameter);
    fit_record_set_arrays(&finish->best, known->n_parameter, finish->arrays);
    fit_record_set_arrays(&finish->other, known->n_parameter, (char *)finish->arrays + bytes);
    struct result_header header;
    if ((status = make_header(finish, board, &header, error)))
        return status;
    status = result_writer_open(&finish->writer, paths->result,
                                paths->in_place ? paths->problem : NULL, &header, error);
    bool has_before[N_KEPT_TABLE];
    for (int i = 0; i < N_KEPT_TABLE; i++)
        has_before[i] = finish->before && result_has_kept(finish->before, (enum kept_table)i);
    const struct finish_source source = {finish->journal, known, &finish->plan->refits, has_before,
                                         finish->share.n ? &finish->share : NULL};
    if (!status)
        status = finish_refits_new(&finish->refits, &source, finish->writer, error);
    if (!status)
        status = finish->before ? write_retried(finish, has_before, summary, error)
                                : write_rows(finish, summary, error);
    if (!status && finish->shared.shared.n > 0)
        status = result_writer_shared(finish->writer, &finish->shared.shared, error);
    if (!status)
        status = finish_population(plan, &finish->share, finish->journal, finish->writer, summary,
                                   error);
    if (!status)
        status = finish_refits_end(finish->refits, error);
    if (!status && !(stamp_holds(&board->problem, paths->problem) &&
                     stamp_holds(&board->result, finish->plan->paths.result))) {
        summary->journal_gone = true;
        status = error_set(error, STATUS_SYSTEM, "%s or %s has been changed meanwhile",
                           paths->problem, paths->result);
    }
    if (!status)
        status = result_writer_finish(finish->writer, error);
    if (!status)
        summary->result_path = strdup(finish->plan->paths.result);
    return status;
}

/* Removes the journal, which is useless once the result is complete and on disk. */
static void drop_journal(const char *journal_path, const struct run_hooks *hooks)
{
    struct error error;
    if (journal_remove(journal_path, &error)) {
        char line[sizeof error.message + 40];
        snprintf(line, sizeof line, "warning: the result is complete, but %s", error.message);
        hooks->say(hooks->context, line);
    }
}

/* Whether another process, or the model's code, has removed the journal, or damaged what it begins
 * with. */
static bool is_removed(const struct journal_reader *journal)
{
    size_t n;
    return journal_is_removed(journal) || !journal_plan(journal, &n);
}

enum status run_finish(const char *journal, struct run_plan *plan, const struct run_hooks *hooks,
                       struct run_summary *summary, struct error *error)
{
    struct board private_board = {0}, *board = board_attach(&private_board);
    if (!board)
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory for the pages shared with the supervising process; every "
                         "fit is in the journal");
    counter_set(&board->phase, BOARD_WRITING);
    /* finishing takes moments; if it takes longer, the supervisor kills this process */
    stop_ignore();
    if (!board_die_with_supervisor(board))
        return error_set(error, STATUS_STOPPED, "stopped: the supervising process has ended");
    struct finish finish = {.heartbeat = &board->heartbeat, .plan = plan};
    enum status status = journal_read(&finish.journal, journal, NULL, error);
    bool has_plan = false;
    if (!status) {
        status = run_plan_read(plan, finish.journal, journal, error);
        has_plan = !status;
    }
    if (board != &private_board)
        plan->shown = board->shown;
    if (!status)
        status = finish_run(&finish, plan, board, summary, error);
    if (status && finish.journal && is_removed(finish.journal))
        summary->journal_gone = true; /* a twin of this run was faster: then the result is there */
    if (status && !summary->journal_gone && has_plan)
        hooks->say(hooks->context, "every fit is in the journal: once this is fixed, the same "
                                   "command writes the result");
    finish_refits_free(finish.refits);
    result_writer_close(finish.writer);
    journal_reader_free(finish.journal);
    if (!status)
        drop_journal(journal, hooks);
    free(finish.shared.index);
    free(finish.shared.numbers);
    free(finish.shared.name);
    share_fini(&finish.share);
    free(finish.added.name);
    free(finish.added.value);
    result_close(finish.before);
    problem_close(finish.problem);
    free(finish.arrays);
    counter_set(&board->phase, BOARD_DONE);
    return status;
}
