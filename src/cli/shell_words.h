/* Words for a POSIX shell: what the user sees can be pasted, and what is put into a script means what was meant.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SHELL_WORDS_H
#define CLI_SHELL_WORDS_H

#include <stdio.h>

/* The word, in single quotes where a shell would take it for something else. */
void shell_word(FILE *out, const char *word);
/* The words, a blank before each. */
void shell_words(FILE *out, int n, char *const *words);
/* A command and its words as a line that can be pasted; free() it. NULL: out of memory. */
char *shell_line(const char *command, int n, char *const *words);

#endif
