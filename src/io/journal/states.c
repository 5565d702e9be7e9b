/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/states.h"

#include "base/arena.h"
#include "base/bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 80, PATH = 4200, FIRST = FRAME_HEAD + STATES_OWNER };

struct states_folder {
    uint32_t n_task;
    unsigned char identity[32];
    uint64_t *fit; /* n, increasing: the fits that have a file */
    size_t n;
    char path[];
};

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Reads exactly DATASET-TASK.state, as states_write names it; or, before it has replaced that,
 * DATASET-TASK.PROCESS (*is_new). */
static bool read_name(const char *name, uint64_t *dataset, uint32_t *task, bool *is_new)
{
    char again[NAME];
    long process = 0;
    int n = sscanf(name, "%" SCNu64 "-%" SCNu32 ".%ld", dataset, task, &process);
    *is_new = n == 3;
    if (n == 2)
        snprintf(again, sizeof again, "%" PRIu64 "-%" PRIu32 ".state", *dataset, *task);
    else
        snprintf(again, sizeof again, "%" PRIu64 "-%" PRIu32 ".%ld", *dataset, *task, process);
    return n >= 2 && strcmp(name, again) == 0;
}

/* False: out of memory. */
static bool list_files(struct states_folder *folder)
{
    size_t capacity = 0;
    struct dirent *entry;
    DIR *list = opendir(folder->path);
    bool good = true;
    while (list && good && (entry = readdir(list))) {
        uint64_t dataset;
        uint32_t task;
        bool is_new;
        if (!read_name(entry->d_name, &dataset, &task, &is_new) || is_new ||
            task >= folder->n_task || dataset > UINT64_MAX / folder->n_task - 1)
            continue;
        good = array_grow(&folder->fit, folder->n, &capacity, sizeof *folder->fit);
        if (good)
            folder->fit[folder->n++] = dataset * folder->n_task + task;
    }
    if (list)
        closedir(list);
    if (folder->n)
        qsort(folder->fit, folder->n, sizeof *folder->fit, compare_numbers);
    return good;
}

struct states_folder *states_folder_new(const char *journal, const struct run_identity *identity)
{
    size_t size = strlen(journal) + sizeof STATES_FOLDER + 1;
    struct states_folder *folder = calloc(1, sizeof *folder + size);
    if (!folder)
        return NULL;
    snprintf(folder->path, size, "%s/%s", journal, STATES_FOLDER);
    folder->n_task = identity_n_task(identity);
    identity_digest(identity, folder->identity);
    if (list_files(folder))
        return folder;
    states_folder_free(folder);
    return NULL;
}

void states_folder_free(struct states_folder *folder)
{
    if (!folder)
        return;
    free(folder->fit);
    free(folder);
}

bool states_has(const struct states_folder *folder, uint64_t fit)
{
    return folder->n && bsearch(&fit, folder->fit, folder->n, sizeof fit, compare_numbers);
}

/* Checks the name, and that the content begins with a frame or was never written. */
static bool is_ours(int directory, const char *name)
{
    unsigned char begin[3];
    struct stat found;
    uint64_t dataset;
    uint32_t task;
    bool is_new;
    if (!read_name(name, &dataset, &task, &is_new))
        return false;
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    ssize_t n =
        fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? read(file, begin, sizeof begin) : -1;
    close(file);
    return n >= 0 && memcmp(begin, "STF", (size_t)n) == 0;
}

enum status states_remove(const char *journal, struct error *error)
{
    char path[PATH], foreign[256] = "";
    enum status status = STATUS_OK;
    snprintf(path, sizeof path, "%s/%s", journal, STATES_FOLDER);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = directory < 0 ? NULL : fdopendir(directory);
    struct dirent *entry;
    if (!list) {
        int failure = errno;
        if (directory >= 0)
            close(directory);
        if (failure == ENOENT)
            return STATUS_OK;
        return error_system(error, failure, "cannot remove '%s'", path);
    }
    while ((entry = readdir(list))) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (!is_ours(directory, name))
            snprintf(foreign, sizeof foreign, "%s", name);
        else if (unlinkat(directory, name, 0) != 0 && errno != ENOENT && !status)
            status = error_system(error, errno, "cannot remove '%s/%s'", path, name);
    }
    closedir(list);
    if (!status && foreign[0])
        status = error_set(error, STATUS_SYSTEM,
                           "the directory '%s' is kept: '%s' in it was not written by stiffit",
                           path, foreign);
    if (!status && rmdir(path) != 0 && errno != ENOENT)
        status = error_system(error, errno, "cannot remove the directory '%s'", path);
    return status;
}

