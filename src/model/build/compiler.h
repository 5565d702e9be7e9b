/* Which C compiler there is, and what its code would depend on: the compiler itself and this machine's CPU.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_BUILD_COMPILER_H
#define MODEL_BUILD_COMPILER_H

#include "base/error.h"
#include "base/sha256.h"

#include <stddef.h>

enum { COMPILER_MAX_WORD = 32 };

struct compiler {
    char *text;                    /* $CC or a name, cut into words */
    char *word[COMPILER_MAX_WORD]; /* n_word and a NULL: the program and the user's own options for it */
    size_t n_word;
};

/* $CC cut at blanks if it is set, else the first of cc, gcc and clang on the PATH. STATUS_BAD_MODEL: there is none. */
enum status compiler_find(struct compiler *compiler, struct error *error);
void compiler_fini(struct compiler *compiler);

/* The words before the first option: "ccache gcc" of "ccache gcc -m64". */
size_t compiler_n_head(const struct compiler *compiler);

/* Adds what tells this compiler from another one without starting it: its words, and path, size and time of change of
 * every file that they name. */
void compiler_hash(const struct compiler *compiler, struct sha256 *hash);

/* Adds what decides whether code runs here: machine and C library; and if `native`, what the compiler would tune for:
 * the CPU's model and features. */
void machine_hash(bool native, struct sha256 *hash);

#endif
