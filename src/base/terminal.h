/* When to colour and when to redraw: one policy for everything that a person reads.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

/* --color, then NO_COLOR (set and not empty), then whether `file` is a terminal that is not called "dumb". */
bool terminal_color(FILE *file, enum when when);
/* Whether a line may be redrawn: --progress, then whether `file` is a terminal that is not called "dumb". */
bool terminal_redraw(FILE *file, enum when when);
/* Columns of the terminal, 80 where that is not known. */
int terminal_width(FILE *file);

/* Writes `n` bytes that may come from a stranger: what a terminal takes for orders becomes '?' (control characters but
 * line breaks, also those of two bytes in UTF-8, and what reverses the direction of writing). */
void terminal_put(FILE *file, const char *text, size_t n);
/* The same for a name, whose line breaks become '?', too. */
void terminal_put_name(FILE *file, const char *name);

#endif
