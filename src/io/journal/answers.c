/* Answers, appended to files and read back. A file is open only for a moment, since thousands of
 * fits may have one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/answers.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "io/journal/frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWNER = 32 + 8 + 4, FIRST = FRAME_HEAD + OWNER, WINDOW = 64 * 1024, NAME = 48 };

struct answers_folder {
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

/* Reads exactly DATASET-TASK.log, as answers_flush writes it. */
static bool read_name(const char *name, uint64_t *dataset, uint32_t *task)
{
    char again[NAME];
    if (sscanf(name, "%" SCNu64 "-%" SCNu32 ".log", dataset, task) != 2)
        return false;
    snprintf(again, sizeof again, "%" PRIu64 "-%" PRIu32 ".log", *dataset, *task);
    return strcmp(name, again) == 0;
}

/* False: out of memory. */
static bool list_files(struct answers_folder *folder)
{
    size_t capacity = 0;
    struct dirent *entry;
    DIR *list = opendir(folder->path);
    bool good = true;
    while (list && good && (entry = readdir(list))) {
        uint64_t dataset;
        uint32_t task;
        if (!read_name(entry->d_name, &dataset, &task) || task >= folder->n_task ||
            dataset > UINT64_MAX / folder->n_task - 1)
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

struct answers_folder *answers_folder_new(const char *journal, const struct run_identity *identity)
{
    size_t size = strlen(journal) + sizeof ANSWERS_FOLDER + 1;
    struct answers_folder *folder = calloc(1, sizeof *folder + size);
    if (!folder)
        return NULL;
    snprintf(folder->path, size, "%s/%s", journal, ANSWERS_FOLDER);
    folder->n_task = identity_n_task(identity);
    identity_digest(identity, folder->identity);
    if (list_files(folder))
        return folder;
    answers_folder_free(folder);
    return NULL;
}

void answers_folder_free(struct answers_folder *folder)
{
    if (!folder)
        return;
    free(folder->fit);
    free(folder);
}

size_t answers_folder_n(const struct answers_folder *folder) { return folder->n; }

/* Checks the name, and that the content begins with a frame or was never written. */
static bool is_ours(int directory, const char *name)
{
    unsigned char begin[3];
    struct stat found;
    uint64_t dataset;
    uint32_t task;
    if (!read_name(name, &dataset, &task))
        return false;
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    ssize_t n =
        fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? read(file, begin, sizeof begin) : -1;
    close(file);
    return n >= 0 && memcmp(begin, "STF", (size_t)n) == 0;
}

enum status answers_remove(const char *journal, struct error *error)
{
    char path[4096], foreign[256] = "";
    enum status status = STATUS_OK;
    snprintf(path, sizeof path, "%s/%s", journal, ANSWERS_FOLDER);
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

static char *path_of(const struct answers *answers, char *path, size_t n)
{
    uint32_t n_task = answers->folder->n_task;
    snprintf(path, n, "%s/%" PRIu64 "-%" PRIu32 ".log", answers->folder->path,
             answers->fit / n_task, (uint32_t)(answers->fit % n_task));
    return path;
}

/* The seed of the frames that follow. */
static uint32_t first_of(const struct answers *answers, unsigned char first[FIRST])
{
    uint32_t n_task = answers->folder->n_task;
    memcpy(first + FRAME_HEAD, answers->folder->identity, 32);
    bytes_put_32(bytes_put_64(first + FRAME_HEAD + 32, answers->fit / n_task),
                 (uint32_t)(answers->fit % n_task));
    frame_seal(first, FRAME_RUN, FRAME_FORMAT, OWNER, 0);
    return frame_crc(first);
}

/* Stops reading and keeping; an existing file stays. */
static void stop(struct answers *answers)
{
    answers->folder = NULL;
    answers->is_reading = false;
    answers->at = answers->size = answers->given = 0;
}

static bool reserve(struct answers *answers, size_t capacity)
{
    if (capacity <= answers->capacity)
        return true;
    if (capacity < 2 * answers->capacity)
        capacity = 2 * answers->capacity;
    unsigned char *more = realloc(answers->buffer, capacity);
    if (!more)
        return false;
    answers->buffer = more;
    answers->capacity = capacity;
    return true;
}

void answers_begin(struct answers *answers, const struct answers_folder *folder, uint64_t fit,
                   size_t max_payload)
{
    unsigned char *buffer = answers->buffer;
    size_t capacity = answers->capacity;
    *answers =
        (struct answers){.folder = folder,
                         .fit = fit, .buffer = buffer, .capacity = capacity,
                         .max_payload = max_payload < ANSWERS_LIMIT ? max_payload : ANSWERS_LIMIT};
    answers->is_reading =
        folder && folder->n &&
        bsearch(&fit, folder->fit, folder->n, sizeof fit, compare_numbers) != NULL;
    answers->on_disk = answers->is_reading;
}

void answers_fini(struct answers *answers)
{
    free(answers->buffer);
    *answers = (struct answers){.folder = NULL};
}

/* Brings `need` bytes from `at` on into the buffer. False: the file is shorter, or cannot be
 * read. */
static bool fill(struct answers *answers, size_t need)
{
    if (answers->size - answers->at >= need)
        return true;
    memmove(answers->buffer, answers->buffer + answers->at, answers->size - answers->at);
    answers->size -= answers->at;
    answers->at = 0;
    if (!reserve(answers, need > WINDOW ? need : WINDOW))
        return false;
    char path[4200];
    struct stat found;
    int file =
        open(path_of(answers, path, sizeof path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t n = fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? 1 : 0;
    while (n > 0 && answers->size < answers->capacity) {
        n = pread(file, answers->buffer + answers->size, answers->capacity - answers->size,
                  answers->offset);
        if (n < 0 && errno == EINTR) {
            n = 1;
        } else if (n > 0) {
            answers->size += (size_t)n;
            answers->offset += n;
        }
    }
    close(file);
    return answers->size >= need;
}

/* The next flush will cut off everything from `end` on. */
static const unsigned char *end_reading(struct answers *answers)
{
    answers->is_reading = false;
    answers->cut = true;
    answers->at = answers->size = answers->given = 0;
    return NULL;
}

const unsigned char *answers_next(struct answers *answers, size_t *n)
{
    unsigned char first[FIRST];
    struct frame frame;
    if (!answers->is_reading)
        return NULL;
    uint32_t seed = first_of(answers, first);
    if (!answers->buffer && !reserve(answers, WINDOW))
        return end_reading(answers);
    if (answers->end == 0) {
        if (!fill(answers, FIRST) || memcmp(answers->buffer, first, FIRST) != 0)
            return end_reading(answers);
        answers->at = FIRST;
        answers->end = FIRST;
    }
    answers->end += (int64_t)answers->given;
    for (int64_t skipped = 0;;) {
        if (answers->end + skipped > ANSWERS_LIMIT || !fill(answers, FRAME_HEAD))
            return end_reading(answers);
        if (!frame_look(answers->buffer + answers->at, FRAME_HEAD, &frame) ||
            frame.type != FRAME_ANSWER || frame.length > answers->max_payload ||
            !fill(answers, FRAME_HEAD + frame.length))
            return end_reading(answers);
        const unsigned char *bytes = answers->buffer + answers->at;
        if (!frame_is_good(bytes, answers->size - answers->at, &frame, seed))
            return end_reading(answers);
        size_t size = FRAME_HEAD + frame.length;
        answers->at += size;
        if (frame.number == answers->number) {
            answers->end += skipped;
            answers->given = size;
            answers->number++;
            *n = frame.length;
            return bytes + FRAME_HEAD;
        }
        skipped += (int64_t)size;
    }
}

void answers_refuse(struct answers *answers)
{
    if (!answers->is_reading)
        return;
    answers->number--;
    end_reading(answers);
}

/* Frames are not sealed before they are written: most are dropped before. */
unsigned char *answers_add(struct answers *answers, size_t n)
{
    if (!answers->folder || answers->is_reading)
        return NULL;
    if (n > answers->max_payload || !reserve(answers, answers->size + FRAME_HEAD + n)) {
        answers_drop(answers);
        return NULL;
    }
    unsigned char *bytes = answers->buffer + answers->size;
    frame_mark(bytes, FRAME_ANSWER, answers->number++, n);
    answers->size += FRAME_HEAD + n;
    return bytes + FRAME_HEAD;
}

static void seal(struct answers *answers, uint32_t seed)
{
    struct frame frame;
    for (size_t at = 0; at < answers->size; at += FRAME_HEAD + frame.length) {
        frame_look(answers->buffer + at, FRAME_HEAD, &frame);
        frame_seal(answers->buffer + at, frame.type, frame.number, frame.length, seed);
    }
}

/* Returns 0 or an errno; ENOENT: the file has disappeared, or the journal has. */
static int open_to_append(const struct answers *answers, const char *path, int *file)
{
    int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                (answers->on_disk ? 0 : O_CREAT);
    *file = open(path, flags, 0666);
    if (*file < 0 && errno == ENOENT && !answers->on_disk) {
        if (mkdir(answers->folder->path, 0777) != 0 && errno != EEXIST)
            return errno;
        *file = open(path, flags, 0666);
    }
    return *file < 0 ? errno : 0;
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

enum status answers_flush(struct answers *answers, struct error *error)
{
    unsigned char first[FIRST];
    char path[4200];
    struct stat found;
    int file;
    if (!answers->folder || answers_pending(answers) == 0)
        return STATUS_OK;
    seal(answers, first_of(answers, first));
    int failure = open_to_append(answers, path_of(answers, path, sizeof path), &file);
    if (failure) {
        stop(answers);
        return failure == ENOENT ? STATUS_OK
                                 : error_system(error, failure, "cannot open '%s'", path);
    }
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode))
        failure = EINVAL;
    else if (answers->cut && found.st_size > answers->end && ftruncate(file, answers->end) != 0)
        failure = errno;
    int64_t size = failure ? 0 : answers->cut ? answers->end : found.st_size;
    bool is_full = size + (int64_t)answers->size + FIRST > ANSWERS_LIMIT;
    answers->on_disk = true;
    answers->cut = false;
    if (!failure && !is_full && size == 0)
        failure = write_all(file, first, sizeof first);
    if (!failure && !is_full)
        failure = write_all(file, answers->buffer, answers->size);
    close(file);
    answers->size = 0;
    if (is_full)
        answers_drop(answers);
    if (!failure)
        return STATUS_OK;
    stop(answers);
    return error_system(error, failure, "cannot append to '%s'", path);
}

void answers_drop(struct answers *answers)
{
    char path[4200];
    if (answers->folder && answers->on_disk)
        unlink(path_of(answers, path, sizeof path));
    stop(answers);
}
