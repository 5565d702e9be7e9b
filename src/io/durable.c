/* The steps that put a file safely on disk under its name (man fsync: the directory, too).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/durable.h"

#include "base/words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NAME_TRIES = 1000, KEPT_OF_NAME = 200 };

enum status durable_parent(const char *path, char parent[DURABLE_PATH], struct error *error)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= DURABLE_PATH)
        return error_set(error, STATUS_SYSTEM, "the path '%.100s...' is too long", path);
    memcpy(parent, n ? path : ".", n ? n : 1);
    parent[n ? n : 1] = '\0';
    return STATUS_OK;
}

enum status durable_sync(int file, const char *path, struct error *error)
{
    if (fsync(file) == 0 || errno == EINVAL)
        return STATUS_OK;
    return error_system(error, errno, "cannot bring '%s' to disk", path);
}

enum status durable_sync_directory(const char *directory, struct error *error)
{
    int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return error_system(error, errno, "cannot open the directory '%s'", directory);
    enum status status = durable_sync(file, directory, error);
    close(file);
    return status;
}

/* Removes temporary files of ours that killed processes of this machine have left. */
static void sweep(const char *parent, const char *name)
{
    char begin[KEPT_OF_NAME + 16];
    struct dirent *entry;
    DIR *list = opendir(parent);
    if (!list)
        return;
    int n_begin = snprintf(begin, sizeof begin, ".%.*s.tmp-", KEPT_OF_NAME, name), n_read;
    while ((entry = readdir(list))) {
        long process = 0;
        int number;
        const char *end = entry->d_name + n_begin;
        if (strncmp(entry->d_name, begin, (size_t)n_begin) || sscanf(end, "%ld-%d%n", &process, &number, &n_read) != 2 ||
            end[n_read] || process <= 0)
            continue;
        if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(list), entry->d_name, 0);
    }
    closedir(list);
}

enum status durable_temporary(const char *path, char **temporary, struct error *error)
{
    char parent[DURABLE_PATH];
    struct stat found;
    *temporary = NULL;
    enum status status = durable_parent(path, parent, error);
    if (status)
        return status;
    if (stat(parent, &found) != 0 || access(parent, W_OK | X_OK) != 0)
        return error_system(error, errno, "cannot write '%s' into the directory '%s'", path, parent);
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return error_set(error, STATUS_SYSTEM, "cannot write '%s': it is a directory", path);
    const char *name = words_file(path);
    size_t size = strlen(parent) + KEPT_OF_NAME + 60;
    char *made = malloc(size);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the name of a file");
    sweep(parent, name);
    for (int i = 0; i < MAX_NAME_TRIES; i++) {
        snprintf(made, size, "%s/.%.*s.tmp-%ld-%d", parent, KEPT_OF_NAME, name, (long)getpid(), i);
        if (lstat(made, &found) != 0 && errno == ENOENT) {
            *temporary = made;
            return STATUS_OK;
        }
    }
    status = error_system(error, errno, "cannot make a temporary file beside '%s'", path);
    free(made);
    return status;
}

enum status durable_replace(char **temporary, const char *path, struct error *error)
{
    char parent[DURABLE_PATH];
    enum status status = durable_parent(path, parent, error);
    if (status)
        return status;
    int file = open(*temporary, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return error_system(error, errno, "cannot open '%s'", *temporary);
    status = durable_sync(file, *temporary, error);
    close(file);
    if (status)
        return status;
    if (rename(*temporary, path) != 0)
        return error_system(error, errno, "cannot rename '%s' to '%s'", *temporary, path);
    status = durable_sync_directory(parent, error);
    if (!status) {
        free(*temporary);
        *temporary = NULL;
    }
    return status;
}

void durable_drop(char **temporary)
{
    if (*temporary)
        unlink(*temporary);
    free(*temporary);
    *temporary = NULL;
}

enum status durable_write(const char *path, mode_t mode, const void *bytes, size_t n_byte, struct error *error)
{
    char *temporary;
    size_t done = 0;
    enum status status = durable_temporary(path, &temporary, error);
    if (status)
        return status;
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    for (ssize_t n = 0; file >= 0 && done < n_byte && (n >= 0 || errno == EINTR); done += n > 0 ? (size_t)n : 0)
        n = write(file, (const char *)bytes + done, n_byte - done);
    if (file < 0 || done < n_byte)
        status = error_system(error, errno, "cannot write '%s'", temporary);
    if (file >= 0 && close(file) != 0 && !status)
        status = error_system(error, errno, "cannot write '%s'", temporary);
    if (!status)
        status = durable_replace(&temporary, path, error);
    durable_drop(&temporary);
    return status;
}

void stamp_take(struct stamp *stamp, const char *path)
{
    struct stat found;
    *stamp = (struct stamp){.is_taken = true};
    if (stat(path, &found) != 0)
        return;
    stamp->is_there = true;
    stamp->device = (uint64_t)found.st_dev;
    stamp->inode = (uint64_t)found.st_ino;
    stamp->size = (uint64_t)found.st_size;
    stamp->changed_s = (int64_t)found.st_mtim.tv_sec;
    stamp->changed_ns = (int64_t)found.st_mtim.tv_nsec;
}

bool stamp_holds(const struct stamp *stamp, const char *path)
{
    struct stamp now;
    stamp_take(&now, path);
    if (!stamp->is_taken)
        return true;
    return now.is_there == stamp->is_there && now.device == stamp->device && now.inode == stamp->inode &&
           now.size == stamp->size && now.changed_s == stamp->changed_s && now.changed_ns == stamp->changed_ns;
}
