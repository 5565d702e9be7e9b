/* Names of a model text: finding, defining and excusing them, and guesses for misspelt ones;
 * their meaning once all statements are read, the order of evaluation, and their values as
 * nodes.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/text/reading.h"

/* The symbol with this name, added if it is new; NONE: the reading is over. */
uint32_t symbol_of(struct reading *reading, struct span name);
/* Gives a name its meaning; false, after a message: it has one already or is reserved. */
bool symbol_define(struct reading *reading, uint32_t which, enum symbol_kind kind,
                   struct span place, uint32_t line);
/* The statement that would define the name was faulty: the name must not be reported as unknown. */
void symbol_excuse(struct reading *reading, struct span name);
/* The symbol with this name, or NONE. */
uint32_t symbol_find(const struct reading *reading, struct span name);
const char *symbol_kind_name(enum symbol_kind kind); /* "a parameter" */
/* The most likely intended name for the misspelt `name`, or "" (copied into text). */
struct name_text { char text[READING_SHOWN_NAME + 1]; };
enum sought { SEEK_VALUE, SEEK_FUNCTION, SEEK_STATEMENT }; /* the first word of a statement */
struct name_text symbol_nearest(const struct reading *reading, struct span name,
                                enum sought sought);
/* What to write instead of an unknown name that other languages have; NULL if it is none
 * (slip.c). */
const char *slip_name_hint(const struct reading *reading, struct span name, bool as_function);

/* Reports unknown names and wrong uses; marks their formulas as failed. */
void resolve_names(struct reading *reading);
/* Fills reading->order, reports cycles, and finds what each symbol depends on. Symbols that need
 * a failed one fail. */
void resolve_order(struct reading *reading);
/* Reports formulas with names that they may not contain: variables in constants, states in
 * initial values. */
void resolve_roles(struct reading *reading);
/* Marks symbols that affect a result. */
void resolve_use(struct reading *reading);

struct machine;

/* Computes the values of all symbols in reading->order; marks as failed those without one. */
void evaluate_symbols(struct machine *machine);
/* The value of a formula; NODE_NONE if it has failed or is NONE. */
node evaluate_formula(struct machine *machine, uint32_t formula, bool in_derivative);
/* Bits 1 << GRAPH_TIME, ... of the leaves that a node depends on. */
unsigned evaluate_dependence(struct machine *machine, node which);
/* NULL: out of memory. The caller owns the graph. */
struct machine *machine_new(struct reading *reading, struct graph *graph);
void machine_free(struct machine *machine);

/* Makes the equations; NULL after a reported fault or when out of memory (see reading). */
struct equations *equate(struct reading *reading, const char *origin);
