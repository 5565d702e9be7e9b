/* Model text: the front end that turns equations as people write them (man 5 stiffit-model) into struct equations.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_TEXT_H
#define MODEL_TEXT_TEXT_H

#include "model/graph/equations.h"

#include <stdio.h>

/* One thing to say about the text. Errors make it unusable, warnings do not. */
struct text_message {
    bool is_error;
    uint32_t line, column; /* from 1; column counts characters; 0: the text as a whole */
    uint32_t length;       /* characters to underline, at least 1 */
    char *text;            /* what is wrong and what to do */
};

/* All of them, in the order of their lines. Zero-initialise to start. */
struct text_messages {
    struct text_message *message;
    size_t n_message, n_error;
    size_t n_dropped; /* beyond TEXT_MAX_MESSAGES: counted, not kept */
};

enum { TEXT_MAX_MESSAGES = 100 };
#define TEXT_MAX_BYTES ((size_t)64 << 20)

/* Parses `n_byte` bytes (which may hold anything). Every fault is found in one go and put into `messages`; with faults the
 * status is STATUS_BAD_MODEL and `error` says the first one in one line ("PATH:LINE:COLUMN: ...") and how many more there
 * are; *equations is NULL then. `origin` names the text in messages. Otherwise STATUS_NO_MEMORY or STATUS_OK; there may be
 * warnings. Pure: reads nothing but its arguments; no locale; memory and time are bounded by a small multiple of n_byte
 * or by a message that the model is too large. */
enum status text_parse(const char *text, size_t n_byte, const char *origin, struct equations **equations,
                       struct text_messages *messages, struct error *error);

void text_messages_fini(struct text_messages *messages);
/* Prints them as compilers do, with the line and a caret under the place:
 *     decay.ode:3:9: error: `kk` is not defined; did you mean `k`?
 *         y' = -kk*y
 *               ^~
 */
void text_messages_print(const struct text_messages *messages, const char *text, size_t n_byte, const char *origin,
                         bool color, FILE *out);

#endif
