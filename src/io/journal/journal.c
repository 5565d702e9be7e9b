/* Journals: appends to them, and removes them. A record is appended by one write(2) to a file that
 * only this process writes: threads need no lock, because O_APPEND puts the bytes of each after all
 * others, and the kernel serialises writes to an open file; only a partial write (a full disk)
 * needs care.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/journal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "io/journal/states.h"
#include "io/file/durable.h"
#include "io/journal/process.h"
#include "io/journal/record_frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ON_STACK = 4096, MAX_NAME_TRIES = 100 };

/* A file, which begins with the journal's first frame. */
struct log_file {
    int file;
    char *path;
};

struct journal {
    struct log_file records;
    size_t n_parameter;
    uint32_t n_start, seed;
    int64_t touched_ns;   /* when the time of the records' file was last set */
    char directory[];
};

static const char what[] = "the directory of the run's journal";

enum status journal_check_directory(const char *directory, struct error *error)
{
    return destination_check_folder(directory, what, error);
}

static enum status make_directory(const char *directory, struct error *error)
{
    char parent[DURABLE_PATH];
    bool is_there = access(directory, F_OK) == 0;
    enum status status = destination_folder(directory, what, error);
    if (status || is_there)
        return status;
    status = destination_parent(directory, parent, error);
    return status ? status : durable_sync_directory(parent, error);
}

static uint64_t random_word(uint64_t salt)
{
    uint64_t word;
    if (getrandom(&word, sizeof word, 0) == (ssize_t)sizeof word)
        return word;
    struct timespec now; /* O_EXCL makes names unique */
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)now.tv_nsec << 32) ^ (uint64_t)now.tv_sec ^ (salt << 48);
}

