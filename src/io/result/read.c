/* Reads result files, and problem files that contain their results: small tables at once, rows
 * in blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/result.h"

#include "base/sha256.h"
#include "base/words.h"
#include "io/result/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 1 << 16, MAX_BYTES = 64 << 20, MAX_ATTRIBUTES = 1000, MAX_NAME = 1 << 16 };

struct result {
    struct hdf5_file file;
    struct result_info info;
    struct hdf5_column id, message; /* dataset 0: the file has no such column */
    struct result_column column[N_RESULT_COLUMN];
    struct own_reader own;
    struct arena arena; /* what info points to */
};

static enum status no_memory(const struct result *result, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", result->info.path);
}

/* Checks the kind of the file; the error says what it is instead. */
static enum status check_kind(struct result *result, struct error *error)
{
    const char *path = result->info.path;
    char *kind = NULL;
    bool has_format;
    uint64_t format;
    enum status status = hdf5_attribute_text(&result->file, "/", "stiffit_file", &kind, error);
    if (!status)
        status = hdf5_attribute_number(&result->file, "/", "format", H5T_NATIVE_UINT64, &has_format,
                                       &format, error);
    if (status)
        goto done;
    bool is_problem = kind && !strcmp(kind, "problem"), is_result = kind && !strcmp(kind, "result");
    if (!is_problem && !is_result)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "'%s' is not a result of stiffit: it has no attribute stiffit_file = "
                           "\"result\"", path);
    else if (is_problem && hdf5_kind(&result->file, "/fits") != HDF5_GROUP)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "'%s' is a problem file without results: give the result file, or fit "
                           "it first (stiffit run)", path);
    else if (is_result && (!has_format || format != RESULT_FORMAT))
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "'%s' has a format that this version of stiffit cannot read (it reads "
                           "%d)", path, RESULT_FORMAT);
done:
    free(kind);
    return status;
}

static enum status read_names(struct result *result, const char *group, const char *name,
                              bool required, const char *const **out, struct error *error)
{
    struct hdf5_column column = {0};
    char path[64];
    snprintf(path, sizeof path, "%s/%s", group, name);
    *out = NULL;
    if (!required && hdf5_kind(&result->file, path) == HDF5_ABSENT)
        return STATUS_OK;
    enum status status = hdf5_column_open(&column, &result->file, path, error);
    if (status)
        return status;
    if (required)
        result->info.n_parameter = column.n_row;
    if (column.n_row > IDENTITY_MAX_PARAMETER || column.n_row != result->info.n_parameter) {
        status = error_set(error, STATUS_BAD_PROBLEM, "'%s': %s has %" PRIu64 " entries where %s",
                           result->info.path, path, column.n_row,
                           required ? "at most 100000 are supported"
                                    : "there is one for each parameter name");
        goto done;
    }
    char **text = arena_calloc(&result->arena, column.n_row ? column.n_row : 1, sizeof *text);
    status = text ? hdf5_column_read_strings(&column, 0, column.n_row, MAX_NAME, &result->arena,
                                             text, error)
                  : no_memory(result, error);
    *out = (const char *const *)text;
done:
    hdf5_column_close(&column);
    return status;
}

static enum status read_parameters(struct result *result, struct error *error)
{
    struct result_info *info = &result->info;
    /* results within a problem file */
    bool own = hdf5_kind(&result->file, "/provenance/parameters") == HDF5_GROUP;
    const char *group = own ? "/provenance/parameters" : "/parameters";
    enum status status = read_names(result, group, "name", true, &info->parameter_name, error);
    if (!status)
        status = read_names(result, group, "scale", false, &info->parameter_scale, error);
    if (!status)
        status = read_names(result, group, "unit", false, &info->parameter_unit, error);
    return status;
}

static enum status bad_identity(const struct result *result, const char *name, struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM, "'%s': /provenance @%s is missing or damaged",
                     result->info.path, name);
}

static enum status read_hash(struct result *result, const char *name, unsigned char hash[32],
                             struct error *error)
{
    char *hex = NULL;
    enum status status = hdf5_attribute_text(&result->file, "/provenance", name, &hex, error);
    if (!status && (!hex || !sha256_from_hex(hex, hash)))
        status = bad_identity(result, name, error);
    free(hex);
    return status;
}

static enum status read_count(struct result *result, const char *name, uint64_t most,
                              uint64_t *value, struct error *error)
{
    bool present;
    enum status status = hdf5_attribute_number(&result->file, "/provenance", name,
                                               H5T_NATIVE_UINT64, &present, value, error);
    return !status && (!present || *value > most) ? bad_identity(result, name, error) : status;
}

