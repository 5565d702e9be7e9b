/* Files are compared by device and inode, which also finds symbolic and hard links.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/spare.h"

#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *path) { return path && *path && strcmp(path, "-") != 0; }

static bool is_same(const char *one, const char *other)
{
    struct stat a, b;
    if (!is_file(one) || !is_file(other))
        return false;
    return !stat(one, &a) && !stat(other, &b) && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum status spare_file(const char *output, const char *input, struct error *error)
{
    if (!is_same(output, input))
        return STATUS_OK;
    bool is_link = strcmp(output, input) != 0;
    return error_set(error, STATUS_USAGE, "%s: %s%s%s this command reads: it is kept. Choose another output", output,
                     is_link ? "is the file " : "is a file that", is_link ? input : "", is_link ? ", which" : "");
}

static const char *file_of(const struct option *option, const void *options)
{
    const char *path = NULL;
    if (option->is_file && option->kind == OPTION_STRING)
        memcpy(&path, (const char *)options + option->offset, sizeof path);
    return path;
}

enum status spare_files(struct option_table table, const void *options, const struct option_words *words,
                        struct error *error)
{
    for (size_t i = 0; i < table.n; i++) {
        if (!table.option[i].is_output)
            continue;
        const char *output = file_of(&table.option[i], options);
        for (size_t k = 0; k < words->n_positional; k++)
            if (spare_file(output, words->positional[k], error))
                return error->status;
        for (size_t k = 0; k < table.n; k++) {
            const char *other = k == i ? NULL : file_of(&table.option[k], options);
            if (!is_same(output, other) && !(is_file(output) && other && !strcmp(output, other)))
                continue;
            return error_set(error, STATUS_USAGE, "--%s and --%s name the same file, %s", table.option[i].name,
                             table.option[k].name, output);
        }
    }
    return STATUS_OK;
}
