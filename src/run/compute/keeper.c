/* The payload of a task's file:
 *
 *   i64 elapsed_ns, u64 fit under way, n_record, n_state; n_record bytes of records; the state
 *   record  u64 fit, u64 length, the record's bytes (io/file/fit_record.h)
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/keeper.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct head {
    int64_t elapsed_ns;
    uint64_t fit, n_record, n_state;
};

/* Before a record. */
struct entry {
    uint64_t fit, length;
};

bool keepers_init(struct keepers *keepers, const char *journal, const struct run_identity *identity)
{
    *keepers = (struct keepers){.folder = states_folder_new(journal, identity)};
    if (keepers->folder && monitor_init(&keepers->lock))
        return true;
    states_folder_free(keepers->folder);
    keepers->folder = NULL;
    return false;
}

void keepers_look(struct keepers *keepers, const char *journal, const struct run_identity *identity)
{
    struct states_folder *now = keepers->folder ? states_folder_new(journal, identity) : NULL;
    if (!now)
        return;
    states_folder_free(keepers->folder);
    keepers->folder = now;
}

void keepers_fini(struct keepers *keepers)
{
    if (!keepers->folder)
        return;
    states_folder_free(keepers->folder);
    monitor_fini(&keepers->lock);
    keepers->folder = NULL;
}

bool keepers_tell(struct keepers *keepers, struct error *trouble)
{
    if (!keepers->folder || keepers->is_reported || counter_get(&keepers->has_trouble) == 0)
        return false;
    monitor_enter(&keepers->lock);
    *trouble = keepers->trouble;
    monitor_leave(&keepers->lock);
    keepers->is_reported = true;
    return true;
}

static struct head head_of(const struct keeper *keeper)
{
    struct head head = {.elapsed_ns = 0};
    if (keeper->loaded)
        memcpy(&head, keeper->loaded, sizeof head);
    return head;
}

/* The next record from *at on. False: there are no more. */
static bool next_record(const struct keeper *keeper, size_t *at, struct entry *entry,
                        const unsigned char **bytes)
{
    size_t end = sizeof(struct head) + (size_t)head_of(keeper).n_record;
    if (!keeper->loaded || end - *at < sizeof *entry)
        return false;
    memcpy(entry, keeper->loaded + *at, sizeof *entry);
    *bytes = keeper->loaded + *at + sizeof *entry;
    if (entry->length > end - *at - sizeof *entry)
        return false;
    *at += sizeof *entry + (size_t)entry->length;
    return true;
}

/* Takes what an earlier process has left, if it is what keeper_write writes. */
static void load(struct keeper *keeper)
{
    keeper->loaded = states_read(keeper->folder, keeper->task, &keeper->n_loaded);
    if (!keeper->loaded)
        return;
    struct head head = {.elapsed_ns = -1};
    size_t n = keeper->n_loaded;
    if (n >= sizeof head)
        head = head_of(keeper);
    if (head.elapsed_ns >= 0 && head.n_record <= n - sizeof head
        && head.n_state == n - sizeof head - head.n_record) {
        keeper->before_ns = keeper->written_ns = keeper->synced_ns = head.elapsed_ns;
        return;
    }
    free(keeper->loaded);
    keeper->loaded = NULL;
}

/* A fit's record, to be written with what follows. False: out of memory. */
static bool add_record(struct keeper *keeper, uint64_t fit, size_t n_parameter,
                       const struct fit_record *record)
{
    const struct entry entry = {.fit = fit, .length = fit_record_bytes(n_parameter)};
    size_t n = keeper->n_record + sizeof entry + (size_t)entry.length;
    while (keeper->capacity < n)
        if (!array_grow(&keeper->records, keeper->capacity, &keeper->capacity, 1))
            return false;
    memcpy(keeper->records + keeper->n_record, &entry, sizeof entry);
    fit_record_to_bytes(record, n_parameter, keeper->records + keeper->n_record + sizeof entry);
    keeper->n_record = n;
    return true;
}

static bool begin(void *context, size_t n_parameter, struct fit_record *record,
                  const unsigned char **state, size_t *n)
{
    struct keeper *keeper = context;
    const struct head head = head_of(keeper);
    const unsigned char *bytes;
    struct entry entry;
    uint64_t fit = keeper->n_fit++;
    *state = NULL;
    for (size_t at = sizeof head; next_record(keeper, &at, &entry, &bytes);) {
        if (entry.fit != fit || entry.length != fit_record_bytes(n_parameter))
            continue;
        fit_record_from_bytes(record, n_parameter, bytes);
        if (!add_record(keeper, fit, n_parameter, record))
            keeper_stop(keeper);
        return true;
    }
    if (keeper->loaded && head.fit == fit && head.n_state > 0) {
        *state = keeper->loaded + sizeof head + head.n_record;
        *n = (size_t)head.n_state;
    }
    return false;
}

