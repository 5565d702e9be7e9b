/* The names of a model text, found, defined, excused, and guessed when they are mistyped; what they mean once all statements
 * are read, the order in which formulas can be worked out, and their values as nodes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_RESOLVE_H
#define MODEL_TEXT_RESOLVE_H

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
enum sought { SEEK_VALUE, SEEK_FUNCTION, SEEK_STATEMENT }; /* the first word of a statement */
struct name_text symbol_nearest(const struct reading *reading, struct span name, enum sought sought);
/* What to write instead of an unknown name that other languages have; NULL if it is none (slip.c). */
const char *slip_name_hint(const struct reading *reading, struct span name, bool as_function);

/* Reports unknown names and wrong uses; marks the formulas that have them as failed. */
void resolve_names(struct reading *reading);
/* Fills reading->order, reporting cycles, and what each symbol depends on. What needs a failed one has failed. */
void resolve_order(struct reading *reading);
/* Reports formulas that hold what may not be in them: variables in constants, states in initial values. */
void resolve_roles(struct reading *reading);
/* Marks what has a way into the results. */
void resolve_use(struct reading *reading);

struct machine;

/* The values of all symbols in reading->order; those whose value cannot be found out are failed. */
void evaluate_symbols(struct machine *machine);
/* The value of a formula, or NODE_NONE where it has failed (or `formula` is NONE). */
node evaluate_formula(struct machine *machine, uint32_t formula, bool in_derivative);
/* NULL when memory is out. The graph is the caller's. */
struct machine *machine_new(struct reading *reading, struct graph *graph);
void machine_free(struct machine *machine);

/* Makes the equations of what was read; NULL with an error said or memory out (see reading). */
struct equations *equate(struct reading *reading, const char *origin);

#endif
