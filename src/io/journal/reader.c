/* Reads journals: one pass over all files of the directory makes an index, 16 bytes per fit;
 * records are then read through a few windows, since they are needed in nearly the order of the
 * files. Other processes may append and cut meanwhile, so files are not mapped.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/journal/journal.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "io/journal/process.h"
#include "io/journal/record_frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file has a stream of records for each slot of each worker, so windows are many and large:
 * small ones read it ten times. */
enum {
    SCAN_SIZE = 1 << 18,
    WINDOW_STEP = 1 << 16,
    N_WINDOW = 16,
    MAX_FILE = 1 << 16,
    OFFSET_BITS = 48
};

/* Limits the search for the next frame after damage, in bytes whose checksum is computed; each
 * place that looks like a frame also costs a little. It limits the time that a forged journal can
 * take. */
enum { SEARCH_BUDGET = 1 << 26, SEARCH_STEP = 64 };

/* Where a fit's frame is: the number of the file above 48 bits of offset. Sorted by fit, then
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

/* The latest frame of a type of which only that counts. */
struct kept {
    enum frame_type type; /* 0: none */
    uint32_t number;
    uint64_t place;
    size_t length;
};

enum { MAX_KEPT = 8 };

struct journal_reader {
    char *directory;
    struct log_name {
        char *name;
        uint32_t seed; /* the first frame's checksum */
        bool is_gone;  /* when it was to be opened: its process has removed it since */
    } *log;            /* n_file, sorted */
    size_t n_file;
    bool has_identity;
    struct run_identity identity;
    struct entry *entry;
    size_t n_entry, capacity;
    size_t hint;       /* the entry that will probably be needed next */
    struct kept kept[MAX_KEPT];
    unsigned char *plan;  /* n_plan bytes, of the process that began at `made` */
    size_t n_plan;
    uint64_t made;
    uint64_t n_damaged, search_left;
    struct window window[N_WINDOW];
    unsigned char *windows; /* the memory of all of them */
    size_t window_size, most; /* most: the size of the longest record's frame */
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
    return strcmp(((const struct log_name *)a)->name, ((const struct log_name *)b)->name);
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
    while (errno = 0, (entry = readdir(list))) {
        if (!journal_is_name(entry->d_name))
            continue;
        if (reader->n_file == MAX_FILE) {
            status = error_set(error, STATUS_SYSTEM, "the journal '%s' has more than %d files",
                               reader->directory, MAX_FILE);
            goto done;
        }
        if (!array_grow(&reader->log, reader->n_file, &capacity, sizeof *reader->log)) {
            status = no_memory(reader, error);
            goto done;
        }
        char *name = strdup(entry->d_name);
        if (!name) {
            status = no_memory(reader, error);
            goto done;
        }
        reader->log[reader->n_file++] = (struct log_name){.name = name};
    }
    if (errno)
        status = error_system(error, errno, "cannot read the journal '%s'", reader->directory);
    if (reader->n_file)
        qsort(reader->log, reader->n_file, sizeof *reader->log, compare_names);
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
    snprintf(path, sizeof path, "%s/%s", reader->directory, reader->log[i].name);
    reader->file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    reader->i_file = i;
    reader->log[i].is_gone = reader->file < 0 && errno == ENOENT;
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
                                reader->log[reader->i_file].name);
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

/* The open file, from `offset` on: n bytes, of which those from `at` on have not been looked at. */
struct scan {
    unsigned char *bytes;
    size_t n, at, size;
    uint64_t offset;
};

/* Brings `need` bytes from `at` on into memory, or as many as there are. */
static enum status fill(struct journal_reader *reader, struct scan *scan, size_t need,
                        struct error *error)
{
    size_t n_more;
    if (scan->n - scan->at >= need)
        return STATUS_OK;
    if (scan->n > scan->at)
        memmove(scan->bytes, scan->bytes + scan->at, scan->n - scan->at);
    scan->offset += scan->at;
    scan->n -= scan->at;
    scan->at = 0;
    if (need > scan->size) {
        unsigned char *larger = realloc(scan->bytes, need);
        if (!larger)
            return no_memory(reader, error);
        scan->bytes = larger;
        scan->size = need;
    }
    enum status status = read_at(reader, scan->offset + scan->n, scan->bytes + scan->n,
                                 scan->size - scan->n, &n_more, error);
    scan->n += n_more;
    return status;
}

/* Whether the file is long enough for this many bytes from `at` on. */
static enum status look_in_file(const struct journal_reader *reader, const struct scan *scan,
                                size_t size, bool *is_there, struct error *error)
{
    struct stat found;
    if (fstat(reader->file, &found) != 0)
        return error_system(error, errno, "cannot read '%s/%s'", reader->directory,
                            reader->log[reader->i_file].name);
    *is_there = (uint64_t)found.st_size >= scan->offset + scan->at + size;
    return STATUS_OK;
}

