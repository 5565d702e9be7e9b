/* Formulas with functions and rules written out, where something is in them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "sbml/document.h"

/* A formula with room for n operands. NULL: no memory, which is a fault, or more formulas have been
 * made than a file of any use needs. */
struct math *math_new(struct document *document, enum math_kind kind, const char *text,
                      uint32_t n);

/* Calls `visit` for what a formula's value depends on, directly or by assignment rules and
 * reactions: once for each item; and for each use of time, rateOf or delay, with item NULL. */
typedef void math_visitor(void *context, const struct math *math, struct item *item);
void math_visit(struct document *document, const struct math *math, math_visitor *visit,
                void *context);

/* Whether a formula's value depends on an item; NULL: on time. */
bool math_depends(struct document *document, const struct math *math, const struct item *on);

/* A copy in which functions and rules that depend on the item (NULL: time) are written out.
 * NULL: it cannot be made, for the reason *why; or a fault. */
struct math *math_write_out(struct document *document, struct math *math, const struct item *on,
                            const char **why);

/* Whether an assignment rule determines an item. */
static inline bool is_ruled(const struct item *item) { return item->rule && !item->is_rate_rule; }

/* Writes out the functions of triggers that test for equality in or with them, and delay() where
 * what is delayed follows from time alone; another delay() is a fault. */
enum status expand_formulas(struct document *document);
