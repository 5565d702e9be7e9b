/* A file is written under a temporary name and then renamed. Two paths are the same file if device
 * and inode are, whatever links lead there. Standard output is redirected by its descriptor,
 * because foreign code shares the C library's `stdout` and its buffer with us.
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

enum { DESCRIPTOR_NAME = 40 };
#define DESCRIPTOR_PATH "/proc/self/fd/%d"

static FILE *stream_of(int descriptor, struct error *error)
{
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w+");
    if (file)
        return file;
    error_system(error, errno, "cannot make a temporary file (set TMPDIR to another folder)");
    if (descriptor >= 0)
        close(descriptor);
    return NULL;
}

static int in_memory(void)
{
#ifdef MFD_CLOEXEC
    return memfd_create("stiffit", MFD_CLOEXEC);
#else
    return -1;
#endif
}

/* tmpfile knows /tmp only. */
static int on_disk(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/stiffit-XXXXXX", folder && *folder ? folder : "/tmp");
    int descriptor = n < (int)sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (descriptor >= 0)
        unlink(path);
    return descriptor;
}

FILE *temporary_file(struct error *error)
{
    int descriptor = on_disk();
    return stream_of(descriptor < 0 ? in_memory() : descriptor, error);
}

FILE *temporary_small_file(struct error *error)
{
    int descriptor = in_memory();
    return stream_of(descriptor < 0 ? on_disk() : descriptor, error);
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
    bool has_two_names = strcmp(output, input) != 0;
    return error_set(error, STATUS_USAGE,
                     "%s: %s%s%s this command reads: it is kept. Choose another output", output,
                     has_two_names ? "is the file " : "is a file that",
                     has_two_names ? input : "", has_two_names ? ", which" : "");
}

enum status spare_outputs(const struct outputs *outputs, const char *input, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < outputs->n && !status; i++)
        status = spare_file(outputs->path[i], input, error);
    return status;
}

static const char *file_of(const struct option *option, const void *options)
{
    const char *path = NULL;
    if (option->is_file && option->kind == OPTION_STRING)
        memcpy(&path, (const char *)options + option->offset, sizeof path);
    return path;
}

enum status spare_files(struct option_table table, const void *options,
                        const struct option_words *words, struct error *error)
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
            return error_set(error, STATUS_USAGE, "--%s and --%s name the same file, %s",
                             table.option[i].name, table.option[k].name, output);
        }
    }
    return STATUS_OK;
}

/* A file without a name in the folder of `path`, which leaves nothing behind however this process
 * ends; -1: there is no such thing here (NFS, or no /proc to give it a name through). */
