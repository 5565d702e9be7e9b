/* What all parts of the PEtab reader share: memory, the list of faults, and the way out when it
 * cannot go on.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csv_reader;
struct postfix_reader;

enum { PETAB_MAX_FAULT = 100 };

/* Different texts, numbered in the order in which they come; zero-initialise. */
struct petab_keys {
    size_t n, room_key, room, *slot; /* number + 1; 0: free */
    const char **key;
};

/* Everything that is read lives in the arena. Faults of the problem are collected, so that one
 * call reports all of them; a fault that hides others, and lack of memory, jump to `out`. The
 * function that zero-initialises the reader must set `out` before it reads. */
struct petab_reader {
    struct arena arena;
    jmp_buf out;
    struct error error;        /* why it jumped */
    struct csv_reader *csv;    /* the open table, closed by petab_reader_fini */
    struct postfix_reader *formulas; /* what reads formulas; NULL before the first one */
    struct outputs outputs;    /* the files to be written, which no problem may name */
    size_t n_fault;            /* all of them; the first PETAB_MAX_FAULT are kept */
    const char *fault[PETAB_MAX_FAULT];
    size_t n_note;             /* what is assumed or ignored, for people */
    const char *note[PETAB_MAX_FAULT];
    struct petab_keys noted;   /* columns that are not used, each with its table */
};

/* Where a fault is: a file, its line from 1 (0: none) and its column (NULL: none). */
struct petab_place {
    const char *file;
    uint64_t line;
    const char *column;
};

/* None of these returns NULL. */
void *petab_alloc(struct petab_reader *reader, size_t count, size_t size);
char *petab_strdup(struct petab_reader *reader, const char *text);
/* The path without links and from the root; or the path itself. */
const char *petab_absolute(struct petab_reader *reader, const char *path);
char *petab_format(struct petab_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for item n of an array in the arena, copied to double the room where needed. */
void petab_grow(struct petab_reader *reader, void *array, size_t n, size_t *room, size_t size);

/* Text that grows at its end. */
struct petab_text {
    struct petab_reader *reader;
    char *text; /* NULL: empty */
    size_t n, room;
};
void petab_put(struct petab_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void petab_fault(struct petab_reader *reader, struct petab_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void petab_note(struct petab_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Leaves with this error. */
_Noreturn void petab_leave(struct petab_reader *reader, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Leaves with reader->error, which has been filled. */
_Noreturn void petab_leave_with(struct petab_reader *reader);
/* Leaves if there are faults. */
void petab_check(struct petab_reader *reader);
void petab_reader_fini(struct petab_reader *reader);

/* A sorted list of names with their numbers, to find them by. */
struct petab_index {
    size_t n;
    const struct petab_index_entry {
        const char *name;
        size_t number;
    } *entry;
};
/* names: n pointers, `stride` bytes apart. */
struct petab_index petab_index_of(struct petab_reader *reader, const void *names, size_t n,
                                  size_t stride);
size_t petab_find(const struct petab_index *index, const char *name); /* SIZE_MAX: not there */
/* "; did you mean 'x'?", or "" */
const char *petab_hint(struct petab_reader *reader, const struct petab_index *index,
                       const char *name);

/* The number of a text, which is added if it is new. */
size_t petab_key(struct petab_reader *reader, struct petab_keys *keys, const char *key,
                 bool *is_new);
