/* The name of the temporary folder is passed in the environment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/trace_journal.h"

#include "io/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "STIFFIT_TRACE_JOURNAL", name[] = "/journal";

enum status trace_journal_make(struct error *error)
{
    const char *base = getenv("TMPDIR");
    char path[4096];
    int n = snprintf(path, sizeof path - sizeof name, "%s/stiffit-trace-XXXXXX", base && *base ? base : "/tmp");
    if (n >= (int)(sizeof path - sizeof name))
        return error_set(error, STATUS_SYSTEM, "the path of the folder for temporary files (TMPDIR) is too long");
    if (!mkdtemp(path))
        return error_system(error, errno, "cannot make a folder for temporary files, '%s' (TMPDIR names another place)", path);
    strcat(path, name);
    if (setenv(variable, path, 1))
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    return STATUS_OK;
}

void trace_journal_remove(void)
{
    struct error ignored;
    const char *journal = trace_journal_path();
    if (!journal)
        return;
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(journal) - strlen(name)), journal);
    journal_remove(journal, &ignored);
    rmdir(folder);
}

const char *trace_journal_path(void) { return getenv(variable); }
