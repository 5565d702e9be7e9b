/* Names and meanings of limits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/limit.h"

#include <stddef.h>

#define PICK(table, number) ((number) >= 0 && (number) < N_LIMIT ? (table)[number] : NULL)

const char *limit_name(int number)
{
#define X(number_, name, meaning) [number_] = #name,
    static const char *const names[] = {LIMIT_LIST(X)};
#undef X
    return PICK(names, number);
}

const char *limit_meaning(int number)
{
#define X(number_, name, meaning) [number_] = meaning,
    static const char *const meanings[] = {LIMIT_LIST(X)};
#undef X
    return PICK(meanings, number);
}
