/* The tables of starts, profiles and replicates; copies their rows from one result to another.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result_kept.h"

static const char dataset[] = "row number of the dataset in the problem, from 0";

struct result_table_shape kept_shape(enum kept_table table, size_t n_parameter)
{
    switch (table) {
    case KEPT_STARTS:
        return (struct result_table_shape){
            "/starts", 5,
            {{"dataset", dataset, FIT_INT64, 0}, {"start", "number of the start, from 0", FIT_UINT32, 0},
             {"objective", "where it ended", FIT_DOUBLE, 0}, {"status", "how it ended", FIT_OUTCOME, 0},
             {"parameters", "where it ended, natural scale", FIT_DOUBLE, n_parameter}}};
    case KEPT_PROFILES:
        return (struct result_table_shape){
            "/profiles", 4,
            {{"dataset", dataset, FIT_INT64, 0}, {"parameter", "row of /parameters", FIT_UINT32, 0},
             {"value", "of that parameter, natural scale", FIT_DOUBLE, 0},
             {"objective", "its smallest value there", FIT_DOUBLE, 0}}};
    default:
        return (struct result_table_shape){
            "/bootstrap", 4,
            {{"dataset", dataset, FIT_INT64, 0}, {"replicate", "its number, from 0", FIT_UINT32, 0},
             {"status", "how its fit ended", FIT_OUTCOME, 0},
             {"parameters", "its best fit, natural scale", FIT_DOUBLE, n_parameter}}};
    }
}

const char *kept_options(enum kept_table table)
{
    return table == KEPT_STARTS     ? "--keep-starts"
           : table == KEPT_PROFILES ? "--profile and --keep-profile"
                                    : "--bootstrap and --keep-bootstrap";
}

enum status kept_sources_open(struct kept_sources *sources, struct result *result, size_t bytes, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < N_KEPT_TABLE && !status; i++) {
        struct result_table_shape shape = kept_shape((enum kept_table)i, result_info(result)->n_parameter);
        status = result_table_source_open(&sources->of[i], result, &shape, bytes, error);
    }
    return status;
}

void kept_sources_close(struct kept_sources *sources)
{
    for (int i = 0; i < N_KEPT_TABLE; i++)
        result_table_source_close(sources->of[i]);
    *sources = (struct kept_sources){{NULL}};
}

enum status kept_writers_add(struct kept_writers *writers, enum kept_table table, struct result_writer *writer,
                             size_t n_parameter, struct error *error)
{
    struct result_table_shape shape = kept_shape(table, n_parameter);
    return writers->of[table] ? STATUS_OK : result_table_open(&writers->of[table], writer, &shape, error);
}

enum status kept_pass(struct kept_sources *from, uint64_t dataset_row, struct kept_writers *to, struct error *error)
{
    const void *values[RESULT_TABLE_MAX_COLUMN];
    enum status status = STATUS_OK;
    for (int i = 0; i < N_KEPT_TABLE; i++) {
        for (bool there = true; there && !status;) {
            status = result_table_next(from->of[i], dataset_row, values, &there, error);
            if (!status && there && to && to->of[i])
                status = result_table_add(to->of[i], values, error);
        }
    }
    return status;
}

enum status kept_writers_finish(struct kept_writers *writers, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < N_KEPT_TABLE && !status; i++)
        status = result_table_finish(writers->of[i], error);
    return status;
}

void kept_writers_close(struct kept_writers *writers)
{
    for (int i = 0; i < N_KEPT_TABLE; i++)
        result_table_close(writers->of[i]);
    *writers = (struct kept_writers){{NULL}};
}