/* The frame at `at`, undamaged: its payload; NULL: there is none, and what it cost to find out is
 * added to *cost. */
static const unsigned char *take_frame(struct journal_reader *reader, struct scan *scan,
                                       uint32_t seed, struct frame *frame, uint64_t *cost,
                                       enum status *status, struct error *error)
{
    *status = fill(reader, scan, FRAME_HEAD, error);
    if (*status || !frame_look(scan->bytes + scan->at, scan->n - scan->at, frame))
        return NULL;
    size_t most = frame->type == FRAME_RECORD ? reader->most : SIZE_MAX;
    size_t size = FRAME_HEAD + frame->length;
    *cost += SEARCH_STEP;
    bool is_there = size <= most;
    if (is_there && size > scan->n - scan->at)
        *status = look_in_file(reader, scan, size, &is_there, error);
    if (*status || !is_there)
        return NULL;
    *status = fill(reader, scan, size, error);
    *cost += size;
    const unsigned char *bytes = scan->bytes + scan->at;
    bool is_good = !*status && scan->n - scan->at >= size &&
                   frame_is_good(bytes, scan->n - scan->at, frame, seed);
    return is_good ? bytes + FRAME_HEAD : NULL;
}

static void note_kept(struct journal_reader *reader, const struct frame *frame, uint64_t place)
{
    size_t i = 0;
    while (i + 1 < MAX_KEPT && reader->kept[i].type && reader->kept[i].type != frame->type)
        i++;
    if (!reader->kept[i].type || frame->number >= reader->kept[i].number)
        reader->kept[i] = (struct kept){frame->type, frame->number, place, frame->length};
}

/* Moves to the next place where a frame may begin; false: there is none before the end. */
static enum status go_on(struct journal_reader *reader, struct scan *scan, bool *is_end,
                         struct error *error)
{
    enum status status = STATUS_OK;
    for (scan->at++; !status;) {
        status = fill(reader, scan, FRAME_HEAD, error);
        *is_end = scan->n - scan->at < FRAME_HEAD;
        if (status || *is_end)
            break;
        const unsigned char *found = memchr(scan->bytes + scan->at, 'S', scan->n - scan->at);
        scan->at = found ? (size_t)(found - scan->bytes) : scan->n;
        if (found && scan->n - scan->at >= 3 && !memcmp(found, "STF", 3))
            break;
        scan->at += found && scan->n - scan->at >= 3;
    }
    return status;
}

/* Indexes the frames of the open file after the first one. After damage (a torn frame with another
 * thread's after it, a bad block) it searches for the next one. */
static enum status scan_frames(struct journal_reader *reader, struct scan *scan,
                               struct error *error)
{
    struct frame frame;
    bool damaged = false, is_end = false;
    while (!is_end) {
        uint64_t cost = 0, fit, place;
        enum status status;
        const unsigned char *payload = take_frame(reader, scan, reader->log[reader->i_file].seed,
                                                  &frame, &cost, &status, error);
        if (status)
            return status;
        place = (uint64_t)reader->i_file << OFFSET_BITS | (scan->offset + scan->at);
        bool is_record = payload && frame.type == FRAME_RECORD;
        if (is_record && !record_frame_check(payload, frame.length, &reader->identity, &fit))
            payload = NULL;
        if (!payload) {
            if (scan->at >= scan->n)
                break;
            damaged = true;
            if (reader->search_left < cost)
                break;
            reader->search_left -= cost;
            status = go_on(reader, scan, &is_end, error);
            if (status)
                return status;
            continue;
        }
        if (is_record && (status = add_entry(reader, fit, place, error)))
            return status;
        if (!is_record)
            note_kept(reader, &frame, place);
        scan->at += FRAME_HEAD + frame.length;
    }
    reader->n_damaged += damaged;
    return STATUS_OK;
}

/* The plan of the process that began last counts. */
static enum status take_plan(struct journal_reader *reader, const unsigned char *payload, size_t n,
                             struct error *error)
{
    uint64_t made = bytes_get_64(payload + JOURNAL_MADE);
    if (n == JOURNAL_PLAN || (reader->plan && made < reader->made))
        return STATUS_OK;
    unsigned char *plan = malloc(n - JOURNAL_PLAN);
    if (!plan)
        return no_memory(reader, error);
    memcpy(plan, payload + JOURNAL_PLAN, n - JOURNAL_PLAN);
    free(reader->plan);
    reader->plan = plan;
    reader->n_plan = n - JOURNAL_PLAN;
    reader->made = made;
    return STATUS_OK;
}

