/* Reads conditions, as of --where: comparisons of a name with a number or a word, joined by "and".
 * The caller knows what the names mean.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/words.h"

#include <stdbool.h>

enum condition_operator { IS_LESS, IS_MORE, IS_LESS_OR_SAME, IS_MORE_OR_SAME, IS_SAME, IS_OTHER };
/* The operator as it is written, "<" say. */
const char *condition_operator_text(enum condition_operator comparison);
/* Whether the comparison of x with y holds. NaN is a missing value, and equals only NaN. */
bool condition_holds(enum condition_operator comparison, double x, double y);

struct condition {
    char name[NAME_BYTES + 20], word[NAME_BYTES + 20];
    enum condition_operator comparison;
};
/* Takes the first comparison of *text, which then points behind it and its "and". *more: there is
 * an "and", and another comparison must follow. STATUS_USAGE: the text is no comparison. */
enum status condition_next(const char **text, struct condition *condition, bool *more,
                           struct error *error);