static enum status read_identity(struct result *result, struct error *error)
{
    struct run_identity *identity = &result->info.identity;
    uint64_t n_start = 0, n_parameter = 0, n_refit = 0;
    bool has_refits = false;
    char *description = NULL, *selection = NULL;
    const struct { const char *name; unsigned char *hash; } hashes[] = {
        {"identity_problem", identity->problem}, {"identity_model", identity->model},
        {"identity_options", identity->options}};
    const struct { const char *name; uint64_t most, *value;
    } counts[] = {{"identity_seed", UINT64_MAX, &identity->seed},
                  {"identity_n_dataset", UINT64_MAX, &identity->n_dataset},
                  {"identity_n_start", UINT32_MAX, &n_start},
                  {"identity_n_parameter", UINT32_MAX, &n_parameter}};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes && !status; i++)
        status = read_hash(result, hashes[i].name, hashes[i].hash, error);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && !status; i++)
        status = read_count(result, counts[i].name, counts[i].most, counts[i].value, error);
    if (!status) /* results of the first version lack it */
        status = hdf5_attribute_number(&result->file, "/provenance", "identity_n_refit",
                                       H5T_NATIVE_UINT64, &has_refits, &n_refit, error);
    if (!status && n_refit > UINT32_MAX)
        status = bad_identity(result, "identity_n_refit", error);
    if (!status)
        status = hdf5_attribute_text(&result->file, "/provenance", "identity_description",
                                     &description, error);
    if (!status)
        status = hdf5_attribute_text(&result->file, "/provenance", "identity_selection", &selection,
                                     error);
    identity->n_start = (uint32_t)n_start;
    identity->n_parameter = (uint32_t)n_parameter;
    identity->n_refit = (uint32_t)n_refit;
    snprintf(identity->description, sizeof identity->description, "%s",
             description ? description : "");
    snprintf(identity->selection, sizeof identity->selection, "%s", selection ? selection : "");
    free(description);
    free(selection);
    return status;
}

struct name_list {
    struct result *result;
    char **name;
    size_t n;
    bool failed;
};

static bool take_name(void *context, const char *name)
{
    struct name_list *list = context;
    if (!strncmp(name, "identity_", 9))
        return true;
    if (list->n == MAX_ATTRIBUTES)
        return false;
    list->name[list->n] = arena_strdup(&list->result->arena, name);
    list->failed = !list->name[list->n];
    list->n += !list->failed;
    return !list->failed;
}

static enum status read_provenance(struct result *result, struct error *error)
{
    struct name_list list = {.result = result};
    list.name = arena_calloc(&result->arena, MAX_ATTRIBUTES, sizeof *list.name);
    char **value = arena_calloc(&result->arena, MAX_ATTRIBUTES, sizeof *value);
    if (!list.name || !value)
        return no_memory(result, error);
    enum status status = hdf5_each_attribute(&result->file, "/provenance", take_name, &list, error);
    if (!status && list.failed)
        status = no_memory(result, error);
    for (size_t i = 0; i < list.n && !status; i++) {
        char *text = NULL;
        status = hdf5_attribute_text(&result->file, "/provenance", list.name[i], &text, error);
        if (!status && !(value[i] = arena_strdup(&result->arena, text ? text : "")))
            status = no_memory(result, error);
        free(text);
    }
    result->info.provenance =
        (struct provenance){list.n, (const char *const *)list.name, (const char *const *)value};
    return status;
}

static enum status open_columns(struct result *result, struct error *error)
{
    const struct hdf5_file *file = &result->file;
    enum status status = hdf5_column_open(&result->id, file, "/fits/id", error);
    uint64_t n = result->info.n_fit = result->id.n_row;
    result->info.is_shared =
        hdf5_kind(file, "/shared") != HDF5_ABSENT /* what all datasets share, or groups */
        || strstr(result->info.identity.description, " share=") != NULL ||
        strstr(result->info.identity.description, " random=") != NULL;
    if (!status && hdf5_kind(file, "/fits/message") != HDF5_ABSENT)
        status = hdf5_column_open(&result->message, file, "/fits/message", error);
    if (!status && result->message.dataset &&
        (result->message.width != 1 || result->message.n_row != n))
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "'%s': /fits/message has %" PRIu64 " rows; %" PRIu64 " are expected",
                           result->info.path, result->message.n_row, n);
    for (int i = 0; i < N_RESULT_COLUMN && !status; i++) {
        const struct fit_column_info *column = &fit_columns[i];
        bool required =
            i == FIT_COLUMN_PARAMETERS || i == FIT_COLUMN_OBJECTIVE || i == FIT_COLUMN_STATUS;
        size_t width = fit_column_width((enum fit_column)i, result->info.n_parameter);
        if (width && (required || hdf5_kind(file, column->path) != HDF5_ABSENT))
            status = result_column_open(&result->column[i], file, column->path, column->kind, width,
                                        n, error);
    }
    return status;
}

