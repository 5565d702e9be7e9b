/* Memory, faults and sorted names of the PEtab reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "petab/reader.h"

#include "base/words.h"
#include "io/table/csv.h"
#include "model/text/postfix.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void petab_leave_with(struct petab_reader *reader) { longjmp(reader->out, 1); }

_Noreturn static void no_memory(struct petab_reader *reader)
{
    error_set(&reader->error, STATUS_NO_MEMORY, "out of memory for the PEtab problem");
    petab_leave_with(reader);
}

void *petab_alloc(struct petab_reader *reader, size_t count, size_t size)
{
    void *memory = arena_calloc(&reader->arena, count + 1, size);
    if (!memory)
        no_memory(reader);
    return memory;
}

char *petab_strdup(struct petab_reader *reader, const char *text)
{
    char *copy = arena_strdup(&reader->arena, text);
    if (!copy)
        no_memory(reader);
    return copy;
}

static char *format_arguments(struct petab_reader *reader, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = petab_alloc(reader, (size_t)(n < 0 ? 0 : n) + 1, 1);
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, arguments);
    return text;
}

char *petab_format(struct petab_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_arguments(reader, format, arguments);
    va_end(arguments);
    return text;
}

const char *petab_absolute(struct petab_reader *reader, const char *path)
{
    char *resolved = realpath(path, NULL);
    const char *copy = petab_strdup(reader, resolved ? resolved : path);
    free(resolved);
    return copy;
}

void petab_grow(struct petab_reader *reader, void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return;
    size_t more = *room ? 2 * *room : 16;
    char *old, *new = petab_alloc(reader, more, size);
    memcpy(&old, array, sizeof old);
    if (n)
        memcpy(new, old, n * size);
    memcpy(array, &new, sizeof new);
    *room = more;
}

void petab_put(struct petab_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    while (text->n + (size_t)n + 1 > text->room)
        petab_grow(text->reader, &text->text, text->room, &text->room, 1);
    text->n += (size_t)vsnprintf(text->text + text->n, (size_t)n + 1, format, again);
    va_end(again);
    va_end(arguments);
}

void petab_fault(struct petab_reader *reader, struct petab_place place, const char *format, ...)
{
    if (reader->n_fault++ >= PETAB_MAX_FAULT)
        return;
    char line[40] = "";
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_arguments(reader, format, arguments);
    va_end(arguments);
    if (place.line)
        snprintf(line, sizeof line, ":%" PRIu64, place.line);
    const char *fault =
        petab_format(reader, "%.300s%s: %s%.100s%s%.1000s", place.file, line,
                     place.column ? "column '" : "", place.column ? place.column : "",
                     place.column ? "': " : "", text);
    for (size_t i = 0; i + 1 < reader->n_fault; i++)
        if (!strcmp(reader->fault[i], fault)) {
            /* found once more, in another use of the same formula */
            reader->n_fault--;
            return;
        }
    reader->fault[reader->n_fault - 1] = fault;
}

void petab_note(struct petab_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (reader->n_note < PETAB_MAX_FAULT)
        reader->note[reader->n_note++] = format_arguments(reader, format, arguments);
    va_end(arguments);
}

_Noreturn void petab_leave(struct petab_reader *reader, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_set(&reader->error, status, "%s", format_arguments(reader, format, arguments));
    va_end(arguments);
    petab_leave_with(reader);
}

void petab_check(struct petab_reader *reader)
{
    if (reader->n_fault == 1)
        petab_leave(reader, STATUS_BAD_PROBLEM, "%s", reader->fault[0]);
    if (reader->n_fault)
        petab_leave(reader, STATUS_BAD_PROBLEM, "the PEtab problem has %zu faults",
                    reader->n_fault);
}

void petab_reader_fini(struct petab_reader *reader)
{
    csv_close(reader->csv);
    reader->csv = NULL;
    postfix_reader_free(reader->formulas);
    reader->formulas = NULL;
    arena_fini(&reader->arena);
}

static int compare_entries(const void *a, const void *b)
{
    const struct petab_index_entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

struct petab_index petab_index_of(struct petab_reader *reader, const void *names, size_t n,
                                  size_t stride)
{
    struct petab_index_entry *entry = petab_alloc(reader, n, sizeof *entry);
    for (size_t i = 0; i < n; i++) {
        memcpy(&entry[i].name, (const char *)names + i * stride, sizeof entry[i].name);
        entry[i].number = i;
    }
    qsort(entry, n, sizeof *entry, compare_entries);
    return (struct petab_index){n, entry};
}

size_t petab_find(const struct petab_index *index, const char *name)
{
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->entry[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->n && !strcmp(index->entry[low].name, name) ? index->entry[low].number
                                                                   : SIZE_MAX;
}

const char *petab_hint(struct petab_reader *reader, const struct petab_index *index,
                       const char *name)
{
    const char **names = petab_alloc(reader, index->n, sizeof *names);
    char hint[NEAREST_HINT];
    for (size_t i = 0; i < index->n; i++)
        names[i] = index->entry[i].name;
    return petab_strdup(reader, strlen(name) < 64 ? nearest_hint(hint, "; did you mean '", "'?",
                                                                 name, names, index->n)
                                                  : "");
}

/* A hash table with open addressing, at most half full. */
static size_t slot_of(const struct petab_keys *keys, const char *key)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *p = key; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    size_t at = (size_t)(hash % keys->room);
    while (keys->slot[at] && strcmp(keys->key[keys->slot[at] - 1], key))
        at = (at + 1) % keys->room;
    return at;
}

size_t petab_key(struct petab_reader *reader, struct petab_keys *keys, const char *key,
                 bool *is_new)
{
    if (2 * keys->n >= keys->room) {
        keys->room = keys->room ? 4 * keys->room : 64;
        keys->slot = petab_alloc(reader, keys->room, sizeof *keys->slot);
        for (size_t i = 0; i < keys->n; i++)
            keys->slot[slot_of(keys, keys->key[i])] = i + 1;
    }
    size_t at = slot_of(keys, key);
    *is_new = !keys->slot[at];
    if (*is_new) {
        petab_grow(reader, &keys->key, keys->n, &keys->room_key, sizeof *keys->key);
        keys->key[keys->n++] = key;
        keys->slot[at] = keys->n;
    }
    return keys->slot[at] - 1;
}
