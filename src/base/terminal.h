/* When to use colour and when to redraw lines: one policy for all text output.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER };

/* Decided by --color, then by NO_COLOR (set and not empty), then by whether `file` is a terminal
 * other than "dumb". */
bool terminal_color(FILE *file, enum when when);
/* Whether lines may be redrawn: decided by --progress, then by whether `file` is a terminal
 * other than "dumb". */
bool terminal_redraw(FILE *file, enum when when);
/* Columns of the terminal, 80 if unknown. */
int terminal_width(FILE *file);

/* Whether it is a terminal of any kind, which obeys control sequences. */
bool terminal_is(FILE *file);
/* The length of the control sequence at `p`, of n > 0 bytes: a control character, also one of two
 * bytes in UTF-8, or one that changes the direction of writing. 0: there is none. */
size_t terminal_order(const unsigned char *p, size_t n);

/* Writes `n` bytes of untrusted text. Control sequences become '?': control characters except
 * line breaks, also those of two bytes in UTF-8, and characters that change the direction of
 * writing. */
void terminal_put(FILE *file, const char *text, size_t n);
/* Writes an untrusted name: in it line breaks become '?', too. */
void terminal_put_name(FILE *file, const char *name);
