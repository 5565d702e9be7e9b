/* Names and classes of error distributions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/error_kind.h"

#include "base/nearest.h"

const char *const error_kind_word[N_ERROR + 1] = {
    [ERROR_NORMAL] = "normal", [ERROR_LOG_NORMAL] = "log-normal", [ERROR_LAPLACE] = "laplace", [ERROR_HUBER] = "huber",
    [ERROR_STUDENT] = "student"};
const char error_kind_default[] = "default";

int error_kind_of(const char *word)
{
    for (int k = 0; word && k < N_ERROR; k++)
        if (nearest_is_same(word, error_kind_word[k]))
            return k;
    return -1;
}

bool error_kind_is_square(enum error_kind kind) { return kind == ERROR_NORMAL || kind == ERROR_LOG_NORMAL; }

bool error_kinds_mix(const enum error_kind *kind, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (kind[i] != kind[0] && !(error_kind_is_square(kind[i]) && error_kind_is_square(kind[0])))
            return true;
    return false;
}
