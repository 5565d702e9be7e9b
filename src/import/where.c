/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/where.h"

#include "base/option.h"
#include "import/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for --where");
}

static enum status unknown_column(const struct csv_reader *reader, const char *path,
                                  const char *name, struct error *error)
{
    const size_t n = csv_n_column(reader);
    const char **names = calloc(n + 1, sizeof *names);
    char hint[NEAREST_HINT];
    if (!names)
        return no_memory(error);
    for (size_t j = 0; j < n; j++)
        names[j] = csv_column_name(reader, j);
    nearest_hint(hint, "; did you mean '", "'?", name, names, n);
    free(names);
    return error_set(error, STATUS_USAGE, "--where: %s has no column '%.100s'%s", path, name, hint);
}

static enum status add(struct import_where *where, const struct csv_reader *reader,
                       const char *path, const struct condition *read, struct error *error)
{
    struct import_condition *longer =
        realloc(where->condition, (where->n + 1) * sizeof *where->condition);
    where->condition = longer ? longer : where->condition;
    if (!longer)
        return no_memory(error);
    struct import_condition made = {.column = csv_find_column(reader, read->name),
                                    .comparison = read->comparison};
    if (made.column == CSV_NO_COLUMN)
        return unknown_column(reader, path, read->name, error);
    made.is_number = option_number(read->word, &made.number) ||
                     csv_parse_double(read->word, &made.number);
    bool is_order = read->comparison != IS_SAME && read->comparison != IS_OTHER;
    if (is_order && (!made.is_number || isnan(made.number)))
        return error_set(error, STATUS_USAGE, "--where: '%.100s' is compared with == or !=, not "
                         "with %s", read->word, condition_operator_text(read->comparison));
    if (!(made.word = strdup(read->word)))
        return no_memory(error);
    where->condition[where->n++] = made;
    return STATUS_OK;
}

enum status import_where_begin(struct import_where *where, const struct import_options *options,
                               const struct csv_reader *reader, const char *path,
                               struct error *error)
{
    struct condition read;
    enum status status = STATUS_OK;
    const char *text = options->where;
    for (bool more = text != NULL; more && !status;)
        if (!(status = condition_next(&text, &read, &more, error)))
            status = add(where, reader, path, &read, error);
    return status;
}

/* A field that is no number is compared as text. */
static enum status compare(const struct import_where *where, const struct import_condition *is,
                           const struct csv_reader *reader, bool *holds, struct error *error)
{
    double number = NAN;
    struct error unread;
    bool is_order = is->comparison != IS_SAME && is->comparison != IS_OTHER;
    bool is_missing = csv_is_missing(reader, is->column);
    enum status status = STATUS_OK;
    if (is->is_number && !is_missing)
        status = where->unit ? import_clock_elapsed(&(struct import_elapsed){.unit = where->unit},
                                                    reader, is->column, &number, &unread)
                             : csv_number(reader, is->column, &number, &unread);
    if (is->is_number && is_missing && where->missing_is_0 && !isnan(is->number))
        number = 0;
    if (status && is_order)
        return csv_fault(reader, is->column, error, "--where: '%.100s' is not a number",
                         csv_field(reader, is->column));
    if (is->is_number && !status)
        *holds = condition_holds(is->comparison, number, is->number);
    else
        *holds = (is->comparison == IS_SAME) == !strcmp(csv_field(reader, is->column), is->word);
    return STATUS_OK;
}

enum status import_where_holds(struct import_where *where, const struct csv_reader *reader,
                               bool *holds, struct error *error)
{
    enum status status = STATUS_OK;
    *holds = true;
    for (size_t i = 0; i < where->n && !status && *holds; i++)
        status = compare(where, &where->condition[i], reader, holds, error);
    if (!status && !*holds && where->left_out.n++ == 0)
        where->left_out.first = csv_line(reader);
    return status;
}

bool import_where_uses(const struct import_where *where, size_t column)
{
    for (size_t i = 0; i < where->n; i++)
        if (where->condition[i].column == column)
            return true;
    return false;
}

enum status import_where_none(const struct import_where *where, const char *path,
                              struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM, "%s: there are no measurements below its header%s",
                     path, where->left_out.n ? " that meet --where" : "");
}

void import_where_fini(struct import_where *where)
{
    for (size_t i = 0; i < where->n; i++)
        free(where->condition[i].word);
    free(where->condition);
    *where = (struct import_where){.n = 0};
}
