/* When to use colour and when to redraw lines: one policy for all text output.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

/* Decided by --color, then by NO_COLOR (set and not empty), then by whether `file` is a terminal other than "dumb". */
bool terminal_color(FILE *file, enum when when);
/* Whether lines may be redrawn: decided by --progress, then by whether `file` is a terminal other than "dumb". */
bool terminal_redraw(FILE *file, enum when when);
/* Columns of the terminal, 80 if unknown. */
int terminal_width(FILE *file);

/* Writes `n` bytes of untrusted text. Control sequences become '?': control characters except line breaks, also those of two
 * bytes in UTF-8, and characters that change the direction of writing. */
void terminal_put(FILE *file, const char *text, size_t n);
/* The same for a name; line breaks become '?', too. */
void terminal_put_name(FILE *file, const char *name);
