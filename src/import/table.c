/* Reads a table whose rows belong to experiments; faults are reported with file, line and column.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/table.h"

#include "base/words.h"
#include "import/notes.h"
#include "import/open.h"

#include <math.h>

static enum status open_table(struct import_table *table, struct error *error)
{
    enum status status =
        import_open(&table->reader, table->path, FORM_TABLE, table->options, NULL, NULL, error);
    if (!status)
        status = import_find_owner(table->reader, table->path, table->owners, &table->owner, error);
    const char *known[IMPORT_MAX_COLUMN + 2] = {"dataset", "experiment"};
    size_t n = 2;
    for (size_t i = 0; table->name[i] && !status; i++) {
        known[n++] = table->name[i];
        table->column[i] = csv_find_column(table->reader, table->name[i]);
        if (i < table->n_needed)
            status = csv_need_column(table->reader, table->name[i], &table->column[i], error);
    }
    for (size_t j = 0; !status && j < csv_n_column(table->reader); j++) {
        const char *name = csv_column_name(table->reader, j);
        bool is_used = csv_is_joined(table->reader, j) || j == table->owner.dataset ||
                       j == table->owner.experiment;
        for (size_t i = 0; table->name[i]; i++)
            is_used = is_used || j == table->column[i];
        const char *near = is_used ? NULL : nearest_name(name, known, n);
        if (near) /* a rate with a misspelt name must not be ignored */
            status = error_set(error, STATUS_BAD_PROBLEM,
                               "%s: unknown column '%.100s'; did you mean '%s'?", table->path, name,
                               near);
        else if (!is_used)
            import_say_unused_column(table->options, table->path, name, "");
    }
    return status;
}

enum status import_table_number(const struct import_table *table, int which, double *value,
                                struct error *error)
{
    double number = NAN;
    size_t column = table->column[which];
    enum status status =
        column == CSV_NO_COLUMN ? STATUS_OK : csv_number(table->reader, column, &number, error);
    if (!status && !isnan(number))
        *value = number;
    return status;
}

enum status import_table_name(const struct import_table *table, int which, const char *what,
                              const char *const *names, size_t n, uint32_t *index,
                              struct error *error)
{
    char hint[NEAREST_HINT];
    size_t column = table->column[which];
    const char *name = column == CSV_NO_COLUMN ? "" : csv_field(table->reader, column);
    if (!*name && n == 1) {
        *index = 0;
        return STATUS_OK;
    }
    if (column == CSV_NO_COLUMN)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: a column '%s' is needed: the model has %zu %ss", table->path,
                         table->name[which], n, what);
    int found = words_find(name, names, n);
    *index = (uint32_t)found;
    return found >= 0
               ? STATUS_OK
               : csv_fault(table->reader, column, error, "the model has no %s '%.100s'%s", what,
                           name, nearest_hint(hint, "; did you mean '", "'?", name, names, n));
}

enum status import_table_read(struct import_table *table, uint64_t *n_unused, struct error *error)
{
    uint64_t n_row = 0, n_left_out = 0;
    bool more = true;
    enum status status = open_table(table, error);
    for (; !status && !(status = csv_next(table->reader, &more, error)) && more; n_row++) {
        uint32_t owner = import_row_owner(table->reader, table->owners, &table->owner);
        n_left_out += owner == ID_NONE;
        status = table->row(table, owner, table->context, error);
    }
    *n_unused += n_left_out;
    if (!status && n_row > 0 && n_left_out == n_row)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: none of its rows belongs to a dataset%s %s: are the ids the same?",
                           table->path, table->owners->has_experiments ? " and an experiment" : "",
                           import_which(table->options));
    if (!status)
        import_say_reading(table->options, table->reader, table->path);
    csv_close(table->reader);
    return status;
}
