/* The names of a model text: found, defined, excused, and guessed when they are mistyped.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_SYMBOL_H
#define MODEL_TEXT_SYMBOL_H

#include "model/text/reading.h"

/* The symbol of that name, made if there is none; NONE when the reading is over. */
uint32_t symbol_of(struct reading *reading, struct span name);
/* Gives a name its meaning; false if it has another already or is reserved, which is then said. */
bool symbol_define(struct reading *reading, uint32_t which, enum symbol_kind kind, struct span place, uint32_t line);
/* A statement that would have defined the name was not understood: nobody is to be told that it is unknown. */
void symbol_excuse(struct reading *reading, struct span name);
/* The symbol of that name; NONE if there is none. */
uint32_t symbol_find(const struct reading *reading, struct span name);
const char *symbol_kind_name(enum symbol_kind kind); /* "a parameter" */
/* The name that a user who wrote `name` most likely meant, or "" (copied into text). */
struct name_text { char text[READING_MAX_NAME + 1]; };
struct name_text symbol_nearest(const struct reading *reading, struct span name, bool function);
/* What to write instead of an unknown name that other languages have; NULL if it is none (slip.c). */
const char *slip_name_hint(const struct reading *reading, struct span name, bool as_function);
/* The first word of a statement that is nearest. */
struct name_text symbol_statement_word(const struct reading *reading, struct span name);

#endif
