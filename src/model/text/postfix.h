/* Single formulas of other files, such as a cell of a PEtab table: read by the parser of model
 * text in the words of their own language, computed, and written as model text.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model/text/code.h"
#include "model/text/token.h"

/* A formula. CODE_NAME has the number of its name as symbol; there is neither CODE_TIME nor
 * CODE_ARGUMENT nor CODE_CALL. */
struct postfix {
    uint32_t n;
    const struct instruction *code;
    const char *const *name;
    double *stack; /* room for computing it */
};

/* Reads formulas one after another. One thread at a time. */
struct postfix_reader;

/* NULL: out of memory. The dialect must outlive it. */
struct postfix_reader *postfix_reader_new(const struct dialect *dialect);
void postfix_reader_free(struct postfix_reader *reader);

/* Reads a text into the arena. STATUS_BAD_MODEL: postfix_messages says what is wrong;
 * STATUS_NO_MEMORY. */
enum status postfix_read(struct postfix_reader *reader, struct arena *arena, const char *text,
                         struct postfix *postfix);
/* Of the last text, until the next one. */
const struct text_messages *postfix_messages(const struct postfix_reader *reader);

/* The name, if the formula is nothing else; or NULL. */
const char *postfix_name(const struct postfix *postfix);
bool postfix_is_number(const struct postfix *postfix); /* it contains no name */
/* Calls `see` for each name, from left to right. */
void postfix_names(const struct postfix *postfix, void (*see)(void *context, const char *name),
                   void *context);
/* The value; `value_of` gives those of names (NULL: there is none). Truth is 1 or 0. */
double postfix_value(const struct postfix *postfix,
                     double (*value_of)(void *context, const char *name), void *context);

/* How a formula is written. */
struct postfix_writer {
    /* what to write for a name: a name, a number, a call, or something in parentheses */
    const char *(*name_of)(void *context, const char *name);
    void (*put)(void *context, const char *text); /* appends */
    void *context;
};
/* Writes model text, with as few parentheses as its grammar needs. The arena gets its stack.
 * False: out of memory. */
bool postfix_write(const struct postfix *postfix, const struct postfix_writer *writer,
                   struct arena *arena);
