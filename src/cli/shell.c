/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/shell.h"

#include <stdlib.h>
#include <string.h>

void shell_word(FILE *out, const char *word)
{
    if (word[0] && !word[strcspn(word, " \t\n'\"\\$`&|;<>()*?[]#~!{}")]) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            fputs("'\\''", out);
        else
            putc(*c, out);
    }
    putc('\'', out);
}

void shell_words(FILE *out, int n, char *const *words)
{
    for (int i = 0; i < n; i++) {
        putc(' ', out);
        shell_word(out, words[i]);
    }
}

char *shell_line(const char *command, int n, char *const *words)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(command, out);
    shell_words(out, n, words);
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}
