/* Merges one table after another, keeping the order of rows within each shard.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_tables.h"

#include "run/merge/merge_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static enum status load(void *context, size_t shard, uint64_t first, size_t *n, struct error *error)
{
    struct table *table = context;
    struct result *result = NULL;
    struct result_table_source *source = NULL;
    const void *cells[RESULT_TABLE_MAX_COLUMN];
    *n = 0;
    enum status status = merge_shards_open(table->shards, shard, &result, error);
    if (!status)
        status = result_table_source_open(&source, result, &table->shape, (table->max_row - 1) * table->row_bytes, error);
    if (!status && source)
        status = result_table_block(source, first, n, cells, error);
    *n = *n < table->max_row ? *n : table->max_row;
    for (size_t c = 0; c < table->shape.n_column && !status && *n; c++)
        memcpy(cell_of(table, c, shard, 0), cells[c], *n * table->cell_size[c]);
    result_table_source_close(source);
    result_close(result);
    return status;
}

static uint64_t dataset_of(const void *context, size_t shard, size_t at)
{
    int64_t dataset;
    memcpy(&dataset, cell_of(context, 0, shard, at), sizeof dataset);
    return (uint64_t)dataset;
}

static enum status take(void *context, size_t shard, size_t at, struct error *error)
{
    struct table *table = context;
    const void *cell[RESULT_TABLE_MAX_COLUMN];
    uint64_t dataset = dataset_of(table, shard, at);
    if (dataset < table->last)
        return error_set(error, STATUS_BAD_PROBLEM, "'%s': %s has rows of dataset %" PRIu64 ", which is another shard's",
                         table->shards->shard[shard].path, table->shape.group, dataset);
    table->last = dataset;
    for (size_t c = 0; c < table->shape.n_column; c++)
        cell[c] = cell_of(table, c, shard, at);
    return result_table_add(table->to, cell, error);
}

static enum status merge_table(const struct merge_shards *shards, enum kept_table which, struct result_writer *writer,
                               struct error *error)
{
    struct table table = {.shards = shards, .shape = kept_shape(which, shards->info->n_parameter)};
    char name[80];
    snprintf(name, sizeof name, "%s/dataset", table.shape.group);
    const struct merge_kind kind = {name, load, dataset_of, take};
    enum status status = STATUS_OK;
    for (size_t c = 0; c < table.shape.n_column; c++) {
        const struct result_table_column *column = &table.shape.column[c];
        table.cell_size[c] = (column->width ? column->width : 1) * fit_kind_size(column->kind);
        table.row_bytes += table.cell_size[c];
    }
    table.max_row = merge_rows_at_once(shards, table.row_bytes);
    for (size_t c = 0; c < table.shape.n_column; c++)
        if (!(table.cells[c] = malloc(shards->n * table.max_row * table.cell_size[c])))
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s", table.shape.group);
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

enum status merge_tables(const struct merge_shards *shards, struct result_writer *writer, struct error *error)
{
    enum status status = STATUS_OK;
    for (int which = 0; which < N_KEPT_TABLE && !status; which++)
        if (shards->has_table[which])
            status = merge_table(shards, (enum kept_table)which, writer, error);
    return status;
}
