/* The nearest match of a mistyped name, for messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* The candidate that a user who typed `name` most likely meant, or NULL if none is near. Near means a small edit distance
 * (a swap of neighbours counts once, a difference in case half), or that one is a prefix of the other.
 * Candidates may be NULL. */
const char *nearest_name(const char *name, const char *const *candidates, size_t n_candidate);

enum { NEAREST_HINT = 100 };
/* "" if no candidate is near; otherwise the nearest one between the texts `before` and `behind`: "; did you mean 'rtol'?". */
const char *nearest_hint(char hint[NEAREST_HINT], const char *before, const char *behind, const char *name,
                         const char *const *candidates, size_t n_candidate);

/* Whether two words are the same but for their hyphens: "log-normal" and "lognormal". */
bool nearest_is_same(const char *word, const char *other);

#endif
