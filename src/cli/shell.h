/* Words for a POSIX shell, quoted if needed, so that a printed command can be pasted and a script
 * does what was meant.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdio.h>

void shell_word(FILE *out, const char *word);
/* The words, each after a blank. */
void shell_words(FILE *out, int n, char *const *words);
/* A command and its words as a line to paste; free() it. NULL: out of memory. */
char *shell_line(const char *command, int n, char *const *words);