static char *path_of(const struct states_folder *folder, uint64_t fit, char path[PATH])
{
    snprintf(path, PATH, "%s/%" PRIu64 "-%" PRIu32 ".state", folder->path, fit / folder->n_task,
             (uint32_t)(fit % folder->n_task));
    return path;
}

/* The first frame; returns the seed of the second one. */
static uint32_t put_first(const struct states_folder *folder, uint64_t fit,
                          unsigned char first[FIRST])
{
    memcpy(first + FRAME_HEAD, folder->identity, 32);
    bytes_put_32(bytes_put_64(first + FRAME_HEAD + 32, fit / folder->n_task),
                 (uint32_t)(fit % folder->n_task));
    frame_seal(first, FRAME_RUN, FRAME_FORMAT, STATES_OWNER, 0);
    return frame_crc(first);
}

/* Exactly n bytes. */
static bool read_all(int file, unsigned char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t got = read(file, bytes, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        bytes += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The second frame's payload, if it is whole. */
static unsigned char *read_state(int file, uint32_t seed, size_t *n)
{
    unsigned char head[FRAME_HEAD], *bytes = NULL;
    struct frame frame;
    if (!read_all(file, head, sizeof head) || !frame_look(head, sizeof head, &frame) ||
        frame.type != FRAME_STATE || frame.length > STATES_LIMIT ||
        !(bytes = malloc(FRAME_HEAD + frame.length)))
        return NULL;
    memcpy(bytes, head, sizeof head);
    bool is_good = read_all(file, bytes + FRAME_HEAD, frame.length) &&
                   frame_is_good(bytes, FRAME_HEAD + frame.length, &frame, seed);
    *n = frame.length;
    memmove(bytes, bytes + FRAME_HEAD, is_good ? frame.length : 0);
    if (is_good)
        return bytes;
    free(bytes);
    return NULL;
}

unsigned char *states_read(const struct states_folder *folder, uint64_t fit, size_t *n)
{
    unsigned char first[FIRST], found[FIRST], *bytes = NULL;
    char path[PATH];
    struct stat kind;
    uint32_t seed = put_first(folder, fit, first);
    int file = open(path_of(folder, fit, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &kind) == 0 && S_ISREG(kind.st_mode) && read_all(file, found, sizeof found) &&
        memcmp(found, first, sizeof first) == 0)
        bytes = read_state(file, seed, n);
    close(file);
    return bytes;
}

static int write_all(int file, const unsigned char *bytes, size_t n)
{
    while (n) {
        ssize_t written = write(file, bytes, n);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written == 0)
            return ENOSPC;
        if (written > 0) {
            bytes += written;
            n -= (size_t)written;
        }
    }
    return 0;
}

/* Returns 0 or an errno; ENOENT: the journal has disappeared. */
static int create(const struct states_folder *folder, const char *path, int *file)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    *file = open(path, flags, 0666);
    if (*file < 0 && errno == ENOENT) {
        if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
            return errno;
        *file = open(path, flags, 0666);
    }
    return *file < 0 ? errno : 0;
}

enum status states_write(const struct states_folder *folder, uint64_t fit, bool *is_there,
                         unsigned char *bytes, size_t n, bool syncs, struct error *error)
{
    char path[PATH], other[PATH];
    struct stat found;
    int file;
    bool was_there = *is_there;
    path_of(folder, fit, path);
    snprintf(other, sizeof other, "%.*s.%ld", (int)(strlen(path) - sizeof "state"), path,
             (long)getpid());
    uint32_t seed = put_first(folder, fit, bytes);
    frame_seal(bytes + FIRST, FRAME_STATE, 0, n, seed);
    *is_there = false;
    if (was_there && lstat(path, &found) != 0 && errno == ENOENT)
        return STATUS_OK;
    int failure = create(folder, other, &file);
    bool is_created = !failure;
    if (is_created)
        failure = write_all(file, bytes, STATES_HEAD + n);
    if (is_created && !failure && syncs && fsync(file) != 0 && errno != EINVAL)
        failure = errno;
    if (is_created && close(file) != 0 && !failure)
        failure = errno;
    if (!failure && rename(other, path) != 0)
        failure = errno;
    *is_there = !failure || (was_there && failure != ENOENT);
    if (!failure || failure == ENOENT)
        return STATUS_OK;
    if (is_created)
        unlink(other);
    return error_system(error, failure, "cannot write '%s'", path);
}

void states_drop(const struct states_folder *folder, uint64_t fit)
{
    char path[PATH];
    unlink(path_of(folder, fit, path));
}
