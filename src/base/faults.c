/* Collects faults as lines of one message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/faults.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_LINE = 400 };

static void append_line(struct faults *faults, const char *line)
{
    size_t length = strlen(line);
    faults->n++;
    if (faults->n > FAULTS_LISTED || faults->used + length + 4 > sizeof faults->text)
        return;
    char *text = faults->text + faults->used;
    snprintf(text, sizeof faults->text - faults->used, "%s%s", faults->used ? "\n  " : "", line);
    for (char *c = text + (faults->used ? 3 : 0); *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    faults->used += strlen(text);
}

void faults_add(struct faults *faults, const char *format, ...)
{
    char line[LONGEST_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    append_line(faults, line);
}

void faults_add_error(struct faults *faults, const char *path, const struct error *error)
{
    const char *message = error->message;
    size_t length = strlen(path);
    faults->no_memory = faults->no_memory || error->status == STATUS_NO_MEMORY;
    if (strncmp(message, path, length) == 0 && strncmp(message + length, ": ", 2) == 0)
        message += length + 2;
    faults_add(faults, "%s", message);
}

enum status faults_report(const struct faults *faults, const char *path,
                          struct error *error)
{
    if (faults->no_memory)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    if (faults->n == 0)
        return STATUS_OK;
    if (faults->n == 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s", path, faults->text);
    uint64_t n_listed = 1;
    for (const char *c = faults->text; (c = strchr(c, '\n')); c++)
        n_listed++;
    char more[64] = "";
    if (faults->n > n_listed)
        snprintf(more, sizeof more, "\n  and %" PRIu64 " more", faults->n - n_listed);
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %" PRIu64 " faults:\n  %s%s", path, faults->n,
                     faults->text, more);
}
