/* Detects states that fall below zero although the equations do not allow it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_POSITIVE_H
#define ODE_POSITIVE_H

#include <stdbool.h>
#include <stddef.h>

struct workspace;
struct positive;

/* NULL: out of memory. */
struct positive *positive_new(size_t n_state);
void positive_free(struct positive *positive); /* NULL is legal */

/* Call this at the initial state y. */
void positive_begin(struct workspace *ws, const double *y);
/* Call this after a step, with its end in ws->y: returns a state that is impossibly far below zero, or n_state. */
size_t positive_look(struct workspace *ws);

#endif
