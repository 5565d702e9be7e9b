/* Reports faults in a model text: all parts of the reader use this, so that places, limits and
 * lack of memory are handled once.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One message about the text. Errors make it unusable, warnings do not. */
struct text_message {
    bool is_error;
    uint32_t line, column; /* from 1; column counts characters; 0: the text as a whole */
    uint32_t length;       /* characters to underline, at least 1 */
    char *text;            /* the fault, and the remedy */
};

/* All messages, in the order of their lines. Zero-initialise. */
struct text_messages {
    struct text_message *message;
    size_t n_message, n_error;
    size_t n_dropped; /* beyond TEXT_MAX_MESSAGES: counted, not kept */
};

enum { TEXT_MAX_MESSAGES = 100 };

void text_messages_fini(struct text_messages *messages);
/* Prints them as compilers do, with the line and a caret under the place:
 *     decay.ode:3:9: error: `kk` is not defined; did you mean `k`?
 *         y' = -kk*y
 *               ^~ */
void text_messages_print(const struct text_messages *messages, const char *text, size_t n_byte,
                         const char *origin, bool color, FILE *out);

/* A piece of the text; length 0: none. */
struct span {
    uint32_t offset, length;
};

/* The text being read, and the messages about it. `text` is NUL-terminated at text[n_byte]. */
struct source {
    const char *text;
    uint32_t n_byte;
    struct text_messages *messages;
    struct {
        uint32_t offset, line, column;
    } found;        /* a place found before; the next one is usually after it (zero: none) */
    bool no_memory; /* an allocation failed: discard everything that was read */
};

/* Where it is: the piece to underline. */
#define message_fault(source, ...) message_add(source, true, __VA_ARGS__)
#define message_warning(source, ...) message_add(source, false, __VA_ARGS__)
void message_add(struct source *source, bool is_error, struct span at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether one more fault would be kept: else what it costs to compose it can be saved. */
bool message_is_kept(const struct source *source);
/* By line and column. */
void message_sort(struct text_messages *messages);

/* Bytes of the UTF-8 character at p < end, 0 if it is none or a control character (tab is
 * allowed). */
size_t message_character(const char *p, const char *end);
