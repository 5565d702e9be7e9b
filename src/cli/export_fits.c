/* A row per fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/export.h"

#include "base/json.h"
#include "io/csv.h"
#include "io/result.h"

#include <string.h>

enum { ROWS_AT_ONCE = 4096 };

static void put_head(struct csv_writer *writer, const struct result_info *info)
{
    static const char *const before[] = {"id", "status", "objective"};
    static const char *const after[] = {"at_bound", "gradient_norm", "iterations", "evaluations", "steps", "seconds", "start",
                                        "notes", "message"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        csv_put_text(writer, before[i]);
    for (size_t j = 0; j < info->n_parameter; j++)
        csv_put_text(writer, info->parameter_name[j]);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        csv_put_text(writer, after[i]);
    csv_end_row(writer);
}

/* "k1:lower k3:upper"; cut where it gets too long. */
static void bounds_text(const struct result_info *info, const struct fit_record *record, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t j = 0; j < info->n_parameter && used < size; j++)
        if (record->at_bound[j])
            used += (size_t)snprintf(text + used, size - used, "%s%s:%s", used ? " " : "", info->parameter_name[j],
                                     record->at_bound[j] < 0 ? "lower" : "upper");
}

static void notes_text(uint32_t notes, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int bit = 0; bit < 32 && used < size; bit++)
        if (notes >> bit & 1 && note_name(bit))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", note_name(bit));
}

static void put_row(struct csv_writer *writer, const struct result_info *info, const char *id, const char *reason,
                    const struct fit_record *record)
{
    char bounds[4000], notes[600];
    bounds_text(info, record, bounds, sizeof bounds);
    notes_text(record->notes, notes, sizeof notes);
    csv_put_text(writer, id);
    csv_put_text(writer, outcome_name((enum outcome)record->outcome));
    csv_put_number(writer, record->objective);
    for (size_t j = 0; j < info->n_parameter; j++)
        csv_put_number(writer, record->parameter[j]);
    csv_put_text(writer, bounds);
    csv_put_number(writer, record->gradient_norm);
    csv_put_integer(writer, record->n_iteration);
    csv_put_integer(writer, record->n_evaluation);
    csv_put_integer(writer, record->n_step);
    csv_put_number(writer, record->seconds);
    csv_put_integer(writer, record->start);
    csv_put_text(writer, notes);
    csv_put_text(writer, reason);
    csv_end_row(writer);
}

static void put_key(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_notes(struct json *json, uint32_t notes)
{
    json_key(json, "notes");
    json_array_begin(json);
    for (int bit = 0; bit < 32; bit++)
        if (notes >> bit & 1 && note_name(bit))
            json_string(json, note_name(bit));
    json_array_end(json);
}

static void put_object(struct json *json, const struct result_info *info, const char *id, const char *reason,
                       const struct fit_record *record)
{
    const struct { const char *key; int64_t value; } counts[] = {
        {"iterations", record->n_iteration}, {"evaluations", record->n_evaluation}, {"steps", record->n_step},
        {"start", record->start}};
    const struct { const char *key; double value; } numbers[] = {
        {"objective", record->objective}, {"gradient_norm", record->gradient_norm}, {"seconds", record->seconds}};
    json_object_begin(json);
    put_key(json, "id", id);
    put_key(json, "status", outcome_name((enum outcome)record->outcome));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        json_key(json, numbers[i].key);
        json_number(json, numbers[i].value);
    }
    json_key(json, "parameters");
    json_object_begin(json);
    for (size_t j = 0; j < info->n_parameter; j++) {
        json_key(json, info->parameter_name[j]);
        json_number(json, record->parameter[j]);
    }
    json_object_end(json);
    json_key(json, "at_bound");
    json_object_begin(json);
    for (size_t j = 0; j < info->n_parameter; j++)
        if (record->at_bound[j])
            put_key(json, info->parameter_name[j], record->at_bound[j] < 0 ? "lower" : "upper");
    json_object_end(json);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_key(json, counts[i].key);
        json_integer(json, counts[i].value);
    }
    put_notes(json, record->notes);
    put_key(json, "message", reason);
    json_object_end(json);
}

enum status export_fits(const struct export_options *options, struct output *output, struct error *error)
{
    struct result *result = NULL;
    struct result_block block = {0};
    struct json json;
    enum status status = result_open(&result, options->result, error);
    if (!status)
        status = output_open(output, options->output, options->overwrite, error);
    if (status)
        goto done;
    const struct result_info *info = result_info(result);
    struct csv_writer writer = {.file = output->file};
    if (options->json) {
        json_begin(&json, output->file, true);
        json_array_begin(&json);
    } else {
        put_head(&writer, info);
    }
    for (uint64_t first = 0; first < info->n_fit && !output_failed(output); first += block.n) {
        if ((status = result_read(result, &block, first, ROWS_AT_ONCE, error)) || block.n == 0)
            break;
        for (size_t i = 0; i < block.n; i++)
            if (options->json)
                put_object(&json, info, block.id[i], block.reason[i], &block.record[i]);
            else
                put_row(&writer, info, block.id[i], block.reason[i], &block.record[i]);
    }
    if (options->json && !status) {
        json_array_end(&json);
        json_end(&json);
    }
done:
    result_block_fini(&block);
    result_close(result);
    return status;
}
