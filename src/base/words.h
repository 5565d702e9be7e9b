/* Words and numbers as text: the nearest match of a mistyped name, numbers in the fewest digits
 * that read back to the same bits, UTF-8 and Latin-1, which old programs wrote.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* The candidate that a user who typed `name` most likely meant, or NULL if none is near. Near
 * means a small edit distance (a swap of neighbours counts once, a difference in case half), or
 * that one is a prefix of the other. Candidates may be NULL. */
const char *nearest_name(const char *name, const char *const *candidates, size_t n_candidate);

enum { NEAREST_HINT = 100 };
enum { NAME_BYTES = 4096 }; /* of the longest name or id, with its NUL */
/* "" if no candidate is near; otherwise the nearest one between the texts `before` and `behind`:
 * "; did you mean 'rtol'?". */
const char *nearest_hint(char hint[NEAREST_HINT], const char *before, const char *behind,
                         const char *name, const char *const *candidates, size_t n_candidate);

/* The index of a name among n; -1: it is not one of them. */
int words_find(const char *name, const char *const *names, size_t n);
/* What is behind the last slash of a path. */
const char *words_file(const char *path);
/* Appends to a text as far as it has room, `size` bytes in all. */
void words_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "s", and "" for one. */
static inline const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* Whether two words are the same but for their hyphens: "log-normal" and "lognormal". */
bool nearest_is_same(const char *word, const char *other);

enum { NUMBER_SIZE = 32 };

/* 0.1 is "0.1", not "0.10000000000000001"; a point in every locale. Not finite: "nan", "inf",
 * "-inf". Returns text. */
char *number_text(char text[NUMBER_SIZE], double value);

/* Rounded to 15 digits: 1e-9 if binary division gave 9.999999999999999e-10. */
double number_decimal(double value);

/* Length of the well-formed UTF-8 sequence at `s`, 0 if there is none (Unicode standard, table
 * 3-7). A NUL ends it. */
int utf8_length(const unsigned char *s);
bool utf8_is_valid(const char *text);
/* Writes text of Latin-1 as UTF-8: at most 2 strlen(text) + 1 bytes. */
void utf8_from_latin1(const char *text, char *out);
/* Replaces those of n texts that are not UTF-8, taken as Latin-1; NULL stays. The arena gives the
 * memory. False: there is none. */
bool utf8_make_valid(struct arena *arena, size_t n, char **text);