static enum status read_kind(struct result *result, struct error *error)
{
    char *kind = NULL;
    enum status status =
        hdf5_attribute_text(&result->file, "/fits/objective", "kind", &kind, error);
    if (!status &&
        !(result->info.objective_kind = arena_strdup(&result->arena, kind ? kind : "unknown")))
        status = no_memory(result, error);
    free(kind);
    return status;
}

/* Whether a table of fits has a column of that name for a number of the fit or a parameter. */
static bool is_taken(const struct result_info *info, const char *name)
{
    static const size_t prefix = sizeof "/fits/" - 1;
    bool taken = !strcmp(name, "id") || !strcmp(name, "message") || !strcmp(name, "all") ||
                 words_find(name, info->parameter_name, info->n_parameter) >= 0;
    for (int i = 0; i < N_RESULT_COLUMN; i++) {
        size_t n = strlen(fit_columns[i].path + prefix);
        taken = taken || (!strncmp(name, fit_columns[i].path + prefix, n) &&
                          (!name[n] || name[n] == '_'));
    }
    return taken;
}

static enum status open_own(struct result *result, struct error *error)
{
    struct result_info *info = &result->info;
    enum status status =
        own_reader_open(&result->own, &result->file, "/columns", OWN_MAX_WITH_COVARIATES,
                        info->n_fit, &result->arena, error);
    info->column = result->own.columns;
    const char **label = arena_calloc(&result->arena, info->column.n + 1, sizeof *label);
    if (!status && !label)
        status = no_memory(result, error);
    for (size_t c = 0; !status && c < info->column.n; c++) {
        char text[OWN_MAX_NAME + 20];
        snprintf(text, sizeof text, "dataset_%s", info->column.name[c]);
        label[c] = is_taken(info, info->column.name[c]) ? arena_strdup(&result->arena, text)
                                                        : info->column.name[c];
        if (!label[c])
            status = no_memory(result, error);
    }
    info->column_label = label;
    return status;
}

