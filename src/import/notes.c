/* Notes about columns, lines and fields.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/notes.h"

#include "base/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *import_which(const struct import_options *options)
{
    return options->measurements ? "with measurements" : "to be simulated";
}

void import_say_unused_column(const struct import_options *options, const char *path,
                              const char *name, const char *hint)
{
    if (*name)
        options->say("note: %.300s: column '%.100s' is not used%s", path, name, hint);
    else
        options->say("note: %.300s: the first column has no name (an index?) and is not used",
                     path);
}

void import_say_reading(const struct import_options *options, const struct csv_reader *reader,
                        const char *path)
{
    struct csv_lines comments = csv_comments(reader);
    if (comments.n)
        options->say(
            "note: %.300s: %llu line%s that begin%s with # left out, the first is line %llu", path,
            (unsigned long long)comments.n, plural(comments.n), comments.n == 1 ? "s" : "",
            (unsigned long long)comments.first);
    if (csv_latin1_line(reader))
        options->say("note: %.300s:%llu: not UTF-8, read as Latin-1", path,
                    (unsigned long long)csv_latin1_line(reader));
}

size_t import_need(struct import_lacks *lacks, const struct csv_reader *reader, const char *name,
                   const char *why)
{
    size_t column = csv_find_column(reader, name);
    if (column != CSV_NO_COLUMN)
        return column;
    words_add(lacks->names, sizeof lacks->names, "%s'%.100s'", lacks->n++ ? ", " : "", name);
    snprintf(lacks->why, sizeof lacks->why, "%.90s", why);
    return CSV_NO_COLUMN;
}

enum status import_lacks_end(const struct import_lacks *lacks, const struct csv_reader *reader,
                             struct error *error)
{
    static const char hint[] = "--column NAME=COLUMN says that it has another name";
    if (lacks->n == 0)
        return STATUS_OK;
    if (lacks->n == 1 && *lacks->why)
        return csv_lacks(reader, error, "a column %s is needed: %s (%s)", lacks->names, lacks->why,
                         hint);
    return csv_lacks(reader, error, "there %s no column%s %s (%s)", lacks->n == 1 ? "is" : "are",
                     plural(lacks->n), lacks->names, hint);
}

enum status import_check_covariate(const struct csv_reader *reader, size_t field,
                                   struct error *error)
{
    double number;
    struct error unread;
    const char *word = csv_field(reader, field);
    /* only a field that begins like no number is a word; csv_number says what else is wrong */
    if (!isalpha((unsigned char)*word) || !csv_number(reader, field, &number, &unread))
        return STATUS_OK;
    return csv_fault(reader, field, error,
                     "'%.40s' is not a number: a covariate of the model is one; write a number for "
                     "each word, such as 0 and 1",
                     word);
}

enum status import_check_value(const struct csv_reader *reader, size_t field, const char *column,
                               struct error *error)
{
    const char *value = csv_field(reader, field);
    if (*value != '<' && *value != '>')
        return STATUS_OK;
    return csv_fault(reader, field, error, "'%.40s': write the limit alone, and %s in a column %s",
                     value, *value == '<' ? "1 (it lies below)" : "-1 (it lies above)", column);
}

enum status import_slips_take(struct import_slips *slips, enum status status,
                              const struct error *error)
{
    if (status != STATUS_BAD_PROBLEM)
        return status;
    if (!strcmp(slips->last, error->message))
        return STATUS_OK;
    snprintf(slips->last, sizeof slips->last, "%s", error->message);
    size_t used = strlen(slips->text), length = strlen(error->message);
    bool has_room = used + length + 2 < sizeof slips->text;
    if (has_room || slips->n == 0)
        snprintf(slips->text + used, sizeof slips->text - used, "%s%s", used ? "\n" : "",
                 error->message);
    slips->n_shown += has_room || slips->n == 0;
    slips->n++;
    return STATUS_OK;
}

enum status import_slips_end(const struct import_slips *slips, enum status status,
                             struct error *error)
{
    char more[60] = "";
    if (slips->n == 0)
        return status;
    if (slips->n > slips->n_shown)
        snprintf(more, sizeof more, "\nand %llu more",
                 (unsigned long long)(slips->n - slips->n_shown));
    return error_set(error, STATUS_BAD_PROBLEM, "%s%s", slips->text, more);
}

void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column,
                       const char *what)
{
    if (faults->n++ == 0)
        csv_fault(reader, column, &faults->first, "%s", what);
}
