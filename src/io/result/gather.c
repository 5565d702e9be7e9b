/* Strands: the sorted rows of one table of one file, of which a block is in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of rows in memory at once, over all files; and the fewest rows of each file. */
enum { GATHER_BYTES = 64 << 20, MIN_ROWS = 4 };
enum { FITS = N_KEPT_TABLE, N_STRAND };

struct strand {
    uint64_t first;   /* the file's row that is the first in memory */
    size_t n, at;     /* rows in memory, and which of them is next */
    bool is_known;    /* the next row's */
    uint64_t dataset; /* UINT64_MAX: there are no more */
};

/* One of the tables beside /fits, in all files. */
struct cells {
    struct result_table_shape shape;
    size_t size[RESULT_TABLE_MAX_COLUMN];
    char *of[RESULT_TABLE_MAX_COLUMN]; /* n files x n_at_once */
    size_t row_bytes, n_at_once;
};

struct gather {
    struct gather_request request;
    struct strand (*strand)[N_STRAND]; /* of each file */
    struct result_block *block;        /* of each file: its rows of /fits */
    size_t n_at_once;                  /* of these */
    struct cells cells[N_KEPT_TABLE];
    size_t now;                        /* the file of the row that was given last */
    bool is_given;
    uint64_t soonest;                  /* no row left is of an earlier dataset */
};

static size_t rows_at_once(const struct gather_request *request, size_t row_bytes)
{
    size_t n_strand = request->n, n;
    for (int table = 0; table < N_KEPT_TABLE; table++)
        n_strand += request->table[table] ? request->n : 0;
    n = (request->bytes ? request->bytes : GATHER_BYTES) / n_strand / row_bytes;
    return n > MIN_ROWS ? n : MIN_ROWS;
}

static enum status make_cells(struct gather *gather, enum kept_table table, struct error *error)
{
    const struct gather_request *request = &gather->request;
    struct cells *cells = &gather->cells[table];
    cells->row_bytes = 1;
    cells->shape = kept_shape(table, request->n_parameter);
    for (size_t c = 0; c < cells->shape.n_column; c++) {
        const struct result_table_column *column = &cells->shape.column[c];
        cells->size[c] = (column->width ? column->width : 1) * fit_kind_size(column->kind);
        cells->row_bytes += cells->size[c];
    }
    cells->n_at_once = rows_at_once(request, cells->row_bytes);
    for (size_t c = 0; c < cells->shape.n_column; c++)
        if (!(cells->of[c] = malloc(request->n * cells->n_at_once * cells->size[c] + 1)))
            return error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s",
                             cells->shape.group);
    return STATUS_OK;
}

enum status gather_new(struct gather **gather, const struct gather_request *request,
                       struct error *error)
{
    struct gather *made = calloc(1, sizeof *made);
    enum status status = STATUS_OK;
    *gather = made;
    if (made) {
        made->request = *request;
        made->strand = calloc(request->n + 1, sizeof *made->strand);
        made->block = calloc(request->n + 1, sizeof *made->block);
    }
    if (!made || !made->strand || !made->block)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the rows of %zu results",
                         request->n);
    made->n_at_once = rows_at_once(request, sizeof(struct fit_record) +
                                                fit_record_array_bytes(request->n_parameter));
    for (int table = 0; table < N_KEPT_TABLE && !status; table++)
        if (request->table[table])
            status = make_cells(made, (enum kept_table)table, error);
    return status;
}

void gather_free(struct gather *gather)
{
    if (!gather)
        return;
    for (size_t i = 0; gather->block && i < gather->request.n; i++)
        result_block_fini(&gather->block[i]);
    for (int table = 0; table < N_KEPT_TABLE; table++)
        for (size_t c = 0; c < gather->cells[table].shape.n_column; c++)
            free(gather->cells[table].of[c]);
    free(gather->strand);
    free(gather->block);
    free(gather);
}

static char *cell_of(const struct cells *cells, size_t column, size_t file, size_t at)
{
    return cells->of[column] + (file * cells->n_at_once + at) * cells->size[column];
}

static enum status load_cells(struct cells *cells, size_t i, struct result *result, uint64_t first,
                              size_t *n, struct error *error)
{
    struct result_table_source *source = NULL;
    const void *found[RESULT_TABLE_MAX_COLUMN];
    enum status status =
        result_table_source_open(&source, result, &cells->shape,
                                 (cells->n_at_once - 1) * cells->row_bytes, error);
    *n = 0;
    if (!status && source)
        status = result_table_block(source, first, n, found, error);
    for (size_t c = 0; c < cells->shape.n_column && !status && *n; c++)
        memcpy(cell_of(cells, c, i, 0), found[c], *n * cells->size[c]);
    result_table_source_close(source);
    return status;
}

/* Reads the block of file i that begins at strand->first. */
static enum status load(struct gather *gather, size_t i, int table, struct error *error)
{
    const struct gather_file *file = &gather->request.file[i];
    struct strand *strand = &gather->strand[i][table];
    struct result_block *block = &gather->block[i];
    struct result *result = NULL;
    enum status status = result_open(&result, file->path, error);
    if (!status && !stamp_holds(&file->stamp, file->path))
        status = error_set(error, STATUS_SYSTEM, "%s: has been changed meanwhile", file->path);
    if (!status && table != FITS) {
        status = load_cells(&gather->cells[table], i, result, strand->first, &strand->n, error);
    } else if (!status) {
        if (gather->request.only)
            result_read_only(result, gather->request.only[0], gather->request.only[1]);
        status = result_read(result, block, strand->first, gather->n_at_once, error);
        strand->n = status ? 0 : block->n;
    }
    result_close(result);
    return status;
}

