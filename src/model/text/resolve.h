/* What names mean once all statements are read, the order in which formulas can be worked out, and their values as
 * nodes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_TEXT_RESOLVE_H
#define MODEL_TEXT_RESOLVE_H

#include "model/text/symbol.h"

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

/* What is wrong with the model as a whole, and warnings; the equations are as complete as they can be. */
void check_whole(struct reading *reading);
/* Stops the reading if there is more of anything than a plugin may have. */
void check_table_size(struct reading *reading);
void check_unused(struct reading *reading);

/* Makes the equations of what was read; NULL with an error said or memory out (see reading). */
struct equations *equate(struct reading *reading, const char *origin);

#endif
