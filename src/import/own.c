/* SPDX-License-Identifier: BSD-3-Clause */
#include "import/own.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum status no_memory(const struct import_own *own, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu columns of %zu datasets",
                     own->column.n, own->n_dataset);
}

enum status import_own_add(struct import_own *own, const char *name, struct error *error)
{
    size_t n = own->column.n;
    if (strlen(name) > OWN_MAX_NAME)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "the table of datasets: the name of the column '%.64s...' has more than "
                         "%d bytes; shorten it",
                         name, OWN_MAX_NAME);
    if (n == OWN_MAX_COLUMN)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "the table of datasets: column '%.100s': there are more than %d columns "
                         "that the model does not use; leave some out",
                         name, OWN_MAX_COLUMN);
    char *copy = arena_strdup(&own->arena, name);
    if (!own->name)
        own->name = arena_calloc(&own->arena, OWN_MAX_COLUMN, sizeof *own->name);
    if (!own->is_text)
        own->is_text = arena_calloc(&own->arena, OWN_MAX_COLUMN, sizeof *own->is_text);
    if (!copy || !own->name || !own->is_text)
        return no_memory(own, error);
    own_name_as_link(copy);
    if (own_columns_find(&own->column, copy) >= 0)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "the table of datasets: columns '%.100s' and '%.100s' have one name where "
                         "a slash becomes an underscore: rename one",
                         copy, name);
    own->name[n] = copy;
    own->column = (struct own_columns){n + 1, own->name, own->is_text, false};
    return STATUS_OK;
}

/* A plate called 007 is not the number 7, and a bar code of 17 digits is none that a double has. */
static bool is_code(const char *field)
{
    double number;
    bool is_whole = field[0] && strspn(field, "0123456789") == strlen(field);
    return (field[0] == '0' && isdigit((unsigned char)field[1])) ||
           (is_whole && csv_parse_double(field, &number) && number > OWN_MAX_WHOLE);
}

enum status import_own_take(struct import_own *own, size_t column, size_t dataset,
                            const struct csv_reader *reader, size_t field, struct error *error)
{
    if (!own->value && !(own->value = calloc(own->n_dataset * own->column.n, sizeof *own->value)))
        return no_memory(own, error);
    struct own_value *value = &own->value[dataset * own->column.n + column];
    struct error not_a_number;
    bool is_missing = csv_is_missing(reader, field);
    const char *text = csv_field(reader, field);
    value->number = NAN;
    value->text = is_missing ? "" : arena_strdup(&own->arena, text);
    if (!value->text)
        return no_memory(own, error);
    if (!is_missing && (is_code(text) || csv_number(reader, field, &value->number, &not_a_number)))
        own->is_text[column] = true;
    return STATUS_OK;
}

void import_own_end(struct import_own *own)
{
    size_t n = own->column.n;
    for (size_t i = 0; own->value && i < own->n_dataset * n; i++)
        if (!own->is_text[i % n])
            own->value[i].text = NULL;
        else if (!own->value[i].text)
            own->value[i].text = "";
}

void import_own_fini(struct import_own *own)
{
    free(own->value);
    arena_fini(&own->arena);
    *own = (struct import_own){.value = NULL};
}