enum status result_open(struct result **result, const char *path, struct error *error)
{
    enum status (*const parts[])(struct result *result, struct error *error) = {
        check_kind, read_parameters, read_identity, read_provenance, open_columns,
        open_own,   read_kind};
    *result = NULL;
    struct result *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", path);
    made->info.path = path;
    enum status status = hdf5_open(&made->file, path, error);
    if (!status && !(made->info.path = arena_strdup(&made->arena, path)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for reading '%s'", path);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++)
        status = parts[i](made, error);
    if (status) {
        result_close(made);
        made = NULL;
    }
    *result = made;
    return status;
}

const char *provenance_fact(const struct provenance *provenance, const char *name)
{
    for (size_t i = 0; i < provenance->n; i++)
        if (!strcmp(provenance->name[i], name))
            return provenance->value[i];
    return NULL;
}

void result_close(struct result *result)
{
    if (!result)
        return;
    hdf5_column_close(&result->id);
    hdf5_column_close(&result->message);
    own_reader_close(&result->own);
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        result_column_close(&result->column[i]);
    hdf5_close(&result->file);
    arena_fini(&result->arena);
    free(result);
}

bool result_has(const struct result *result, enum fit_column column)
{
    return result->column[column].file.dataset > 0;
}

void result_ignore(struct result *result, enum fit_column column)
{
    result_column_close(&result->column[column]);
}

const struct hdf5_file *result_file(const struct result *result) { return &result->file; }
const struct result_info *result_info(const struct result *result) { return &result->info; }

/* Fills a field of each record of the block; `cells` has room for the widest column. */
static enum status read_column(struct result *result, struct result_block *block, enum fit_column i,
                               char *cells, struct error *error)
{
    const struct result_column *column = &result->column[i];
    if (!column->file.dataset)
        return STATUS_OK;
    enum status status = result_column_read(column, block->first, block->n, cells, error);
    for (size_t row = 0; row < block->n && !status; row++)
        memcpy(fit_column_values(i, &block->record[row]), cells + row * column->cell_size,
               column->cell_size);
    return status;
}

static enum status read_texts(struct result *result, struct result_block *block,
                              struct error *error)
{
    enum status status = hdf5_column_read_strings(&result->id, block->first, block->n,
                                                  RESULT_MAX_ID, block->arena, block->id, error);
    if (!status && result->message.dataset)
        status = hdf5_column_read_strings(&result->message, block->first, block->n, MAX_NAME,
                                          block->arena, block->reason, error);
    for (size_t row = 0; row < block->n && !status; row++) {
        char *reason = block->record[row].reason;
        if (!block->reason[row])
            block->reason[row] = reason;
        else
            snprintf(reason, sizeof block->record[row].reason, "%s", block->reason[row]);
    }
    return status;
}

/* The datasets' own columns. */
static enum status read_own(struct result *result, struct result_block *block, struct error *error)
{
    const struct own_columns *columns = &result->own.columns;
    struct own_value *own =
        columns->n ? arena_calloc(block->arena, block->n * columns->n, sizeof *own) : NULL;
    enum status status = columns->n && !own ? no_memory(result, error) : STATUS_OK;
    for (size_t c = 0; !status && c < columns->n; c++)
        status = own_reader_column(&result->own, c, block->first, block->n, block->arena, own + c,
                                   columns->n, error);
    for (size_t row = 0; own && row < block->n; row++)
        block->record[row].own = own + row * columns->n;
    return status;
}

/* Records filled with missing values. */
static bool make_records(struct result_block *block, size_t n_parameter)
{
    size_t n = block->n;
    block->id = arena_calloc(block->arena, n, sizeof *block->id);
    block->reason = arena_calloc(block->arena, n, sizeof *block->reason);
    block->record = arena_calloc(block->arena, n, sizeof *block->record);
    size_t bytes = (fit_record_array_bytes(n_parameter) + 7) / 8 * 8;
    char *arrays = arena_calloc(block->arena, n, bytes);
    if (!block->id || !block->reason || !block->record || !arrays)
        return false;
    for (size_t row = 0; row < n; row++) {
        block->record[row].dataset = block->first + row;
        fit_record_set_arrays(&block->record[row], n_parameter, arrays + row * bytes);
        fit_record_clear(&block->record[row], n_parameter);
    }
    return true;
}

enum status result_read(struct result *result, struct result_block *block, uint64_t first, size_t n,
                        struct error *error)
{
    const struct result_info *info = &result->info;
    uint64_t n_left = first < info->n_fit ? info->n_fit - first : 0;
    size_t most =
        MAX_BYTES / (sizeof(struct fit_record) + fit_record_array_bytes(info->n_parameter)) + 1;
    if (!block->arena && !(block->arena = calloc(1, sizeof *block->arena)))
        return no_memory(result, error);
    arena_reset(block->arena);
    most = most < MAX_ROWS ? most : MAX_ROWS;
    block->first = first;
    block->n = n < most ? n : most;
    if (block->n > n_left)
        block->n = (size_t)n_left;
    if (block->n == 0)
        return STATUS_OK;
    size_t n_pair = fit_column_width(FIT_COLUMN_COVARIANCE, info->n_parameter);
    void *values = malloc(block->n * (info->n_parameter + n_pair + 1) * sizeof(double));
    enum status status =
        values && make_records(block, info->n_parameter) ? STATUS_OK : no_memory(result, error);
    for (int i = 0; i < N_RESULT_COLUMN && !status; i++)
        status = read_column(result, block, (enum fit_column)i, values, error);
    if (!status)
        status = read_texts(result, block, error);
    if (!status)
        status = read_own(result, block, error);
    if (status)
        block->n = 0;
    free(values);
    return status;
}

void result_block_fini(struct result_block *block)
{
    if (block->arena)
        arena_fini(block->arena);
    free(block->arena);
    *block = (struct result_block){0};
}

bool result_is_there(const char *path)
{
    struct hdf5_file file = {0};
    struct error error;
    bool there =
        hdf5_open(&file, path, &error) == STATUS_OK && hdf5_kind(&file, "/fits") == HDF5_GROUP;
    hdf5_close(&file);
    return there;
}

bool result_next(struct result *result, struct result_block *block, size_t n, enum status *status,
                 struct error *error)
{
    uint64_t next = block->first + block->n;
    if (*status || next >= result->info.n_fit)
        return false;
    *status = result_read(result, block, next, n, error);
    return !*status && block->n > 0;
}

void result_read_only(struct result *result, enum fit_column a, enum fit_column b)
{
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        if (i != (int)a && i != (int)b)
            result_ignore(result, (enum fit_column)i);
    own_reader_close(&result->own);
    result->info.column.n = 0;
}
