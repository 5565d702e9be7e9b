/* Text files under a temporary name, then renamed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/output.h"

#include "base/standard_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status output_open(struct output *output, const char *path, bool overwrite, struct error *error)
{
    *output = (struct output){.file = NULL};
    if (!path || !strcmp(path, "-")) {
        output->kept = standard_output_keep();
        output->file = output->kept ? output->kept : stdout;
        return STATUS_OK;
    }
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* a pipe or a device keeps its place */
        output->file = fopen(path, "w");
        output->path = output->file ? path : NULL;
        return output->file ? STATUS_OK : error_system(error, errno, "%s: cannot be written", path);
    }
    if (!overwrite && access(path, F_OK) == 0)
        return error_set(error, STATUS_SYSTEM, "%s: exists already; --overwrite replaces it", path);
    size_t size = strlen(path) + 40;
    output->path = path;
    output->temporary_path = malloc(size);
    if (!output->temporary_path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    snprintf(output->temporary_path, size, "%s.tmp-%ld", path, (long)getpid());
    output->file = fopen(output->temporary_path, "wx");
    if (!output->file) {
        error_system(error, errno, "%s: cannot be created", path);
        free(output->temporary_path);
        output->temporary_path = NULL;
        return STATUS_SYSTEM;
    }
    return STATUS_OK;
}

bool output_failed(const struct output *output) { return ferror(output->file) != 0; }

/* A fault of standard output is met again by the next byte, and told by command_close_output. */
static void finish_standard(struct output *output)
{
    bool failed = output->kept && (fflush(output->kept) || ferror(output->kept));
    standard_output_restore(output->kept);
    output->kept = NULL;
    output->file = stdout;
    if (failed)
        putc('\n', stdout);
}

enum status output_finish(struct output *output, struct error *error)
{
    if (!output->path) {
        finish_standard(output);
        return STATUS_OK;
    }
    errno = 0;
    /* After a failed write another attempt tells the reason again. */
    bool failed = fflush(output->file) || ferror(output->file) || (output->temporary_path && fsync(fileno(output->file)));
    int number = errno;
    if (fclose(output->file) && !failed) {
        failed = true;
        number = errno;
    }
    output->file = NULL;
    if (failed && !number) /* it was a write of much at once, and nothing of it is left to try */
        return error_set(error, STATUS_SYSTEM, "%s: cannot be written (is the disk full?)", output->path);
    if (failed)
        return error_system(error, number, "%s: cannot be written", output->path);
    if (output->temporary_path && rename(output->temporary_path, output->path))
        return error_system(error, errno, "%s: cannot be put in its place", output->path);
    free(output->temporary_path);
    output->temporary_path = NULL;
    return STATUS_OK;
}

void output_close(struct output *output)
{
    standard_output_restore(output->kept);
    if (output->path && output->file)
        fclose(output->file);
    if (output->temporary_path)
        unlink(output->temporary_path);
    free(output->temporary_path);
    *output = (struct output){.file = NULL};
}
