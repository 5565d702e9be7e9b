/* The result of a merge: its header, the rows of all shards in the problem's order, and the tables beside them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge.h"

#include "base/output.h"
#include "run/merge/merge_rows.h"
#include "run/merge/merge_shards.h"
#include "run/merge/merge_tables.h"
#include "run/finish/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts that should be equal for all shards; otherwise bits may differ (the same bits are promised for one kind of CPU and
 * one set of libraries). */
static const char *const same_facts[] = {"version", "cpu", "integrator", "model_sha256"};

static void say_what_differs(const struct merge_shards *shards, const struct run_hooks *hooks)
{
    char line[600];
    for (size_t i = 0; i < sizeof same_facts / sizeof *same_facts; i++) {
        const char *values = merge_facts_difference(&shards->facts, same_facts[i]);
        if (!values)
            continue;
        snprintf(line, sizeof line, "note: shards differ in %s (%.300s): one machine might have found other last digits",
                 same_facts[i], values);
        hooks->say(hooks->context, line);
    }
}

struct fits {
    const struct merge_shards *shards;
    struct result_writer *writer;
    struct run_summary *summary;
    struct result_block *block; /* of each shard */
    size_t n_at_once;
    bool partial;
    uint64_t expected;          /* the next row is of this dataset or a later one */
};

static enum status load(void *context, size_t shard, uint64_t first, size_t *n, struct error *error)
{
    struct fits *fits = context;
    struct result_block *block = &fits->block[shard];
    struct result *result = NULL;
    enum status status = merge_shards_open(fits->shards, shard, &result, error);
    if (!status)
        status = result_read(result, block, first, fits->n_at_once, error);
    result_close(result);
    *n = status ? 0 : block->n;
    return status;
}

static uint64_t dataset_of(const void *context, size_t shard, size_t at)
{
    return ((const struct fits *)context)->block[shard].record[at].dataset;
}

static enum status take(void *context, size_t shard, size_t at, struct error *error)
{
    struct fits *fits = context;
    struct fit_record *record = &fits->block[shard].record[at];
    const char *id = fits->block[shard].id[at];
    if (record->dataset < fits->expected)
        return error_set(error, STATUS_SYSTEM, "%s: dataset %" PRIu64 " is there twice, or in another shard, too",
                         fits->shards->shard[shard].path, record->dataset);
    if (record->dataset > fits->expected && !fits->partial)
        return error_set(error, STATUS_SYSTEM, "dataset %" PRIu64 " is in none of the shards", fits->expected);
    fits->expected = record->dataset + 1;
    summary_add(fits->summary, id, record);
    summary_add_refits(fits->summary, record, fits->shards->info->n_parameter,
                       record->n_bootstrap > 0 ? (uint64_t)record->n_bootstrap : 0);
    return result_writer_add(fits->writer, id, record, error);
}

static enum status merge_fits(const struct merge_shards *shards, struct result_writer *writer, struct run_summary *summary,
                              struct error *error)
{
    static const struct merge_kind kind = {"/fits/dataset", load, dataset_of, take};
    struct fits fits = {.shards = shards, .writer = writer, .summary = summary, .partial = shards->missing[0]};
    fits.n_at_once = merge_rows_at_once(shards, sizeof(struct fit_record) + fit_record_array_bytes(shards->info->n_parameter));
    fits.block = calloc(shards->n, sizeof *fits.block);
    if (!fits.block)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %zu shards", shards->n);
    enum status status = merge_rows(shards, &kind, &fits, error);
    if (!status && !fits.partial && fits.expected != shards->info->identity.n_dataset)
        status = error_set(error, STATUS_SYSTEM, "dataset %" PRIu64 " is in none of the shards", fits.expected);
    for (size_t i = 0; i < shards->n; i++)
        result_block_fini(&fits.block[i]);
    free(fits.block);
    return status;
}

/* Adds the facts of this merge to those of the shards. */
static enum status add_facts(struct merge_shards *shards, const struct merge_request *request, struct error *error)
{
    char text[500];
    snprintf(text, sizeof text, "%zu of %u shards%s%s", shards->n, shards->n_shard, shards->missing[0] ? "; missing: " : "",
             shards->missing);
    enum status status = merge_facts_set(&shards->facts, "merged", text, error);
    return status ? status : merge_facts_set(&shards->facts, "command_line", request->command_line, error);
}

static enum status check_output(const struct merge_request *request, struct error *error)
{
    for (size_t i = 0; i < request->n; i++)
        if (spare_file(request->output, request->path[i], error))
            return error_set(error, STATUS_USAGE, "%s: is one of the shards: choose another output with -o", request->output);
    return STATUS_OK;
}

static struct result_header header_of(const struct merge_shards *shards)
{
    const struct result_info *info = shards->info;
    bool partial = shards->missing[0];
    struct result_header header = {
        .n_parameter = info->n_parameter, .parameter_name = info->parameter_name, .parameter_scale = info->parameter_scale,
        .parameter_unit = info->parameter_unit, .objective_kind = info->objective_kind, .identity = info->identity,
        .n_row = shards->n_row, .parts = shards->parts | (partial ? FIT_PART_SELECTION : 0),
        .provenance = merge_facts_provenance(&shards->facts)};
    header.identity.selection[0] = '\0';
    if (partial)
        snprintf(header.identity.selection, sizeof header.identity.selection, "merged=%zu/%u without %.60s", shards->n,
                 shards->n_shard, shards->missing);
    return header;
}

static enum status write_result(const struct merge_shards *shards, const struct merge_request *request,
                                const struct result_header *header, struct run_summary *summary, struct error *error)
{
    struct result_writer *writer = NULL;
    enum status status = result_writer_open(&writer, request->output, NULL, header, error);
    if (!status)
        status = merge_fits(shards, writer, summary, error);
    if (!status)
        status = merge_tables(shards, writer, error);
    if (!status)
        status = result_writer_finish(writer, error);
    result_writer_close(writer);
    if (!status)
        summary->result_path = strdup(request->output);
    return status;
}

enum status run_merge(const struct merge_request *request, struct run_summary *summary, struct error *error)
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
    const struct place place = {.problem = "", .result = (char *)(uintptr_t)request->output, .overwrite = request->overwrite};
    status = summary_look(&place, &header.identity, summary, error);
    if (status || summary->already_complete)
        goto done;
    say_what_differs(&shards, request->hooks);
    if (shards.missing[0]) {
        snprintf(line, sizeof line, "note: missing of %u shards: %s", shards.n_shard, shards.missing);
        request->hooks->say(request->hooks->context, line);
    }
    status = write_result(&shards, request, &header, summary, error);
done:
    merge_shards_fini(&shards);
    return status;
}
