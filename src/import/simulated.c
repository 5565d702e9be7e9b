/* A problem without measurements, to be simulated: its datasets and experiments are those that the
 * other tables name.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/tables.h"

#include <stdlib.h>

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the datasets of the tables");
}

static size_t find_dataset(const struct csv_reader *reader)
{
    size_t column = csv_find_column(reader, "dataset");
    return column == CSV_NO_COLUMN ? csv_find_column(reader, "id") : column;
}

/* The datasets of the table of datasets, in its order; it alone says which there are. */
static enum status list_datasets(struct import_owners *owners, const char *path,
                                 struct error *error)
{
    struct csv_reader *reader = NULL;
    size_t column = CSV_NO_COLUMN;
    bool more = true;
    enum status status = csv_open(&reader, path, error);
    if (!status && (column = find_dataset(reader)) == CSV_NO_COLUMN)
        status = csv_lacks(reader, error, "there is no column 'dataset'");
    while (!status && !(status = csv_next(reader, &more, error)) && more)
        if (id_table_add(&owners->dataset, csv_field(reader, column)) == ID_NO_MEMORY)
            status = no_memory(error);
    csv_close(reader);
    if (!status && owners->dataset.n == 0)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: there are no datasets below its header",
                           path);
    return status;
}

/* Adds the experiments of a table. listed: only datasets that are there already. */
static enum status add_experiments(struct import_owners *owners, const char *path, bool listed,
                                   struct error *error)
{
    struct csv_reader *reader = NULL;
    bool more = true;
    enum status status = csv_open(&reader, path, error);
    size_t dataset = status ? CSV_NO_COLUMN : find_dataset(reader),
           experiment = status ? CSV_NO_COLUMN : csv_find_column(reader, "experiment");
    owners->has_experiments = owners->has_experiments || experiment != CSV_NO_COLUMN;
    while (!status && !(status = csv_next(reader, &more, error)) && more) {
        const char *only = owners->dataset.n ? owners->dataset.id[0] : "simulated";
        const char *id = dataset == CSV_NO_COLUMN ? only : csv_field(reader, dataset);
        const char *name = experiment == CSV_NO_COLUMN ? "" : csv_field(reader, experiment);
        if (listed && id_table_find(&owners->dataset, id) == ID_NONE)
            continue;
        if (import_owner_add(owners, id, name) == ID_NO_MEMORY)
            status = no_memory(error);
    }
    csv_close(reader);
    return status;
}

/* Without experiments each dataset is one. */
static enum status complete(struct import_owners *owners, struct error *error)
{
    uint32_t n = owners->dataset.n;
    unsigned char *has = calloc((size_t)n + 1, 1);
    enum status status = has ? STATUS_OK : no_memory(error);
    for (uint32_t e = 0; has && e < owners->experiment.n; e++)
        has[owners->dataset_of[e]] = 1;
    for (uint32_t d = 0; d < n && !status; d++) {
        if (has[d])
            continue;
        if (owners->has_experiments)
            status = error_set(error, STATUS_BAD_PROBLEM,
                               "dataset '%.100s' has no experiment in the tables: add one to "
                               "--experiments",
                               owners->dataset.id[d]);
        else if (import_owner_add(owners, owners->dataset.id[d], "") == ID_NO_MEMORY)
            status = no_memory(error);
    }
    free(has);
    return status;
}

/* A dataset needs a measurement; this one is never compared with anything. */
static enum status add_row(struct import_rows *rows, uint32_t owner, double time,
                           struct error *error)
{
    struct measurements row;
    enum status status = import_rows_begin(rows, &row, error);
    if (status)
        return status;
    row.time[0] = time;
    row.value[0] = row.sigma[0] = 1;
    row.observable[0] = 0;
    import_rows_end(rows, owner);
    return STATUS_OK;
}

enum status import_simulated(struct import_rows *rows, const struct import_options *options,
                             struct error *error)
{
    struct import_owners *owners = &rows->owners;
    const char *const path[] = {options->doses, options->inputs, options->events,
                                options->substitutes};
    bool listed = options->datasets != NULL;
    enum status status = listed ? list_datasets(owners, options->datasets, error) : STATUS_OK;
    if (!status && options->experiments)
        status = add_experiments(owners, options->experiments, listed, error);
    for (size_t i = 0; !options->experiments && i < sizeof path / sizeof *path && !status; i++)
        if (path[i])
            status = add_experiments(owners, path[i], listed, error);
    if (!status && owners->dataset.n == 0 &&
        id_table_add(&owners->dataset, "simulated") == ID_NO_MEMORY)
        status = no_memory(error);
    if (!status)
        status = complete(owners, error);
    for (uint32_t e = 0; e < owners->experiment.n && !status; e++)
        status = add_row(rows, e, options->last_time, error);
    return status;
}