static uint64_t dataset_at(const struct gather *gather, size_t i, int table)
{
    const struct strand *strand = &gather->strand[i][table];
    int64_t dataset;
    if (table == FITS)
        return gather->block[i].record[strand->at].dataset;
    memcpy(&dataset, cell_of(&gather->cells[table], 0, i, strand->at), sizeof dataset);
    return (uint64_t)dataset;
}

/* Finds the dataset of a strand's next row. */
static enum status look(struct gather *gather, size_t i, int table, struct error *error)
{
    struct strand *strand = &gather->strand[i][table];
    const char *path = gather->request.file[i].path,
               *group = table == FITS ? "/fits" : gather->cells[table].shape.group;
    uint64_t before = strand->dataset, row;
    if (strand->is_known)
        return STATUS_OK;
    if (strand->at == strand->n) {
        strand->first += strand->n;
        strand->at = 0;
        if (load(gather, i, table, error))
            return error->status;
    }
    strand->is_known = true;
    strand->dataset = strand->n ? dataset_at(gather, i, table) : UINT64_MAX;
    row = strand->first + strand->at;
    if (!strand->n)
        return STATUS_OK;
    if (row > 0 && (strand->dataset < before || (strand->dataset == before && table == FITS)))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s/dataset does not increase at row %" PRIu64, path, group, row);
    if (strand->dataset >= gather->request.n_dataset)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s/dataset is %" PRIu64 " at row %" PRIu64 "; there are %" PRIu64
                         " datasets", path, group, strand->dataset, row,
                         gather->request.n_dataset);
    return STATUS_OK;
}

static void pass(struct strand *strand)
{
    strand->at++;
    strand->is_known = false;
}

static enum status stray(const struct gather *gather, size_t i, int table, struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s: %s/dataset has %" PRIu64 ", which has no row in /fits",
                     gather->request.file[i].path, gather->cells[table].shape.group,
                     gather->strand[i][table].dataset);
}

/* No rows of tables are left. */
static enum status check_end(struct gather *gather, struct error *error)
{
    enum status status = STATUS_OK;
    for (int table = 0; table < N_KEPT_TABLE; table++)
        for (size_t i = 0; i < gather->request.n && gather->request.table[table] && !status; i++) {
            status = look(gather, i, table, error);
            if (!status && gather->strand[i][table].dataset != UINT64_MAX)
                status = stray(gather, i, table, error);
        }
    return status;
}

/* The file with the lowest next dataset. If shards are dealt in turn, it is the one after the
 * last. */
static size_t first_of(const struct gather *gather)
{
    size_t n = gather->request.n, least = gather->now;
    for (size_t step = 0; step < n; step++) {
        size_t i = (gather->now + step) % n;
        uint64_t dataset = gather->strand[i][FITS].dataset;
        if (dataset <= gather->soonest)
            return i;
        if (dataset < gather->strand[least][FITS].dataset)
            least = i;
    }
    return least;
}

/* Passes over the row that was given last, or looks at all files first. */
static enum status go_on(struct gather *gather, struct error *error)
{
    enum status status = STATUS_OK;
    if (gather->is_given) {
        struct strand *strand = &gather->strand[gather->now][FITS];
        gather->soonest = strand->dataset + 1;
        pass(strand);
        return look(gather, gather->now, FITS, error);
    }
    for (size_t i = 0; i < gather->request.n && !status; i++)
        status = look(gather, i, FITS, error);
    return status;
}

bool gather_next(struct gather *gather, struct gathered *row, enum status *status,
                 struct error *error)
{
    if (*status || (*status = go_on(gather, error)))
        return false;
    gather->now = first_of(gather);
    const struct strand *strand = &gather->strand[gather->now][FITS];
    const struct result_block *block = &gather->block[gather->now];
    const char *path = gather->request.file[gather->now].path;
    if (strand->dataset == UINT64_MAX) {
        *status = check_end(gather, error);
        return false;
    }
    if (strand->dataset < gather->soonest)
        *status = error_set(error, STATUS_SYSTEM, "%s: dataset %" PRIu64 " is in another file, too",
                            path, strand->dataset);
    gather->is_given = true;
    *row = (struct gathered){path, strand->first + strand->at, block->id[strand->at],
                             &block->record[strand->at]};
    return !*status;
}

enum status gather_tables(struct gather *gather, struct kept_writers *to, struct error *error)
{
    size_t i = gather->now;
    uint64_t dataset = gather->strand[i][FITS].dataset;
    enum status status = STATUS_OK;
    for (int table = 0; table < N_KEPT_TABLE; table++) {
        struct strand *strand = &gather->strand[i][table];
        const struct cells *cells = &gather->cells[table];
        const void *cell[RESULT_TABLE_MAX_COLUMN];
        while (gather->request.table[table] && !status &&
               !(status = look(gather, i, table, error)) && strand->dataset <= dataset) {
            if (strand->dataset < dataset)
                return stray(gather, i, table, error);
            for (size_t c = 0; c < cells->shape.n_column; c++)
                cell[c] = cell_of(cells, c, i, strand->at);
            if (to && to->of[table])
                status = result_table_add(to->of[table], cell, error);
            pass(strand);
        }
    }
    return status;
}
