/* Text files under a temporary name, then renamed. Files are compared by device and number, so that symbolic and hard links
 * count; standard output is led away by descriptors, for foreign code shares the C library's `stdout` and its buffer with us.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *standard_output_keep(void)
{
    int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    FILE *kept = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!kept) {
        if (descriptor >= 0)
            close(descriptor);
        return NULL;
    }
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return kept;
}

void standard_output_restore(FILE *kept)
{
    if (!kept)
        return;
    fflush(stdout);
    clearerr(stdout); /* a failed write was not of our data */
    dup2(fileno(kept), STDOUT_FILENO);
    fclose(kept);
}

/* tmpfile knows /tmp only. */
FILE *temporary_file(struct error *error)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/stiffit-XXXXXX", folder && *folder ? folder : "/tmp");
    int descriptor = n < (int)sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (descriptor >= 0)
        unlink(path);
#ifdef MFD_CLOEXEC
    else
        descriptor = memfd_create("stiffit", MFD_CLOEXEC);
#endif
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w+");
    if (!file) {
        error_system(error, errno, "cannot make a temporary file (set TMPDIR to another folder)");
        if (descriptor >= 0)
            close(descriptor);
    }
    return file;
}

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
    /* After a failed write, another attempt fails with the same errno. */
    bool failed = fflush(output->file) || ferror(output->file) || (output->temporary_path && fsync(fileno(output->file)));
    int number = errno;
    if (fclose(output->file) && !failed) {
        failed = true;
        number = errno;
    }
    output->file = NULL;
    if (failed && !number) /* a large write failed and left nothing in the buffer, so errno is lost */
        return error_set(error, STATUS_SYSTEM, "%s: cannot be written (is the disk full?)", output->path);
    if (failed)
        return error_system(error, number, "%s: cannot be written", output->path);
    if (output->temporary_path && rename(output->temporary_path, output->path))
        return error_system(error, errno, "%s: cannot be moved into place", output->path);
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
