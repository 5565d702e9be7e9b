/* A row per start, per point of a profile or per bootstrap replicate that a run kept.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/export.h"

#include "base/json.h"
#include "io/csv.h"
#include "io/result_kept.h"

#include <string.h>

enum { IDS_AT_ONCE = 4096, BYTES = 1 << 20 };

struct rows {
    struct result *result;
    const struct result_info *info;
    struct result_table_shape shape;
    struct result_table_source *source;
    struct csv_writer csv;
    struct json json;
    bool is_json;
};

static void put_head(struct rows *rows)
{
    csv_put_text(&rows->csv, "id");
    for (size_t c = 1; c < rows->shape.n_column; c++) {
        if (!rows->shape.column[c].width)
            csv_put_text(&rows->csv, rows->shape.column[c].name);
        for (size_t j = 0; j < rows->shape.column[c].width; j++)
            csv_put_text(&rows->csv, rows->info->parameter_name[j]);
    }
    csv_end_row(&rows->csv);
}

/* One value of a row: a word, a whole number or a real one. */
struct cell {
    const char *word; /* or NULL */
    bool is_real;
    double real;
    int64_t integer;
};

static struct cell get_cell(const struct rows *rows, size_t c, const void *values, size_t j)
{
    const struct result_table_column *column = &rows->shape.column[c];
    size_t size = fit_kind_size(column->kind);
    const char *(*name)(int number) = fit_kind_names(column->kind);
    const char *at = (const char *)values + j * size;
    struct cell cell = {.is_real = column->kind == FIT_DOUBLE};
    uint32_t narrow = 0;
    uint8_t byte = 0;
    memcpy(cell.is_real ? &cell.real : size == 8 ? (void *)&cell.integer : size == 4 ? (void *)&narrow : &byte, at, size);
    if (size < 8)
        cell.integer = size == 4 ? narrow : byte;
    if (name)
        cell.word = name((int)cell.integer);
    else if (!strcmp(column->name, "parameter")) /* its row of /parameters */
        cell.word = (uint64_t)cell.integer < rows->info->n_parameter ? rows->info->parameter_name[cell.integer] : "";
    return cell;
}

static void put_csv(struct rows *rows, const char *id, const void *const *values)
{
    csv_put_text(&rows->csv, id);
    for (size_t c = 1; c < rows->shape.n_column; c++) {
        size_t width = rows->shape.column[c].width;
        for (size_t j = 0; j < (width ? width : 1); j++) {
            struct cell cell = get_cell(rows, c, values[c], j);
            if (cell.word)
                csv_put_text(&rows->csv, cell.word);
            else if (cell.is_real)
                csv_put_number(&rows->csv, cell.real);
            else
                csv_put_integer(&rows->csv, cell.integer);
        }
    }
    csv_end_row(&rows->csv);
}

static void put_json(struct rows *rows, const char *id, const void *const *values)
{
    json_object_begin(&rows->json);
    json_key(&rows->json, "id");
    json_string(&rows->json, id);
    for (size_t c = 1; c < rows->shape.n_column; c++) {
        size_t width = rows->shape.column[c].width;
        json_key(&rows->json, rows->shape.column[c].name);
        if (width) {
            json_object_begin(&rows->json);
            for (size_t j = 0; j < width; j++) {
                json_key(&rows->json, rows->info->parameter_name[j]);
                json_number(&rows->json, get_cell(rows, c, values[c], j).real);
            }
            json_object_end(&rows->json);
            continue;
        }
        struct cell cell = get_cell(rows, c, values[c], 0);
        if (cell.word)
            json_string(&rows->json, cell.word);
        else if (cell.is_real)
            json_number(&rows->json, cell.real);
        else
            json_integer(&rows->json, cell.integer);
    }
    json_object_end(&rows->json);
}

static enum status put_rows_of(struct rows *rows, const char *id, uint64_t dataset, struct error *error)
{
    const void *values[RESULT_TABLE_MAX_COLUMN];
    enum status status = STATUS_OK;
    for (bool there = true; there && !status;) {
        status = result_table_next(rows->source, dataset, values, &there, error);
        if (!status && there)
            (rows->is_json ? put_json : put_csv)(rows, id, values);
    }
    return status;
}

static enum status put_rows(struct rows *rows, const struct output *output, struct error *error)
{
    struct result_block fits = {0};
    enum status status = STATUS_OK;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        if (i != FIT_COLUMN_DATASET)
            result_ignore(rows->result, (enum fit_column)i);
    for (uint64_t first = 0; first < rows->info->n_fit && !status; first += fits.n) {
        status = result_read(rows->result, &fits, first, IDS_AT_ONCE, error);
        for (size_t i = 0; i < fits.n && !status && !output_failed(output); i++)
            status = put_rows_of(rows, fits.id[i], fits.record[i].dataset, error);
        if (output_failed(output))
            break;
    }
    result_block_fini(&fits);
    return status || output_failed(output) ? status : put_rows_of(rows, "", UINT64_MAX, error);
}

enum status export_kept(const struct export_options *options, struct output *output, struct error *error)
{
    const enum kept_table table = options->what == EXPORT_STARTS    ? KEPT_STARTS
                                  : options->what == EXPORT_PROFILE ? KEPT_PROFILES
                                                                    : KEPT_BOOTSTRAP;
    struct rows rows = {.is_json = options->json};
    enum status status = result_open(&rows.result, options->result, error);
    if (status)
        goto done;
    rows.info = result_info(rows.result);
    rows.shape = kept_shape(table, rows.info->n_parameter);
    status = result_table_source_open(&rows.source, rows.result, &rows.shape, BYTES, error);
    if (!status && !rows.source)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: has no %s: `stiffit run` keeps it with %s", rows.info->path,
                           rows.shape.group, kept_options(table));
    if (!status)
        status = output_open(output, options->output, options->overwrite, error);
    if (status)
        goto done;
    rows.csv.file = output->file;
    if (rows.is_json) {
        json_begin(&rows.json, output->file, true);
        json_array_begin(&rows.json);
    } else {
        put_head(&rows);
    }
    status = put_rows(&rows, output, error);
    if (rows.is_json && !status) {
        json_array_end(&rows.json);
        json_end(&rows.json);
    }
done:
    result_table_source_close(rows.source);
    result_close(rows.result);
    return status;
}
