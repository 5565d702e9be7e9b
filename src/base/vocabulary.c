/* The words of the numbered lists, X(number, name, meaning), in outcome.h and method.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/method.h"
#include "base/outcome.h"

#include <stddef.h>

#define VOCABULARY_NAME(number, name, meaning) [number] = #name,
#define VOCABULARY_MEANING(number, name, meaning) [number] = meaning,
#define VOCABULARY_PICK(words, number) \
    ((number) >= 0 && (size_t)(number) < sizeof(words) / sizeof *(words) ? (words)[number] : NULL)

/* Defines WHAT_name and WHAT_meaning; both give NULL beyond the last number. */
#define VOCABULARY(what, LIST) \
    const char *what##_name(int number) \
    { \
        static const char *const words[] = {LIST(VOCABULARY_NAME)}; \
        return VOCABULARY_PICK(words, number); \
    } \
    const char *what##_meaning(int number) \
    { \
        static const char *const words[] = {LIST(VOCABULARY_MEANING)}; \
        return VOCABULARY_PICK(words, number); \
    }

#define OUTCOMES_ROW(number, name, success, meaning, advice) [number] = {#name, meaning, advice, \
    success},
static const struct {
    const char *name, *meaning, *advice;
    bool success;
} outcomes[] = {OUTCOME_LIST(OUTCOMES_ROW)};

const char *outcome_name(int outcome)
{
    return outcome >= 0 && outcome < N_OUTCOME ? outcomes[outcome].name : "unknown";
}
const char *outcome_meaning(enum outcome outcome)
{
    return outcome < N_OUTCOME ? outcomes[outcome].meaning : "unknown";
}
const char *outcome_advice(enum outcome outcome)
{
    return outcome < N_OUTCOME ? outcomes[outcome].advice : NULL;
}
bool outcome_is_success(enum outcome outcome)
{
    return outcome < N_OUTCOME && outcomes[outcome].success;
}

VOCABULARY(note, NOTE_LIST)
VOCABULARY(lack, LACK_LIST)
VOCABULARY(stop, STOP_LIST)
VOCABULARY(optimizer, OPTIMIZER_LIST)
VOCABULARY(gradient, GRADIENT_LIST)
VOCABULARY(limit, LIMIT_LIST)
