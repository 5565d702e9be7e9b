/* The table of error distributions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/error_kind.h"

#include "base/words.h"

#define ROW(id, word, text_word, name, growth, is_log, is_drawn, objective, objective_text) \
    [ERROR_##id] = {name, GROWTH_##growth, is_log, is_drawn, objective, objective_text},
#define TUNING(id, letter, option, standard, ...) [ERROR_##id] = {letter, option, standard},
#define WORD(id, word, ...) [ERROR_##id] = word,
#define TEXT_WORD(id, word, text_word, ...) [ERROR_##id] = text_word,

const struct error_row error_row[N_ERROR] = {ERROR_LIST(ROW)};
const struct error_tuning error_tuning[N_ERROR] = {ERROR_TUNING_LIST(TUNING)};
const char *const error_kind_word[N_ERROR + 1] = {ERROR_LIST(WORD)};
const char *const error_kind_text_word[N_ERROR + 1] = {ERROR_LIST(TEXT_WORD)};
const char error_kind_default[] = "default";

int error_kind_of(const char *word)
{
    for (int k = 0; word && k < N_ERROR; k++)
        if (nearest_is_same(word, error_kind_word[k]))
            return k;
    return -1;
}

bool error_kind_is_square(enum error_kind kind) { return error_row[kind].growth == GROWTH_SQUARE; }

bool error_kinds_mix(const enum error_kind *kind, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (kind[i] != kind[0] && !(error_kind_is_square(kind[i]) && error_kind_is_square(kind[0])))
            return true;
    return false;
}

int error_kinds_need_sigma(const enum error_kind *kind, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (error_row[kind[i]].growth == GROWTH_OTHER)
            return (int)i;
    return error_kinds_mix(kind, n) ? (int)n : -1;
}