static int nameless_file(const char *path)
{
    int file = -1;
#ifdef O_TMPFILE
    char parent[DESTINATION_PATH], name[DESCRIPTOR_NAME];
    struct error ignored;
    if (!destination_parent(path, parent, &ignored))
        file = open(parent, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    snprintf(name, sizeof name, DESCRIPTOR_PATH, file);
    if (file >= 0 && access(name, F_OK) != 0) {
        close(file);
        file = -1;
    }
#else
    (void)path;
#endif
    return file;
}

static enum status open_stream(struct output *output, const char *path, struct error *error)
{
    int at = output->to.descriptor;
    int file = at >= 0 ? fcntl(at, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                       : open(output->to.path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    output->file = file < 0 ? NULL : fdopen(file, "w");
    output->path = output->file ? path : NULL;
    return output->file ? STATUS_OK : error_system(error, errno, "%s: cannot be written", path);
}

enum status output_open(struct output *output, const char *path, bool overwrite,
                        struct error *error)
{
    *output = (struct output){.overwrite = overwrite};
    if (path && strcmp(path, "-") && destination_find(&output->to, path, error))
        return error->status;
    if (!path || !strcmp(path, "-") || output->to.descriptor == STDOUT_FILENO) {
        output->kept = standard_output_keep();
        output->file = output->kept ? output->kept : stdout;
        return STATUS_OK;
    }
    if (output->to.kind == DESTINATION_STREAM)
        return open_stream(output, path, error);
    if (!overwrite && output->to.kind == DESTINATION_FILE)
        return error_set(error, STATUS_SYSTEM, "%s: exists already; --overwrite replaces it", path);
    enum status status = destination_temporary(output->to.path, &output->temporary_path, error);
    if (status)
        return status;
    output->path = path;
    int file = nameless_file(output->to.path);
    output->is_nameless = file >= 0;
    if (file < 0)
        file = open(output->temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0666);
    output->file = file < 0 ? NULL : fdopen(file, "w");
    if (output->file)
        return STATUS_OK;
    error_system(error, errno, "%s: cannot be created", path);
    if (file >= 0)
        close(file);
    output_close(output);
    return STATUS_SYSTEM;
}

bool output_failed(const struct output *output) { return ferror(output->file) != 0; }

/* After a failed write the next byte fails, too: it lets command_close_output report the fault. */
static void finish_standard(struct output *output)
{
    bool failed = output->kept && (fflush(output->kept) || ferror(output->kept));
    standard_output_restore(output->kept);
    output->kept = NULL;
    output->file = stdout;
    if (failed)
        putc('\n', stdout);
}

/* Only an open file can be given a name through its descriptor. */
static bool give_name(struct output *output)
{
    char name[DESCRIPTOR_NAME];
    snprintf(name, sizeof name, DESCRIPTOR_PATH, fileno(output->file));
    if (output->is_nameless &&
        linkat(AT_FDCWD, name, AT_FDCWD, output->temporary_path, AT_SYMLINK_FOLLOW))
        return false;
    output->is_nameless = false;
    return true;
}

static enum status move_into_place(struct output *output, struct error *error)
{
    struct stat found;
    if (!output->overwrite && lstat(output->to.path, &found) == 0)
        return error_set(error, STATUS_SYSTEM, "%s: appeared meanwhile; --overwrite replaces it",
                         output->path);
    if (rename(output->temporary_path, output->to.path))
        return error_system(error, errno, "%s: cannot be moved into place", output->path);
    free(output->temporary_path);
    output->temporary_path = NULL;
    return STATUS_OK;
}

enum status output_finish(struct output *output, struct error *error)
{
    if (!output->path) {
        finish_standard(output);
        return STATUS_OK;
    }
    errno = 0;
    /* After a failed write, another attempt fails with the same errno. */
    bool failed = fflush(output->file) || ferror(output->file);
    failed = failed || (output->temporary_path &&
                        (fsync(fileno(output->file)) || !give_name(output)));
    int cause = errno;
    if (fclose(output->file) && !failed) {
        failed = true;
        cause = errno;
    }
    output->file = NULL;
    if (failed && !cause) /* a large write failed earlier and left nothing in the buffer */
        return error_set(error, STATUS_SYSTEM, "%s: cannot be written (is the disk full?)",
                         output->path);
    if (failed)
        return error_system(error, cause, "%s: cannot be written", output->path);
    return output->temporary_path ? move_into_place(output, error) : STATUS_OK;
}

void output_close(struct output *output)
{
    standard_output_restore(output->kept);
    if (output->path && output->file)
        fclose(output->file);
    if (output->temporary_path && !output->is_nameless)
        unlink(output->temporary_path);
    free(output->temporary_path);
    *output = (struct output){.file = NULL};
}

FILE *output_grow(const char *path, bool is_first, bool overwrite, FILE *standard,
                  struct error *error)
{
    struct output output = {.file = NULL};
    struct stat found;
    if (!strcmp(path, "-"))
        return standard;
    if (destination_find(&output.to, path, error))
        return NULL;
    if (output.to.descriptor == STDOUT_FILENO)
        return standard;
    const char *to = output.to.path;
    if (output.to.kind == DESTINATION_STREAM)
        return open_stream(&output, path, error) ? NULL : output.file;
    if (is_first && !overwrite && stat(to, &found) == 0 && found.st_size > 0) {
        error_set(error, STATUS_SYSTEM, "%s: exists already; --overwrite replaces it", path);
        return NULL;
    }
    int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    if (output.to.kind == DESTINATION_NEW)
        flags |= O_CREAT | O_EXCL;
    int file = open(to, flags, 0666);
    FILE *made = file >= 0 && (!is_first || ftruncate(file, 0) == 0) ? fdopen(file, "a") : NULL;
    if (made)
        return made;
    error_system(error, errno, "cannot write '%s'", path);
    if (file >= 0)
        close(file);
    return NULL;
}
