/* The journal. Appends complete records by one write(2) to a file that only this process writes:
 * threads need no lock, because O_APPEND puts the bytes of each after all others, and the kernel
 * serialises writes to an open file; only a partial write (a full disk) needs care. Reads them:
 * one pass over all files of the directory makes an index, 16 bytes per fit; records are then
 * read through a few windows, since they are needed in nearly the order of the files. And
 * removes journals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "io/answers.h"
#include "io/durable.h"
#include "io/journal_format.h"
#include "io/journal_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of a record: its length and checksum; dataset and sizes; a pair of numbers. */
enum { FRAME = 8, PREFIX = 8 + 4, POINT = 16, N_REASON = sizeof((struct fit_record *)0)->reason };
enum { ON_STACK = 4096, MAX_NAME_TRIES = 100 };

/* Numbers of a column in a task's record: refits keep no columns of pairs, which would be too
 * large. */
static size_t task_width(enum fit_column column, size_t n_parameter, bool is_refit)
{
    return is_refit && fit_columns[column].shape == PER_PAIR
             ? 0
             : fit_column_width(column, n_parameter);
}

/* The bytes of all columns of a shape. */
#define ADD_PER_FIT(name, path, kind, shape, ...) +(shape == PER_FIT ? sizeof(fit_type_##kind) : 0)
#define ADD_PER_PARAMETER(name, path, kind, shape, ...) \
    +(shape == PER_PARAMETER ? sizeof(fit_type_##kind) : 0)
#define ADD_PER_PAIR(name, path, kind, shape, ...) \
    +(shape == PER_PAIR ? sizeof(fit_type_##kind) : 0)
enum {
    BYTES_PER_FIT = 0 FIT_COLUMN_LIST(ADD_PER_FIT),
    BYTES_PER_PARAMETER = 0 FIT_COLUMN_LIST(ADD_PER_PARAMETER),
    BYTES_PER_PAIR = 0 FIT_COLUMN_LIST(ADD_PER_PAIR)
};

static size_t columns_size(size_t n_parameter, bool is_refit)
{
    size_t n_pair = is_refit ? 0 : fit_column_width(FIT_COLUMN_COVARIANCE, n_parameter);
    return BYTES_PER_FIT + n_parameter * BYTES_PER_PARAMETER + n_pair * BYTES_PER_PAIR;
}

/* The offset of one of the first columns, which have one number per fit and precede all columns
 * of pairs. */
static size_t column_place(enum fit_column column, size_t n_parameter)
{
    size_t place = FRAME + PREFIX;
    for (int i = 0; i < (int)column; i++)
        place += fit_column_width((enum fit_column)i, n_parameter) *
                 fit_kind_size(fit_columns[i].kind);
    return place;
}

/* The size of the longest record, and of this one. */
static size_t record_max(size_t n_parameter)
{
    return FRAME + PREFIX + columns_size(n_parameter, false) + FIT_MAX_POINT * POINT + N_REASON - 1;
}

static size_t record_size(const struct fit_record *record, size_t n_parameter, uint32_t n_start)
{
    return FRAME + PREFIX + columns_size(n_parameter, record->start >= n_start) +
           record->n_point * (size_t)POINT + strnlen(record->reason, N_REASON - 1);
}

/* Returns the record's size; `out` has room for it. */
static size_t encode_record(const struct fit_record *record, size_t n_parameter, uint32_t n_start,
                            unsigned char *out)
{
    struct fit_record copy = *record; /* fit_column_values returns places that may be written to */
    size_t n_reason = strnlen(record->reason, N_REASON - 1);
    unsigned char *p = bytes_put_32(bytes_put_64(out + FRAME, record->dataset),
                                    (uint32_t)n_reason | (uint32_t)record->limit << 16 |
                                        (uint32_t)record->n_point << 24);
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t width = task_width((enum fit_column)i, n_parameter, record->start >= n_start);
        size_t size = fit_kind_size(fit_columns[i].kind);
        const void *values = fit_column_values((enum fit_column)i, &copy);
        if (values) {
            p = bytes_put(p, values, width, size);
        } else {
            /* a missing array: the value set by fit_record_clear */
            const double number = NAN;
            for (size_t k = 0; k < width; k++)
                p = size == 8 ? bytes_put(p, &number, 1, 8)
                              : bytes_put(p, &(unsigned char){0}, 1, 1);
        }
    }
    p = bytes_put(p, record->point, 2 * (size_t)record->n_point, 8);
    memcpy(p, record->reason, n_reason);
    p += n_reason;
    size_t length = (size_t)(p - out) - FRAME;
    bytes_put_32(bytes_put_32(out, (uint32_t)length), checksum(0, out + FRAME, length));
    return FRAME + length;
}

/* The size that the record at `bytes` claims, without a check of its checksum; 0 if it cannot be
 * a complete record. Cheap. */
static size_t claimed_size(const unsigned char *bytes, size_t n,
                           const struct run_identity *identity)
{
    size_t n_parameter = identity->n_parameter;
    if (n < FRAME + PREFIX + columns_size(n_parameter, true))
        return 0;
    size_t length = bytes_get_32(bytes),
           n_reason = bytes[FRAME + 8] | (size_t)bytes[FRAME + 9] << 8;
    size_t n_point = bytes[FRAME + 11];
    uint32_t start = bytes_get_32(bytes + column_place(FIT_COLUMN_START, n_parameter));
    if (length > n - FRAME || n_reason >= N_REASON || n_point > FIT_MAX_POINT ||
        bytes[FRAME + 10] >= N_LIMIT ||
        length != PREFIX + columns_size(n_parameter, start >= identity->n_start) + n_point * POINT +
                      n_reason)
        return 0;
    return FRAME + length;
}

/* The size of the complete, undamaged record at `bytes`, and the number of its fit; 0 if there
 * is none. */
static size_t check_record(const unsigned char *bytes, size_t n,
                           const struct run_identity *identity, uint64_t *fit)
{
    size_t size = claimed_size(bytes, n, identity), n_parameter = identity->n_parameter;
    if (!size || checksum(0, bytes + FRAME, size - FRAME) != bytes_get_32(bytes + 4))
        return 0;
    uint64_t dataset = bytes_get_64(bytes + FRAME);
    uint32_t start = bytes_get_32(bytes + column_place(FIT_COLUMN_START, n_parameter));
    if (dataset >= identity->n_dataset || start >= identity_n_task(identity) ||
        bytes[column_place(FIT_COLUMN_STATUS, n_parameter)] >= N_OUTCOME)
        return 0;
    *fit = dataset * identity_n_task(identity) + start;
    return size;
}

/* The bytes have been checked; the record's arrays have room, or are NULL. */
static void decode_record(const unsigned char *bytes, size_t n_parameter, uint32_t n_start,
                          struct fit_record *record)
{
    size_t n_reason = bytes[FRAME + 8] | (size_t)bytes[FRAME + 9] << 8;
    const unsigned char *p = bytes + FRAME + PREFIX;
    bool is_refit = bytes_get_32(bytes + column_place(FIT_COLUMN_START, n_parameter)) >= n_start;
    record->dataset = bytes_get_64(bytes + FRAME);
    record->limit = bytes[FRAME + 10];
    record->n_point = bytes[FRAME + 11];
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        size_t width = task_width((enum fit_column)i, n_parameter, is_refit);
        double *values = fit_column_values((enum fit_column)i, record);
        bytes_take(&p, values, width, fit_kind_size(fit_columns[i].kind));
        for (size_t k = width; values && k < fit_column_width((enum fit_column)i, n_parameter); k++)
            values[k] = NAN;
    }
    bytes_take(&p, record->point, 2 * (size_t)record->n_point, 8);
    memcpy(record->reason, p, n_reason);
    record->reason[n_reason] = '\0';
}

struct journal {
    int file;
    int64_t touched_ns; /* when its time was last set */
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
    char name[JOURNAL_NAME];
    for (unsigned i = 0; i < MAX_NAME_TRIES; i++) {
        journal_name(name, random_word(i));
        snprintf(journal->path, path_size, "%s/%s", directory, name);
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
enum status journal_append_bytes(struct journal *journal, const unsigned char *bytes, size_t n,
                                 struct error *error)
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
    made->touched_ns = clock_now_ns();
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
    return record_size(record, journal->n_parameter, journal->n_start);
}

size_t journal_encode(const struct journal *journal, const struct fit_record *record,
                      unsigned char *bytes)
{
    return encode_record(record, journal->n_parameter, journal->n_start, bytes);
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
    int64_t now = clock_now_ns();
    if (now - journal->touched_ns > JOURNAL_TOUCH_S * INT64_C(1000000000)) {
        journal->touched_ns = now;
        (void)futimens(journal->file, NULL); /* if it fails, only `status` knows less */
    }
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
                                         JOURNAL_STATE, "." JOURNAL_STATE ".tmp-",
                                         JOURNAL_POPULATION, "." JOURNAL_POPULATION ".tmp-"};
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

/* A file has a stream of records for each slot of each worker, so windows are many and large:
 * small ones read it ten times. */
enum {
    SCAN_SIZE = 1 << 18,
    WINDOW_STEP = 1 << 16,
    N_WINDOW = 16,
    MAX_FILE = 1 << 16,
    OFFSET_BITS = 48
};

/* Limits the search for the next record after damage, in bytes whose checksum is computed; each
 * place tried also costs a little. Enough for a MiB of garbage, and it limits the time that a
 * forged journal can take. */
enum { SEARCH_BUDGET = 1 << 26, SEARCH_STEP = 64 };

/* Where a fit's record is: the number of the file above 48 bits of offset. Sorted by fit, then
 * place. */
struct entry {
    uint64_t fit, place;
};

struct window {
    uint64_t place; /* of its first byte */
    size_t n;       /* bytes read; 0: unused */
    uint64_t used;  /* time of last use, to find the least recently used */
    unsigned char *bytes;
};

struct journal_reader {
    char *directory;
    char **name;       /* n_file, sorted */
    size_t n_file;
    bool has_identity;
    struct run_identity identity;
    struct entry *entry;
    size_t n_entry, capacity;
    size_t hint;       /* the entry that will probably be needed next */
    uint64_t n_damaged, search_left;
    struct window window[N_WINDOW];
    unsigned char *windows; /* the memory of all of them */
    size_t window_size, most; /* most: the size of the longest record; known with the windows */
    uint64_t clock;
    int file;          /* the file read last, or -1 */
    size_t i_file;
};

static enum status no_memory(const struct journal_reader *reader, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the index of the journal '%s'",
                     reader->directory);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->fit != y->fit)
        return x->fit < y->fit ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static enum status list_files(struct journal_reader *reader, struct error *error)
{
    enum status status = STATUS_OK;
    size_t capacity = 0;
    struct dirent *entry;
    DIR *list = opendir(reader->directory);
    if (!list)
        return errno == ENOENT
                 ? STATUS_OK
                 : error_system(error, errno, "cannot read the journal '%s'", reader->directory);
    while ((entry = readdir(list))) {
        if (!journal_is_name(entry->d_name))
            continue;
        if (reader->n_file == MAX_FILE) {
            status = error_set(error, STATUS_SYSTEM, "the journal '%s' has more than %d files",
                               reader->directory, MAX_FILE);
            goto done;
        }
        if (reader->n_file == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            char **more = realloc(reader->name, capacity * sizeof *more);
            if (!more) {
                status = no_memory(reader, error);
                goto done;
            }
            reader->name = more;
        }
        char *name = strdup(entry->d_name);
        if (!name) {
            status = no_memory(reader, error);
            goto done;
        }
        reader->name[reader->n_file++] = name;
    }
    if (reader->n_file)
        qsort(reader->name, reader->n_file, sizeof *reader->name, compare_names);
done:
    closedir(list);
    return status;
}

/* Opens file i unless it is open already. Only regular files: a pipe of that name must not block
 * us. */
static enum status open_file(struct journal_reader *reader, size_t i, struct error *error)
{
    char path[4096];
    struct stat found;
    if (reader->file >= 0 && reader->i_file == i)
        return STATUS_OK;
    if (reader->file >= 0)
        close(reader->file);
    snprintf(path, sizeof path, "%s/%s", reader->directory, reader->name[i]);
    reader->file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    reader->i_file = i;
    if (reader->file < 0 || fstat(reader->file, &found) != 0)
        return error_system(error, errno, "cannot read '%s'", path);
    if (!S_ISREG(found.st_mode))
        return error_set(error, STATUS_SYSTEM, "cannot read '%s': it is not a regular file", path);
    return STATUS_OK;
}

/* Reads up to n bytes, as many as there are. */
static enum status read_at(struct journal_reader *reader, uint64_t offset, unsigned char *bytes,
                           size_t n, size_t *n_read, struct error *error)
{
    for (*n_read = 0; *n_read < n;) {
        ssize_t got = pread(reader->file, bytes + *n_read, n - *n_read, (off_t)(offset + *n_read));
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return error_system(error, errno, "cannot read '%s/%s'", reader->directory,
                                reader->name[reader->i_file]);
        if (got > 0)
            *n_read += (size_t)got;
    }
    return STATUS_OK;
}

static enum status add_entry(struct journal_reader *reader, uint64_t fit, uint64_t place,
                             struct error *error)
{
    if (reader->n_entry == reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity + reader->capacity / 2 : 1024;
        struct entry *more = realloc(reader->entry, capacity * sizeof *more);
        if (!more)
            return no_memory(reader, error);
        reader->entry = more;
        reader->capacity = capacity;
    }
    reader->entry[reader->n_entry++] = (struct entry){fit, place};
    return STATUS_OK;
}

static enum status check_identity(struct journal_reader *reader, const struct run_identity *found,
                                  const char *name, struct error *error)
{
    char difference[1500];
    if (!reader->has_identity) {
        reader->identity = *found;
        reader->has_identity = true;
    }
    if (identity_equal(found, &reader->identity))
        return STATUS_OK;
    identity_difference(found, &reader->identity, difference, sizeof difference);
    return error_set(
        error, STATUS_SYSTEM,
        "the journal '%s' is of another run (%s): %s. Start again with --restart, which "
        "drops it, or name another result with -o",
        reader->directory, name, difference);
}

/* Indexes the records of the open file; `bytes` holds its first n. After damage (a torn record
 * with another thread's after it, a bad block) it searches for the next record. */
static enum status scan_records(struct journal_reader *reader, unsigned char *bytes, size_t n,
                                size_t size, struct error *error)
{
    size_t most = record_max(reader->identity.n_parameter), at = JOURNAL_HEADER_SIZE;
    uint64_t offset = 0, fit; /* of bytes[0] in the file */
    bool at_end = n < size, damaged = false;
    for (;;) {
        if (n - at < most && !at_end) {
            size_t n_more;
            memmove(bytes, bytes + at, n - at);
            offset += at;
            n -= at;
            at = 0;
            enum status status = read_at(reader, offset + n, bytes + n, size - n, &n_more, error);
            if (status)
                return status;
            n += n_more;
            at_end = n < size;
        }
        size_t n_record = check_record(bytes + at, n - at, &reader->identity, &fit);
        if (n_record == 0) {
            uint64_t cost = SEARCH_STEP + claimed_size(bytes + at, n - at, &reader->identity);
            damaged = damaged || at < n;
            if (at >= n || reader->search_left < cost)
                break;
            reader->search_left -= cost;
            at++;
            continue;
        }
        enum status status = add_entry(
            reader, fit, (uint64_t)reader->i_file << OFFSET_BITS | (offset + at), error);
        if (status)
            return status;
        at += n_record;
    }
    reader->n_damaged += damaged;
    return STATUS_OK;
}

static enum status scan_file(struct journal_reader *reader, size_t i, struct error *error)
{
    struct run_identity found;
    unsigned char *bytes = NULL;
    size_t n, size = SCAN_SIZE;
    enum status status = open_file(reader, i, error);
    if (status)
        return status;
    bytes = malloc(size);
    if (!bytes)
        return no_memory(reader, error);
    status = read_at(reader, 0, bytes, size, &n, error);
    if (status || n == 0) /* empty: its process died before writing */
        goto done;
    switch (journal_decode_header(bytes, n, &found)) {
    case JOURNAL_HEADER_DAMAGED:
        reader->n_damaged++;
        goto done;
    case JOURNAL_HEADER_OTHER:
        status = error_set(
            error, STATUS_SYSTEM,
            "'%s/%s' was written by another version of stiffit: finish that run with "
            "it, or start again with --restart",
            reader->directory, reader->name[i]);
        goto done;
    case JOURNAL_HEADER_GOOD:
        break;
    }
    status = check_identity(reader, &found, reader->name[i], error);
    if (status)
        goto done;
    size_t needed = 2 * record_max(found.n_parameter) + JOURNAL_HEADER_SIZE;
    if (needed > size) {
        unsigned char *larger = realloc(bytes, needed);
        if (!larger) {
            status = no_memory(reader, error);
            goto done;
        }
        bytes = larger;
        size = needed;
        status = read_at(reader, 0, bytes, size, &n, error);
        if (status || n < JOURNAL_HEADER_SIZE)
            goto done;
    }
    status = scan_records(reader, bytes, n, size, error);
done:
    free(bytes);
    return status;
}

/* Sorts the index and removes duplicates, keeping the first. */
static void tidy_index(struct journal_reader *reader)
{
    size_t i = 1, n = 0;
    while (i < reader->n_entry && compare_entries(&reader->entry[i - 1], &reader->entry[i]) < 0)
        i++;
    if (i < reader->n_entry)
        qsort(reader->entry, reader->n_entry, sizeof *reader->entry, compare_entries);
    for (i = 0; i < reader->n_entry; i++)
        if (n == 0 || reader->entry[n - 1].fit != reader->entry[i].fit)
            reader->entry[n++] = reader->entry[i];
    reader->n_entry = n;
    struct entry *less = n ? realloc(reader->entry, n * sizeof *less) : NULL;
    if (less) {
        reader->entry = less;
        reader->capacity = n;
    }
}

/* On first use: most readers want the index alone. */
static enum status make_windows(struct journal_reader *reader, struct error *error)
{
    if (reader->windows)
        return STATUS_OK;
    reader->most = record_max(reader->identity.n_parameter);
    reader->window_size = 2 * (size_t)WINDOW_STEP + reader->most;
    reader->windows = malloc(N_WINDOW * reader->window_size);
    if (!reader->windows)
        return no_memory(reader, error);
    for (size_t i = 0; i < N_WINDOW; i++)
        reader->window[i].bytes = reader->windows + i * reader->window_size;
    return STATUS_OK;
}

enum status journal_read(struct journal_reader **reader, const char *directory,
                         const struct run_identity *identity, struct error *error)
{
    enum status status = STATUS_NO_MEMORY;
    struct journal_reader *made = calloc(1, sizeof *made);
    *reader = NULL;
    if (made) {
        made->file = -1;
        made->search_left = SEARCH_BUDGET;
        made->directory = strdup(directory);
    }
    if (!made || !made->directory) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the journal's index");
        goto done;
    }
    if (identity) {
        made->identity = *identity;
        made->has_identity = true;
    }
    status = list_files(made, error);
    for (size_t i = 0; i < made->n_file && !status; i++)
        status = scan_file(made, i, error);
    if (status)
        goto done;
    tidy_index(made);
done:
    if (status) {
        journal_reader_free(made);
        made = NULL;
    }
    *reader = made;
    return status;
}

const struct run_identity *journal_identity(const struct journal_reader *reader)
{
    return reader->has_identity ? &reader->identity : NULL;
}

uint64_t journal_n_record(const struct journal_reader *reader) { return reader->n_entry; }
uint64_t journal_n_damaged(const struct journal_reader *reader) { return reader->n_damaged; }

/* The index of the first entry at or after this fit; n_entry if there is none. */
static size_t first_entry(const struct journal_reader *reader, uint64_t fit)
{
    size_t low = 0, high = reader->n_entry;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reader->entry[middle].fit < fit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The entry of this fit; n_entry if there is none. */
static size_t find_entry(const struct journal_reader *reader, uint64_t fit)
{
    size_t i = first_entry(reader, fit);
    return i < reader->n_entry && reader->entry[i].fit == fit ? i : reader->n_entry;
}

bool journal_has(const struct journal_reader *reader, uint64_t fit)
{
    return find_entry(reader, fit) < reader->n_entry;
}

uint64_t journal_next(const struct journal_reader *reader, uint64_t fit)
{
    size_t i = first_entry(reader, fit);
    return i < reader->n_entry ? reader->entry[i].fit : UINT64_MAX;
}

/* The bytes at `place`, those of the longest record or up to the end of the file, from a window;
 * reads one if needed. */
static const unsigned char *window_at(struct journal_reader *reader, uint64_t place, size_t *n,
                                      struct error *error)
{
    struct window *oldest = &reader->window[0], *window = NULL;
    if (make_windows(reader, error))
        return NULL;
    for (size_t i = 0; i < N_WINDOW && !window; i++) {
        struct window *w = &reader->window[i];
        bool whole = place >= w->place && place - w->place < w->n &&
                     (w->n - (place - w->place) >= reader->most || w->n < reader->window_size);
        if (w->n && whole)
            window = w;
        if (w->used < oldest->used)
            oldest = w;
    }
    if (!window) {
        uint64_t offset = place & ((UINT64_C(1) << OFFSET_BITS) - 1),
                 first = offset / WINDOW_STEP * WINDOW_STEP;
        window = oldest;
        window->n = 0;
        window->place = place - (offset - first);
        size_t n_read;
        if (open_file(reader, (size_t)(place >> OFFSET_BITS), error) ||
            read_at(reader, first, window->bytes, reader->window_size, &n_read, error))
            return NULL;
        window->n = n_read;
    }
    window->used = ++reader->clock;
    size_t at = (size_t)(place - window->place);
    *n = at < window->n ? window->n - at : 0;
    return window->bytes + at;
}

bool journal_get(struct journal_reader *reader, uint64_t fit, struct fit_record *record,
                 struct error *error)
{
    size_t i = reader->hint, n;
    uint64_t found;
    error->status = STATUS_OK;
    error->message[0] = '\0';
    if (i >= reader->n_entry || reader->entry[i].fit != fit)
        i = find_entry(reader, fit);
    if (i >= reader->n_entry)
        return false;
    reader->hint = i + 1;
    uint64_t place = reader->entry[i].place;
    const unsigned char *bytes = window_at(reader, place, &n, error);
    if (!bytes)
        return false;
    if (!check_record(bytes, n, &reader->identity, &found) || found != fit) {
        error_set(error, STATUS_SYSTEM,
                  "'%s/%s' has changed since it was first read: run the same command again",
                  reader->directory, reader->name[place >> OFFSET_BITS]);
        return false;
    }
    decode_record(bytes, reader->identity.n_parameter, reader->identity.n_start, record);
    return true;
}

void journal_reader_free(struct journal_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->n_file; i++)
        free(reader->name[i]);
    if (reader->file >= 0)
        close(reader->file);
    free(reader->name);
    free(reader->entry);
    free(reader->windows);
    free(reader->directory);
    free(reader);
}
