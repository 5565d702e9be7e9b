/* The steps that put a file safely on disk under its name (man fsync: the directory, too).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/file/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

enum status durable_temporary(const char *path, char **temporary, struct error *error)
{
    struct destination destination;
    *temporary = NULL;
    enum status status = destination_find_file(&destination, path, error);
    return status ? status : destination_temporary(destination.path, temporary, error);
}

enum status durable_replace(char **temporary, const char *path, struct error *error)
{
    char parent[DURABLE_PATH];
    struct destination destination;
    enum status status = destination_find_file(&destination, path, error);
    if (!status)
        status = destination_parent(destination.path, parent, error);
    if (status)
        return status;
    int file = open(*temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return error_system(error, errno, "cannot open '%s'", *temporary);
    status = durable_sync(file, *temporary, error);
    close(file);
    if (status)
        return status;
    if (rename(*temporary, destination.path) != 0)
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

enum status durable_write(const char *path, mode_t mode, const void *bytes, size_t n_byte,
                          struct error *error)
{
    char *temporary;
    size_t done = 0;
    enum status status = durable_temporary(path, &temporary, error);
    if (status)
        return status;
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    for (ssize_t n = 0; file >= 0 && done < n_byte && (n >= 0 || errno == EINTR);
         done += n > 0 ? (size_t)n : 0)
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
    return now.is_there == stamp->is_there && now.device == stamp->device &&
           now.inode == stamp->inode && now.size == stamp->size &&
           now.changed_s == stamp->changed_s && now.changed_ns == stamp->changed_ns;
}
