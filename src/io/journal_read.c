/* Reads a journal. One pass over all files of the directory makes an index, 16 bytes per fit; records are then read through a
 * few windows, since they are needed in nearly the order of the files.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal.h"

#include "io/journal_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file has a stream of records for each slot of each worker, so windows are many and large: small ones read it ten times. */
enum { SCAN_SIZE = 1 << 18, WINDOW_STEP = 1 << 16, N_WINDOW = 16, MAX_FILE = 1 << 16, OFFSET_BITS = 48 };

/* Limits the search for the next record after damage, in bytes whose checksum is computed; each place tried also costs a
 * little. Enough for a MiB of garbage, and it limits the time that a forged journal can take. */
enum { SEARCH_BUDGET = 1 << 26, SEARCH_STEP = 64 };

/* Where a fit's record is: the number of the file above 48 bits of offset. Sorted by fit, then place. */
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
    size_t window_size, record_max; /* record_max: of a record; known with the windows */
    uint64_t clock;
    int file;          /* the file read last, or -1 */
    size_t i_file;
};

static enum status no_memory(const struct journal_reader *reader, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the index of the journal '%s'", reader->directory);
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
        return errno == ENOENT ? STATUS_OK
                               : error_system(error, errno, "cannot read the journal '%s'", reader->directory);
    while ((entry = readdir(list))) {
        if (!journal_is_name(entry->d_name))
            continue;
        if (reader->n_file == MAX_FILE) {
            status = error_set(error, STATUS_SYSTEM, "the journal '%s' has more than %d files", reader->directory,
                               MAX_FILE);
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

/* Opens file i unless it is open already. Only regular files: a pipe of that name must not block us. */
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
static enum status read_at(struct journal_reader *reader, uint64_t offset, unsigned char *bytes, size_t n,
                           size_t *n_read, struct error *error)
{
    for (*n_read = 0; *n_read < n;) {
        ssize_t got = pread(reader->file, bytes + *n_read, n - *n_read, (off_t)(offset + *n_read));
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return error_system(error, errno, "cannot read '%s/%s'", reader->directory, reader->name[reader->i_file]);
        if (got > 0)
            *n_read += (size_t)got;
    }
    return STATUS_OK;
}

static enum status add_entry(struct journal_reader *reader, uint64_t fit, uint64_t place, struct error *error)
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

static enum status check_identity(struct journal_reader *reader, const struct run_identity *found, const char *name,
                                  struct error *error)
{
    char difference[1500];
    if (!reader->has_identity) {
        reader->identity = *found;
        reader->has_identity = true;
    }
    if (identity_equal(found, &reader->identity))
        return STATUS_OK;
    identity_difference(found, &reader->identity, difference, sizeof difference);
    return error_set(error, STATUS_SYSTEM,
                     "the journal '%s' is of another run (%s): %s. Start again with --restart, which "
                     "drops it, or name another result with -o", reader->directory, name, difference);
}

/* Indexes the records of the open file; `bytes` holds its first n. After damage (a torn record with another thread's after it,
 * a bad block) it searches for the next record. */
static enum status scan_records(struct journal_reader *reader, unsigned char *bytes, size_t n, size_t size,
                                struct error *error)
{
    size_t most = journal_record_max(reader->identity.n_parameter), at = JOURNAL_HEADER_SIZE;
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
        size_t n_record = journal_check_record(bytes + at, n - at, &reader->identity, &fit);
        if (n_record == 0) {
            uint64_t cost = SEARCH_STEP + journal_claimed_size(bytes + at, n - at, &reader->identity);
            damaged = damaged || at < n;
            if (at >= n || reader->search_left < cost)
                break;
            reader->search_left -= cost;
            at++;
            continue;
        }
        enum status status = add_entry(reader, fit, (uint64_t)reader->i_file << OFFSET_BITS | (offset + at), error);
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
        status = error_set(error, STATUS_SYSTEM,
                           "'%s/%s' was written by another version of stiffit: finish that run with "
                           "it, or start again with --restart", reader->directory, reader->name[i]);
        goto done;
    case JOURNAL_HEADER_GOOD:
        break;
    }
    status = check_identity(reader, &found, reader->name[i], error);
    if (status)
        goto done;
    size_t needed = 2 * journal_record_max(found.n_parameter) + JOURNAL_HEADER_SIZE;
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
    reader->record_max = journal_record_max(reader->identity.n_parameter);
    reader->window_size = 2 * (size_t)WINDOW_STEP + reader->record_max;
    reader->windows = malloc(N_WINDOW * reader->window_size);
    if (!reader->windows)
        return no_memory(reader, error);
    for (size_t i = 0; i < N_WINDOW; i++)
        reader->window[i].bytes = reader->windows + i * reader->window_size;
    return STATUS_OK;
}

enum status journal_read(struct journal_reader **reader, const char *directory, const struct run_identity *identity,
                         struct error *error)
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

/* The bytes at `place`, those of the longest record or up to the end of the file, from a window; reads one if needed. */
static const unsigned char *window_at(struct journal_reader *reader, uint64_t place, size_t *n, struct error *error)
{
    struct window *oldest = &reader->window[0], *window = NULL;
    if (make_windows(reader, error))
        return NULL;
    for (size_t i = 0; i < N_WINDOW && !window; i++) {
        struct window *w = &reader->window[i];
        bool whole = place >= w->place && place - w->place < w->n &&
                     (w->n - (place - w->place) >= reader->record_max || w->n < reader->window_size);
        if (w->n && whole)
            window = w;
        if (w->used < oldest->used)
            oldest = w;
    }
    if (!window) {
        uint64_t offset = place & ((UINT64_C(1) << OFFSET_BITS) - 1), first = offset / WINDOW_STEP * WINDOW_STEP;
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

bool journal_get(struct journal_reader *reader, uint64_t fit, struct fit_record *record, struct error *error)
{
    size_t i = reader->hint, n;
    uint64_t found;
    error_set(error, STATUS_OK, "%s", "");
    if (i >= reader->n_entry || reader->entry[i].fit != fit)
        i = find_entry(reader, fit);
    if (i >= reader->n_entry)
        return false;
    reader->hint = i + 1;
    uint64_t place = reader->entry[i].place;
    const unsigned char *bytes = window_at(reader, place, &n, error);
    if (!bytes)
        return false;
    if (!journal_check_record(bytes, n, &reader->identity, &found) || found != fit) {
        error_set(error, STATUS_SYSTEM, "'%s/%s' has changed since it was first read: run the same command again",
                  reader->directory, reader->name[place >> OFFSET_BITS]);
        return false;
    }
    journal_decode_record(bytes, reader->identity.n_parameter, reader->identity.n_start, record);
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
