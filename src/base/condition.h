/* Reads conditions such as --where has: comparisons of a named thing with a number or word, joined
 * by "and". What the names mean is the caller's business.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/words.h"

#include <stdbool.h>

enum condition_operator { IS_LESS, IS_MORE, IS_LESS_OR_SAME, IS_MORE_OR_SAME, IS_SAME, IS_OTHER };
/* "<", ... */
const char *condition_operator_text(enum condition_operator comparison);
/* Whether x compares with y like this. NaN is a missing value: only itself is the same. */
bool condition_holds(enum condition_operator comparison, double x, double y);

struct condition {
    char name[NAME_BYTES + 20], word[NAME_BYTES + 20];
    enum condition_operator comparison;
};
/* Takes the first comparison of *text, which then points behind it and its "and". *more: there is
 * an "and", and another must follow. STATUS_USAGE: it is no comparison. */
enum status condition_next(const char **text, struct condition *condition, bool *more,
                           struct error *error);