static bool is_due(void *context)
{
    const struct keeper *keeper = context;
    if (!keeper->folder)
        return false;
    int64_t since_ns = keeper->elapsed_ns(keeper->context) - keeper->written_ns;
    return since_ns >= KEEPER_WORTH_NS
           && since_ns >= KEEPER_NS_PER_BYTE * (int64_t)keeper->n_written;
}

static void drop_state(struct keeper *keeper)
{
    free(keeper->state);
    keeper->state = NULL;
    keeper->n_state = 0;
    keeper->is_pending = false;
}

static void keep(void *context, unsigned char *state, size_t n)
{
    struct keeper *keeper = context;
    drop_state(keeper);
    if (!keeper->folder || !state) {
        free(state);
        return;
    }
    keeper->state = state;
    keeper->n_state = n;
    keeper->is_pending = true;
}

static void end(void *context, size_t n_parameter, const struct fit_record *record)
{
    struct keeper *keeper = context;
    drop_state(keeper);
    if (!keeper->folder || keeper->elapsed_ns(keeper->context) < KEEPER_WORTH_NS)
        return;
    if (record->outcome == OUTCOME_out_of_memory
        || !add_record(keeper, keeper->n_fit - 1, n_parameter, record))
        keeper_stop(keeper);
    keeper->is_pending = is_due(keeper);
}

void keeper_begin(struct keeper *keeper, struct keepers *keepers, uint64_t task,
                  int64_t (*elapsed_ns)(void *context), void *context)
{
    unsigned char *records = keeper->records;
    size_t capacity = keeper->capacity;
    free(keeper->loaded);
    free(keeper->state);
    *keeper = (struct keeper){.fits = {.begin = begin, .is_due = is_due, .keep = keep, .end = end,
                                       .context = keeper},
                              .keepers = keepers, .task = task, .elapsed_ns = elapsed_ns,
                              .context = context, .records = records, .capacity = capacity};
    if (!keepers || !keepers->folder)
        return;
    keeper->is_there = states_has(keepers->folder, task);
    if (keeper->is_there || !counter_get(&keepers->has_trouble))
        keeper->folder = keepers->folder;
    if (keeper->is_there)
        load(keeper);
}

static void report(struct keepers *keepers, const struct error *error)
{
    monitor_enter(&keepers->lock);
    if (counter_get(&keepers->has_trouble) == 0)
        keepers->trouble = *error;
    counter_set(&keepers->has_trouble, 1);
    monitor_leave(&keepers->lock);
}

void keeper_write(struct keeper *keeper)
{
    if (!keeper->folder || !keeper->is_pending)
        return;
    struct error error;
    const struct head head = {.elapsed_ns = keeper->elapsed_ns(keeper->context),
                              .fit = keeper->n_fit - 1, .n_record = keeper->n_record,
                              .n_state = keeper->n_state};
    size_t n = sizeof head + keeper->n_record + keeper->n_state;
    unsigned char *bytes = n <= STATES_LIMIT ? malloc(STATES_HEAD + n) : NULL;
    bool syncs = head.elapsed_ns - keeper->synced_ns >= KEEPER_SYNC_NS;
    keeper->written_ns = head.elapsed_ns;
    keeper->synced_ns = syncs ? head.elapsed_ns : keeper->synced_ns;
    keeper->n_written = n;
    if (bytes) {
        unsigned char *next = bytes + STATES_HEAD;
        memcpy(next, &head, sizeof head);
        next += sizeof head;
        if (keeper->n_record)
            memcpy(next, keeper->records, keeper->n_record);
        if (keeper->n_state)
            memcpy(next + keeper->n_record, keeper->state, keeper->n_state);
        bool is_bad = states_write(keeper->folder, keeper->task, &keeper->is_there, bytes, n,
                                   syncs, &error) != STATUS_OK;
        if (is_bad)
            report(keeper->keepers, &error);
        if (is_bad || !keeper->is_there)
            keeper->folder = NULL;
        free(bytes);
    }
    drop_state(keeper);
}

void keeper_stop(struct keeper *keeper)
{
    drop_state(keeper);
    keeper->folder = NULL;
}

void keeper_end(struct keeper *keeper)
{
    if (keeper->is_there && keeper->keepers)
        states_drop(keeper->keepers->folder, keeper->task);
    drop_state(keeper);
    keeper->folder = NULL;
}

void keeper_fini(struct keeper *keeper)
{
    free(keeper->loaded);
    free(keeper->state);
    free(keeper->records);
    *keeper = (struct keeper){.folder = NULL};
}