static enum status make_file(struct log_file *log, const char *directory, struct error *error)
{
    char name[JOURNAL_NAME];
    size_t size = strlen(directory) + sizeof name + 1;
    if (!log->path && !(log->path = malloc(size)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the journal");
    for (unsigned i = 0; i < MAX_NAME_TRIES; i++) {
        journal_name(name, random_word(i));
        snprintf(log->path, size, "%s/%s", directory, name);
        log->file = open(log->path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (log->file >= 0)
            return STATUS_OK;
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    return error_system(error, errno, "cannot make a journal file in '%s'", directory);
}

/* Whether the file ends with these n bytes; *start: where they begin. */
static bool is_tail(int file, const unsigned char *bytes, size_t n, off_t *start)
{
    unsigned char piece[1024];
    struct stat found;
    if (fstat(file, &found) != 0 || found.st_size < (off_t)n)
        return false;
    *start = found.st_size - (off_t)n;
    for (size_t at = 0; at < n; at += sizeof piece) {
        size_t n_piece = n - at < sizeof piece ? n - at : sizeof piece;
        if (pread(file, piece, n_piece, *start + (off_t)at) != (ssize_t)n_piece ||
            memcmp(piece, bytes + at, n_piece))
            return false;
    }
    return true;
}

/* Appends everything or returns an error. A frame torn by a full disk is cut off again, unless
 * another thread's follows it: then readers skip the torn one. */
static enum status append(const struct log_file *log, const unsigned char *bytes, size_t n,
                          struct error *error)
{
    size_t done = 0;
    int failure = 0;
    off_t start;
    while (done < n && !failure) {
        ssize_t written = write(log->file, bytes + done, n - done);
        if (written > 0)
            done += (size_t)written;
        else if (written < 0 && errno != EINTR)
            failure = errno;
        else if (written == 0)
            failure = ENOSPC;
        if (!failure && done < n && done && !is_tail(log->file, bytes, done, &start))
            done = 0; /* another record came in between: try again after it */
    }
    if (!failure)
        return STATUS_OK;
    if (done && is_tail(log->file, bytes, done, &start)) {
        int ignored = ftruncate(log->file, start); /* otherwise readers skip what is left */
        (void)ignored;
    }
    bool full = failure == ENOSPC || failure == EDQUOT || failure == EFBIG;
    return error_system(error, failure,
                        "cannot append to the journal '%s'; what is in it is safe%s", log->path,
                        full ? ": make room on that disk and run the same command again" : "");
}

/* A new file that begins with these bytes and will be found after a power failure. */
static enum status begin_file(struct log_file *log, const char *directory,
                              const unsigned char *bytes, size_t n, struct error *error)
{
    enum status status = make_file(log, directory, error);
    if (status)
        return status;
    status = append(log, bytes, n, error);
    if (!status)
        status = durable_sync(log->file, log->path, error);
    if (!status)
        status = durable_sync_directory(directory, error);
    if (status)
        unlink(log->path);
    return status;
}

static void close_file(struct log_file *log)
{
    if (log->file >= 0)
        close(log->file);
    free(log->path);
    *log = (struct log_file){.file = -1};
}

/* The first frame of n bytes. NULL: out of memory. */
static unsigned char *make_first(const struct run_identity *identity, const void *plan,
                                 size_t n_plan, size_t *n)
{
    struct timespec now;
    unsigned char *first = malloc(FRAME_HEAD + JOURNAL_PLAN + n_plan);
    if (!first)
        return NULL;
    unsigned char *payload = first + FRAME_HEAD;
    clock_gettime(CLOCK_REALTIME, &now);
    identity_encode(identity, payload);
    bytes_put_64(payload + JOURNAL_MADE,
                 (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
    if (n_plan)
        memcpy(payload + JOURNAL_PLAN, plan, n_plan);
    *n = frame_seal(first, FRAME_RUN, FRAME_FORMAT, JOURNAL_PLAN + n_plan, 0);
    return first;
}

enum status journal_open(struct journal **journal, const char *directory,
                         const struct run_identity *identity, const void *plan, size_t n_plan,
                         struct error *error)
{
    *journal = NULL;
    if (identity->n_parameter > IDENTITY_MAX_PARAMETER)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%u parameters are more than the %d that a journal can hold",
                         (unsigned)identity->n_parameter, IDENTITY_MAX_PARAMETER);
    enum status status = make_directory(directory, error);
    if (status)
        return status;
    size_t n = 0;
    struct journal *made = calloc(1, sizeof *made + strlen(directory) + 1);
    unsigned char *first = made ? make_first(identity, plan, n_plan, &n) : NULL;
    if (!first) {
        free(made);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the journal");
    }
    made->records.file = -1;
    made->n_parameter = identity->n_parameter;
    made->n_start = identity->n_start;
    made->touched_ns = clock_now_ns();
    strcpy(made->directory, directory);
    made->seed = frame_crc(first);
    status = begin_file(&made->records, directory, first, n, error);
    free(first);
    if (status)
        journal_close(made);
    else
        *journal = made;
    return status;
}

size_t journal_size(const struct journal *journal, const struct fit_record *record)
{
    return FRAME_HEAD + record_frame_size(record, journal->n_parameter, journal->n_start);
}

size_t journal_encode(const struct journal *journal, const struct fit_record *record,
                      unsigned char *bytes)
{
    size_t n = record_frame_encode(record, journal->n_parameter, journal->n_start,
                                   bytes + FRAME_HEAD);
    return frame_seal(bytes, FRAME_RECORD, 0, n, journal->seed);
}

enum status journal_append_bytes(struct journal *journal, const unsigned char *bytes, size_t n,
                                 struct error *error)
{
    return append(&journal->records, bytes, n, error);
}

enum status journal_append(struct journal *journal, const struct fit_record *record,
                           struct error *error)
{
    unsigned char here[ON_STACK], *bytes = here;
    size_t size = journal_size(journal, record);
    if (size > sizeof here) {
        bytes = malloc(size);
        if (!bytes)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for a record of the journal");
    }
    size_t n = journal_encode(journal, record, bytes);
    enum status status = append(&journal->records, bytes, n, error);
    if (bytes != here)
        free(bytes);
    return status;
}

enum status journal_keep(struct journal *journal, enum frame_type type, uint32_t number,
                         const void *bytes, size_t n, struct error *error)
{
    if (n > UINT32_MAX) /* what a frame's head can say */
        return error_set(error, STATUS_SYSTEM,
                         "%s: the state of the run is %zu bytes long; the journal takes 4 GiB",
                         journal->directory, n);
    unsigned char *frame = malloc(FRAME_HEAD + n);
    if (!frame)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the journal");
    if (n)
        memcpy(frame + FRAME_HEAD, bytes, n);
    size_t size = frame_seal(frame, type, number, n, journal->seed);
    enum status status = append(&journal->records, frame, size, error);
    free(frame);
    return status ? status : durable_sync(journal->records.file, journal->records.path, error);
}

enum status journal_sync(struct journal *journal, struct error *error)
{
    int64_t now = clock_now_ns();
    if (now - journal->touched_ns > JOURNAL_TOUCH_S * INT64_C(1000000000)) {
        journal->touched_ns = now;
        (void)futimens(journal->records.file, NULL); /* if it fails, only `status` knows less */
    }
    return durable_sync(journal->records.file, journal->records.path, error);
}

bool journal_is_gone(const struct journal *journal)
{
    struct stat found;
    return fstat(journal->records.file, &found) == 0 && found.st_nlink == 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    close_file(&journal->records);
    free(journal);
}

/* Files of earlier formats, beside those with a process's name; finished or left under their
 * temporary names. */
static bool is_old_name(const char *name)
{
    static const char *const old[] = {"header.h5", "plan", "state", "population"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        size_t n = strlen(old[i]);
        if (!strcmp(name, old[i]) ||
            (*name == '.' && !strncmp(name + 1, old[i], n) && !strncmp(name + 1 + n, ".tmp-", 5)))
            return true;
    }
    return false;
}

/* Recognises a journal's file by name and content: a first frame that begins as ours do, or was
 * never written. One that another process has just removed was ours. */
static bool is_ours(int directory, const char *name)
{
    unsigned char begin[4];
    struct stat found;
    if (is_old_name(name))
        return fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) == 0 ? S_ISREG(found.st_mode)
                                                                          : errno == ENOENT;
    if (!journal_is_name(name))
        return false;
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    ssize_t n =
        fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? read(file, begin, sizeof begin) : -1;
    close(file);
    return n >= 0 && memcmp(begin, "STFJ", (size_t)n) == 0;
}

enum status journal_remove(const char *directory, struct error *error)
{
    enum status status = STATUS_OK;
    DIR *list = opendir(directory);
    if (!list)
        return errno == ENOENT
                   ? STATUS_OK
                   : error_system(error, errno, "cannot remove the journal '%s'", directory);
    struct dirent *entry;
    char foreign[256] = "";
    while ((entry = readdir(list))) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (!strcmp(name, STATES_FOLDER)) {
            if ((status = states_remove(directory, error)))
                goto done;
        } else if (!is_ours(dirfd(list), name)) {
            snprintf(foreign, sizeof foreign, "%s", name);
        } else if (unlinkat(dirfd(list), name, 0) != 0 && errno != ENOENT) {
            status = error_system(error, errno, "cannot remove '%s/%s'", directory, name);
            goto done;
        }
    }
    if (foreign[0])
        status = error_set(error, STATUS_SYSTEM,
                           "the journal's directory '%s' is kept: '%s' in it is not a journal file",
                           directory, foreign);
    else if (rmdir(directory) != 0 && errno != ENOENT)
        status =
            error_system(error, errno, "cannot remove the journal's directory '%s'", directory);
done:
    closedir(list);
    return status;
}