/* *is_good: the file is this run's, and what follows its first frame is to be read. */
static enum status take_first(struct journal_reader *reader, struct scan *scan, bool *is_good,
                              struct error *error)
{
    struct run_identity found;
    struct frame frame;
    uint64_t cost = 0;
    enum status status;
    const char *name = reader->log[reader->i_file].name;
    const unsigned char *payload = take_frame(reader, scan, 0, &frame, &cost, &status, error);
    *is_good = false;
    if (status || scan->n == 0) /* empty: its process died before writing */
        return status;
    if (!payload || frame.type != FRAME_RUN) {
        reader->n_damaged++;
        return STATUS_OK;
    }
    if (frame.number != FRAME_FORMAT || frame.length < JOURNAL_PLAN ||
        !identity_decode(&found, payload))
        return error_set(error, STATUS_SYSTEM,
                         "'%s/%s' was written by another version of stiffit: finish that run with "
                         "it, or start again with --restart",
                         reader->directory, name);
    status = check_identity(reader, &found, name, error);
    if (!status)
        status = take_plan(reader, payload, frame.length, error);
    reader->most = FRAME_HEAD + record_frame_most(reader->identity.n_parameter);
    reader->log[reader->i_file].seed = frame_crc(payload - FRAME_HEAD);
    scan->at += FRAME_HEAD + frame.length;
    *is_good = !status;
    return status;
}

static enum status scan_file(struct journal_reader *reader, size_t i, struct error *error)
{
    bool is_good = false;
    enum status status = open_file(reader, i, error);
    if (reader->log[i].is_gone) /* the run has ended meanwhile */
        return STATUS_OK;
    if (status)
        return status;
    struct scan scan = {.size = SCAN_SIZE};
    scan.bytes = malloc(scan.size);
    if (!scan.bytes)
        return no_memory(reader, error);
    status = take_first(reader, &scan, &is_good, error);
    if (is_good)
        status = scan_frames(reader, &scan, error);
    free(scan.bytes);
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

const unsigned char *journal_plan(const struct journal_reader *reader, size_t *n)
{
    *n = reader->n_plan;
    return reader->plan;
}

bool journal_is_removed(const struct journal_reader *reader)
{
    char path[4096];
    struct stat found;
    for (size_t i = 0; i < reader->n_file; i++) {
        snprintf(path, sizeof path, "%s/%s", reader->directory, reader->log[i].name);
        if (lstat(path, &found) != 0 && errno == ENOENT)
            return true;
    }
    return false;
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

static enum status has_changed(const struct journal_reader *reader, size_t i_file,
                               struct error *error)
{
    return error_set(error, STATUS_SYSTEM,
                     "'%s/%s' has changed since it was first read: run the same command again",
                     reader->directory, reader->log[i_file].name);
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
    struct frame frame;
    if (!frame_look(bytes, n, &frame) || frame.type != FRAME_RECORD ||
        !frame_is_good(bytes, n, &frame, reader->log[place >> OFFSET_BITS].seed) ||
        !record_frame_check(bytes + FRAME_HEAD, frame.length, &reader->identity, &found) ||
        found != fit) {
        has_changed(reader, (size_t)(place >> OFFSET_BITS), error);
        return false;
    }
    record_frame_decode(bytes + FRAME_HEAD, reader->identity.n_parameter, reader->identity.n_start,
                        record);
    return true;
}

bool journal_get_task(struct journal_reader *reader, uint64_t dataset, uint32_t task,
                      struct fit_record *record, struct error *error)
{
    return journal_get(reader, identity_fit(&reader->identity, dataset, task), record, error);
}

enum status journal_kept(struct journal_reader *reader, enum frame_type type, unsigned char **bytes,
                         size_t *n, uint32_t *number, struct error *error)
{
    struct frame frame;
    size_t i = 0, got;
    *bytes = NULL;
    *n = 0;
    *number = 0;
    while (i < MAX_KEPT && reader->kept[i].type != type)
        i++;
    if (i == MAX_KEPT)
        return STATUS_OK;
    const struct kept *kept = &reader->kept[i];
    size_t i_file = (size_t)(kept->place >> OFFSET_BITS), size = FRAME_HEAD + kept->length;
    uint64_t offset = kept->place & ((UINT64_C(1) << OFFSET_BITS) - 1);
    unsigned char *all = malloc(size);
    if (!all)
        return no_memory(reader, error);
    enum status status = open_file(reader, i_file, error);
    if (!status)
        status = read_at(reader, offset, all, size, &got, error);
    if (!status && (!frame_look(all, got, &frame) || frame.type != type ||
                    frame.length != kept->length ||
                    !frame_is_good(all, got, &frame, reader->log[i_file].seed)))
        status = has_changed(reader, i_file, error);
    if (status) {
        free(all);
        return status;
    }
    *number = frame.number;
    *n = frame.length;
    memmove(all, all + FRAME_HEAD, *n);
    *bytes = all;
    return STATUS_OK;
}

void journal_reader_free(struct journal_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->n_file; i++)
        free(reader->log[i].name);
    if (reader->file >= 0)
        close(reader->file);
    free(reader->log);
    free(reader->plan);
    free(reader->entry);
    free(reader->windows);
    free(reader->directory);
    free(reader);
}
