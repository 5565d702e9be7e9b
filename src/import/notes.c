/* Notes about columns, lines and fields.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/notes.h"

#include "base/words.h"

void import_say_unused_column(const struct import_options *options, const char *path, const char *name,
                              const char *hint)
{
    if (*name)
        options->say("note: %.300s: column '%.100s' is not used%s", path, name, hint);
    else
        options->say("note: %.300s: the first column has no name (an index?) and is not used", path);
}

void import_say_reading(const struct import_options *options, const struct csv_reader *reader, const char *path)
{
    struct csv_lines comments = csv_comments(reader);
    if (comments.n)
        options->say("note: %.300s: %llu line%s that begin%s with # left out, the first is line %llu", path,
                    (unsigned long long)comments.n, plural(comments.n), comments.n == 1 ? "s" : "",
                    (unsigned long long)comments.first);
    if (csv_latin1_line(reader))
        options->say("note: %.300s:%llu: not UTF-8, read as Latin-1", path,
                    (unsigned long long)csv_latin1_line(reader));
}

void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column, const char *what)
{
    if (faults->n++ == 0)
        csv_fault(reader, column, &faults->first, "%s", what);
}
