/* Appends to the journal, complete records by one write(2) to a file that only this process writes, and removes journals.
 *
 * Threads need no lock: O_APPEND puts the bytes of each after all others, and the kernel serialises writes to an open file.
 * Only a partial write (a full disk) needs care.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal.h"

#include "base/process.h"
#include "io/answers.h"
#include "io/durable.h"
#include "io/journal_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ON_STACK = 4096, MAX_NAME_TRIES = 100 };

struct journal {
    int file;
    size_t n_parameter;
    uint32_t n_start;
    char path[];
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

/* With host and process number it identifies a process for good. */
static uint64_t start_time(void)
{
    uint64_t value = process_number(PROCESS_START_TIME);
    return value ? value : (uint64_t)time(NULL);
}

static void host_name(char host[65])
{
    char name[257] = "";
    if (gethostname(name, sizeof name - 1) != 0 || !name[0])
        strcpy(name, "host");
    size_t n = strnlen(name, 64);
    for (size_t i = 0; i < n; i++)
        host[i] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", name[i]) ? name[i] : '_';
    host[n] = '\0';
    if (host[0] == '.')
        host[0] = '_';
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

static enum status create_file(struct journal *journal, size_t path_size, const char *directory, struct error *error)
{
    char host[65];
    host_name(host);
    uint64_t started = start_time();
    for (unsigned i = 0; i < MAX_NAME_TRIES; i++) {
        snprintf(journal->path, path_size, "%s/%s-%ld-%" PRIu64 "-%016" PRIx64 ".log", directory, host, (long)getpid(),
                 started, random_word(i));
        journal->file = open(journal->path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (journal->file >= 0)
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
        if (pread(file, piece, n_piece, *start + (off_t)at) != (ssize_t)n_piece || memcmp(piece, bytes + at, n_piece))
            return false;
    }
    return true;
}

/* Appends everything or returns an error. A record torn by a full disk is cut off again, unless another thread's record follows
 * it: then readers skip the torn one. */
enum status journal_append_bytes(struct journal *journal, const unsigned char *bytes, size_t n, struct error *error)
{
    size_t done = 0;
    int failure = 0;
    off_t start;
    while (done < n && !failure) {
        ssize_t written = write(journal->file, bytes + done, n - done);
        if (written > 0)
            done += (size_t)written;
        else if (written < 0 && errno != EINTR)
            failure = errno;
        else if (written == 0)
            failure = ENOSPC;
        if (!failure && done < n && done && !is_tail(journal->file, bytes, done, &start))
            done = 0; /* another record came in between: try again after it */
    }
    if (!failure)
        return STATUS_OK;
    if (done && is_tail(journal->file, bytes, done, &start) && ftruncate(journal->file, start) != 0)
        done = 0; /* nothing more can be done: readers skip it */
    bool full = failure == ENOSPC || failure == EDQUOT || failure == EFBIG;
    return error_system(error, failure, "cannot append to the journal '%s'; what is in it is safe%s", journal->path,
                        full ? ": make room on that disk and run the same command again" : "");
}

enum status journal_open(struct journal **journal, const char *directory, const struct run_identity *identity,
                         struct error *error)
{
    unsigned char header[JOURNAL_HEADER_SIZE];
    *journal = NULL;
    if (identity->n_parameter > JOURNAL_MAX_PARAMETER)
        return error_set(error, STATUS_BAD_PROBLEM, "%u parameters are more than the %d that a journal can hold",
                         (unsigned)identity->n_parameter, JOURNAL_MAX_PARAMETER);
    enum status status = make_directory(directory, error);
    if (status)
        return status;
    size_t path_size = strlen(directory) + 160;
    struct journal *made = malloc(sizeof *made + path_size);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the journal");
    made->file = -1;
    made->n_parameter = identity->n_parameter;
    made->n_start = identity->n_start;
    status = create_file(made, path_size, directory, error);
    if (status)
        goto done;
    journal_encode_header(identity, header);
    status = journal_append_bytes(made, header, sizeof header, error);
    if (!status)
        status = durable_sync(made->file, made->path, error);
    if (!status)
        status = durable_sync_directory(directory, error);
    if (status)
        unlink(made->path);
done:
    if (status)
        journal_close(made);
    else
        *journal = made;
    return status;
}

size_t journal_size(const struct journal *journal, const struct fit_record *record)
{
    return journal_record_size(record, journal->n_parameter, journal->n_start);
}

size_t journal_encode(const struct journal *journal, const struct fit_record *record, unsigned char *bytes)
{
    return journal_encode_record(record, journal->n_parameter, journal->n_start, bytes);
}

enum status journal_append(struct journal *journal, const struct fit_record *record, struct error *error)
{
    unsigned char here[ON_STACK], *bytes = here;
    size_t size = journal_size(journal, record);
    if (size > sizeof here) {
        bytes = malloc(size);
        if (!bytes)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for a record of the journal");
    }
    size_t n = journal_encode(journal, record, bytes);
    enum status status = journal_append_bytes(journal, bytes, n, error);
    if (bytes != here)
        free(bytes);
    return status;
}

enum status journal_sync(struct journal *journal, struct error *error)
{
    return durable_sync(journal->file, journal->path, error);
}

bool journal_is_gone(const struct journal *journal)
{
    struct stat found;
    return fstat(journal->file, &found) == 0 && found.st_nlink == 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->file >= 0)
        close(journal->file);
    free(journal);
}

/* Recognises a journal's file by name and content: a header that begins as ours do, or was never written. Also the companion,
 * finished or left under its temporary name. */
static bool is_ours(int directory, const char *name)
{
    static const char *const beside[] = {JOURNAL_COMPANION, "." JOURNAL_COMPANION ".tmp-",
                                         JOURNAL_PLAN, "." JOURNAL_PLAN ".tmp-",
                                         JOURNAL_STATE, "." JOURNAL_STATE ".tmp-"};
    unsigned char begin[4];
    struct stat found;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (i % 2 ? !strncmp(name, beside[i], strlen(beside[i])) : !strcmp(name, beside[i]))
            return fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode);
    if (!journal_is_name(name))
        return false;
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t n = fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? read(file, begin, sizeof begin) : -1;
    close(file);
    return n >= 0 && memcmp(begin, "STFJ", (size_t)n) == 0;
}

enum status journal_remove(const char *directory, struct error *error)
{
    enum status status = STATUS_OK;
    DIR *list = opendir(directory);
    if (!list)
        return errno == ENOENT ? STATUS_OK : error_system(error, errno, "cannot remove the journal '%s'", directory);
    struct dirent *entry;
    char foreign[256] = "";
    while ((entry = readdir(list))) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (!strcmp(name, ANSWERS_FOLDER)) {
            if ((status = answers_remove(directory, error)))
                goto done;
        } else if (!is_ours(dirfd(list), name)) {
            snprintf(foreign, sizeof foreign, "%s", name);
        } else if (unlinkat(dirfd(list), name, 0) != 0 && errno != ENOENT) {
            status = error_system(error, errno, "cannot remove '%s/%s'", directory, name);
            goto done;
        }
    }
    if (foreign[0])
        status = error_set(error, STATUS_SYSTEM, "the journal's directory '%s' is kept: '%s' in it is not a journal file",
                           directory, foreign);
    else if (rmdir(directory) != 0 && errno != ENOENT)
        status = error_system(error, errno, "cannot remove the journal's directory '%s'", directory);
done:
    closedir(list);
    return status;
}
