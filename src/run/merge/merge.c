/* The result of a merge: its header, and the rows of all shards in the problem's order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge.h"

#include "base/output.h"
#include "run/finish/summary.h"
#include "run/merge/merge_shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts that should be equal for all shards; otherwise bits may differ (the same bits are
 * promised for one kind of CPU and one set of libraries). */
static const char *const same_facts[] = {"version", "cpu", "integrator", "model_sha256"};

static void say_what_differs(const struct merge_shards *shards, const struct run_hooks *hooks)
{
    char line[600];
    for (size_t i = 0; i < sizeof same_facts / sizeof *same_facts; i++) {
        const char *values = merge_facts_difference(&shards->facts, same_facts[i]);
        if (!values)
            continue;
        snprintf(line, sizeof line,
                 "note: shards differ in %s (%.300s): last digits may differ from those of a run "
                 "on one machine",
                 same_facts[i], values);
        hooks->say(hooks->context, line);
    }
}

/* The rows of all shards, each with those of its tables. */
static enum status write_rows(const struct merge_shards *shards, struct gather *gather,
                              struct result_writer *writer, struct kept_writers *kept,
                              struct run_summary *summary, struct error *error)
{
    size_t n_parameter = shards->info->n_parameter;
    uint64_t expected = 0; /* the next row is of this dataset or, if some are missing, of a later */
    enum status status = STATUS_OK;
    for (struct gathered row; gather_next(gather, &row, &status, error);) {
        const struct fit_record *record = row.record;
        if (record->dataset > expected && !shards->missing[0])
            break;
        expected = record->dataset + 1;
        summary_add(summary, row.id, record, n_parameter);
        summary_add_refits(summary, record, n_parameter,
                           record->n_bootstrap > 0 ? (uint64_t)record->n_bootstrap : 0);
        status = gather_tables(gather, kept, error);
        if (!status)
            status = result_writer_add(writer, row.id, record, error);
    }
    if (!status && !shards->missing[0] && expected != shards->info->identity.n_dataset)
        status = error_set(error, STATUS_SYSTEM, "dataset %" PRIu64 " is in none of the shards",
                           expected);
    return status;
}

static enum status merge_rows(const struct merge_shards *shards, struct result_writer *writer,
                              struct run_summary *summary, struct error *error)
{
    const struct result_info *info = shards->info;
    struct gather_request request = {.n = shards->n, .n_parameter = info->n_parameter,
                                     .n_dataset = info->identity.n_dataset};
    struct gather_file *file = calloc(shards->n + 1, sizeof *file);
    struct kept_writers kept = {{NULL}};
    struct gather *gather = NULL;
    if (!file)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu shards", shards->n);
    for (size_t i = 0; i < shards->n; i++)
        file[i] = shards->shard[i].file;
    request.file = file;
    memcpy(request.table, shards->has_table, sizeof request.table);
    enum status status = gather_new(&gather, &request, error);
    for (int table = 0; table < N_KEPT_TABLE && !status; table++)
        if (shards->has_table[table])
            status = kept_writers_add(&kept, (enum kept_table)table, writer, info->n_parameter,
                                      error);
    if (!status)
        status = write_rows(shards, gather, writer, &kept, summary, error);
    if (!status)
        status = kept_writers_finish(&kept, error);
    kept_writers_close(&kept);
    gather_free(gather);
    free(file);
    return status;
}

/* Adds the facts of this merge to those of the shards. */
static enum status add_facts(struct merge_shards *shards, const struct merge_request *request,
                             struct error *error)
{
    char text[500];
    snprintf(text, sizeof text, "%zu of %u shards%s%s", shards->n, shards->n_shard,
             shards->missing[0] ? "; missing: " : "", shards->missing);
    enum status status = merge_facts_set(&shards->facts, "merged", text, error);
    return status ? status
                  : merge_facts_set(&shards->facts, "command_line", request->command_line, error);
}

static enum status check_output(const struct merge_request *request, struct error *error)
{
    for (size_t i = 0; i < request->n; i++)
        if (spare_file(request->output, request->path[i], error))
            return error_set(error, STATUS_USAGE,
                             "%s: is one of the shards: choose another output with -o",
                             request->output);
    return STATUS_OK;
}

static struct result_header header_of(const struct merge_shards *shards)
{
    const struct result_info *info = shards->info;
    bool partial = shards->missing[0];
    struct result_header header = {.n_parameter = info->n_parameter,
                                   .parameter_name = info->parameter_name,
                                   .parameter_scale = info->parameter_scale,
                                   .parameter_unit = info->parameter_unit,
                                   .objective_kind = info->objective_kind,
                                   .column = info->column,
                                   .identity = info->identity, .n_row = shards->n_row,
                                   .parts = shards->parts | (partial ? FIT_PART_SELECTION : 0),
                                   .provenance = merge_facts_provenance(&shards->facts)};
    header.identity.selection[0] = '\0';
    if (partial)
        snprintf(header.identity.selection, sizeof header.identity.selection,
                 "merged=%zu/%u without %.60s", shards->n, shards->n_shard, shards->missing);
    return header;
}

static enum status write_result(const struct merge_shards *shards,
                                const struct merge_request *request,
                                const struct result_header *header, struct run_summary *summary,
                                struct error *error)
{
    struct result_writer *writer = NULL;
    enum status status = result_writer_open(&writer, request->output, NULL, header, error);
    if (!status)
        status = merge_rows(shards, writer, summary, error);
    if (!status)
        status = result_writer_finish(writer, error);
    result_writer_close(writer);
    if (!status)
        summary->result_path = strdup(request->output);
    return status;
}

enum status run_merge(const struct merge_request *request, struct run_summary *summary,
                      struct error *error)
{
    struct merge_shards shards = {.shard = NULL};
    char line[520];
    enum status status = check_output(request, error);
    if (!status)
        status = merge_shards_check(&shards, request, error);
    if (!status)
        status = add_facts(&shards, request, error);
    if (status)
        goto done;
    const struct result_header header = header_of(&shards);
    const struct run_paths paths = {.problem = "", .result = (char *)(uintptr_t)request->output,
                                    .overwrite = request->overwrite};
    status = summary_look(&paths, &header.identity, summary, error);
    if (!status && summary->already_complete)
        summary_touch(&paths);
    if (status || summary->already_complete)
        goto done;
    say_what_differs(&shards, request->hooks);
    if (shards.missing[0]) {
        snprintf(line, sizeof line, "note: missing of %u shards: %s", shards.n_shard,
                 shards.missing);
        request->hooks->say(request->hooks->context, line);
    }
    status = write_result(&shards, request, &header, summary, error);
done:
    merge_shards_fini(&shards);
    return status;
}
