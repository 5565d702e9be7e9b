/* The result of a merge: its header, the rows of all shards in the problem's order, and the
 * other tables, whose order within each shard is kept.
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

struct fits {
    const struct merge_shards *shards;
    struct result_writer *writer;
    struct run_summary *summary;
    struct result_block *block; /* of each shard */
    size_t n_at_once;
    bool partial;
    uint64_t expected;          /* the next row is of this dataset or a later one */
};

static enum status load_fits(void *context, size_t shard, uint64_t first, size_t *n,
                             struct error *error)
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

static uint64_t dataset_of_fit(const void *context, size_t shard, size_t at)
{
    return ((const struct fits *)context)->block[shard].record[at].dataset;
}

static enum status take_fit(void *context, size_t shard, size_t at, struct error *error)
{
    struct fits *fits = context;
    struct fit_record *record = &fits->block[shard].record[at];
    const char *id = fits->block[shard].id[at];
    if (record->dataset < fits->expected)
        return error_set(error, STATUS_SYSTEM,
                         "%s: dataset %" PRIu64 " appears twice, or in another shard, too",
                         fits->shards->shard[shard].path, record->dataset);
    if (record->dataset > fits->expected && !fits->partial)
        return error_set(error, STATUS_SYSTEM, "dataset %" PRIu64 " is in none of the shards",
                         fits->expected);
    fits->expected = record->dataset + 1;
    summary_add(fits->summary, id, record, fits->shards->info->n_parameter);
    summary_add_refits(fits->summary, record, fits->shards->info->n_parameter,
                       record->n_bootstrap > 0 ? (uint64_t)record->n_bootstrap : 0);
    return result_writer_add(fits->writer, id, record, error);
}

static enum status merge_fits(const struct merge_shards *shards, struct result_writer *writer,
                              struct run_summary *summary, struct error *error)
{
    static const struct merge_kind kind = {"/fits/dataset", load_fits, dataset_of_fit, take_fit};
    struct fits fits = {.shards = shards,
                        .writer = writer, .summary = summary, .partial = shards->missing[0]};
    fits.n_at_once =
        merge_rows_at_once(shards, sizeof(struct fit_record) +
                                       fit_record_array_bytes(shards->info->n_parameter));
    fits.block = calloc(shards->n, sizeof *fits.block);
    if (!fits.block)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %zu shards",
                         shards->n);
    enum status status = merge_rows(shards, &kind, &fits, error);
    if (!status && !fits.partial && fits.expected != shards->info->identity.n_dataset)
        status = error_set(error, STATUS_SYSTEM, "dataset %" PRIu64 " is in none of the shards",
                           fits.expected);
    for (size_t i = 0; i < shards->n; i++)
        result_block_fini(&fits.block[i]);
    free(fits.block);
    return status;
}

struct table {
    const struct merge_shards *shards;
    struct result_table_shape shape;
    struct result_table *to;
    size_t max_row, row_bytes;
    size_t cell_size[RESULT_TABLE_MAX_COLUMN];
    char *cells[RESULT_TABLE_MAX_COLUMN]; /* shards x max_row */
    uint64_t last;                        /* dataset of the last row taken */
};

static char *cell_of(const struct table *table, size_t column, size_t shard, size_t at)
{
    return table->cells[column] + (shard * table->max_row + at) * table->cell_size[column];
}

static enum status load_cells(void *context, size_t shard, uint64_t first, size_t *n,
                              struct error *error)
{
    struct table *table = context;
    struct result *result = NULL;
    struct result_table_source *source = NULL;
    const void *cells[RESULT_TABLE_MAX_COLUMN];
    *n = 0;
    enum status status = merge_shards_open(table->shards, shard, &result, error);
    if (!status)
        status = result_table_source_open(&source, result, &table->shape,
                                          (table->max_row - 1) * table->row_bytes, error);
    if (!status && source)
        status = result_table_block(source, first, n, cells, error);
    *n = *n < table->max_row ? *n : table->max_row;
    for (size_t c = 0; c < table->shape.n_column && !status && *n; c++)
        memcpy(cell_of(table, c, shard, 0), cells[c], *n * table->cell_size[c]);
    result_table_source_close(source);
    result_close(result);
    return status;
}

static uint64_t dataset_of_cells(const void *context, size_t shard, size_t at)
{
    int64_t dataset;
    memcpy(&dataset, cell_of(context, 0, shard, at), sizeof dataset);
    return (uint64_t)dataset;
}

static enum status take_cells(void *context, size_t shard, size_t at, struct error *error)
{
    struct table *table = context;
    const void *cell[RESULT_TABLE_MAX_COLUMN];
    uint64_t dataset = dataset_of_cells(table, shard, at);
    if (dataset < table->last)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "'%s': %s has rows of dataset %" PRIu64 ", which is another shard's",
                         table->shards->shard[shard].path, table->shape.group, dataset);
    table->last = dataset;
    for (size_t c = 0; c < table->shape.n_column; c++)
        cell[c] = cell_of(table, c, shard, at);
    return result_table_add(table->to, cell, error);
}

static enum status merge_table(const struct merge_shards *shards, enum kept_table which,
                               struct result_writer *writer, struct error *error)
{
    struct table table = {.shards = shards, .shape = kept_shape(which, shards->info->n_parameter)};
    char name[80];
    snprintf(name, sizeof name, "%s/dataset", table.shape.group);
    const struct merge_kind kind = {name, load_cells, dataset_of_cells, take_cells};
    enum status status = STATUS_OK;
    for (size_t c = 0; c < table.shape.n_column; c++) {
        const struct result_table_column *column = &table.shape.column[c];
        table.cell_size[c] = (column->width ? column->width : 1) * fit_kind_size(column->kind);
        table.row_bytes += table.cell_size[c];
    }
    table.max_row = merge_rows_at_once(shards, table.row_bytes);
    for (size_t c = 0; c < table.shape.n_column; c++)
        if (!(table.cells[c] = malloc(shards->n * table.max_row * table.cell_size[c])))
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s",
                               table.shape.group);
    if (!status)
        status = result_table_open(&table.to, writer, &table.shape, error);
    if (!status)
        status = merge_rows(shards, &kind, &table, error);
    if (!status)
        status = result_table_finish(table.to, error);
    result_table_close(table.to);
    for (size_t c = 0; c < table.shape.n_column; c++)
        free(table.cells[c]);
    return status;
}

/* The tables that any shard has. */
static enum status merge_tables(const struct merge_shards *shards, struct result_writer *writer,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int which = 0; which < N_KEPT_TABLE && !status; which++)
        if (shards->has_table[which])
            status = merge_table(shards, (enum kept_table)which, writer, error);
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
