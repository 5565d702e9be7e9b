/* Names and meanings of outcomes and notes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/outcome.h"

#include <stddef.h>

static const struct { const char *name, *meaning; bool success; } outcomes[] = {
#define X(number, name, success, meaning) [number] = {#name, meaning, success},
    OUTCOME_LIST(X)
#undef X
};

static const struct { const char *name, *meaning; } notes[] = {
#define X(bit, name, meaning) [bit] = {#name, meaning},
    NOTE_LIST(X)
#undef X
};

const char *outcome_name(enum outcome outcome) { return outcome < N_OUTCOME ? outcomes[outcome].name : "unknown"; }
const char *outcome_meaning(enum outcome outcome) { return outcome < N_OUTCOME ? outcomes[outcome].meaning : "unknown"; }
bool outcome_is_success(enum outcome outcome) { return outcome < N_OUTCOME && outcomes[outcome].success; }

const char *note_meaning(int bit)
{
    return bit >= 0 && (size_t)bit < sizeof notes / sizeof *notes ? notes[bit].meaning : NULL;
}

const char *note_name(int bit)
{
    return bit >= 0 && (size_t)bit < sizeof notes / sizeof *notes ? notes[bit].name : NULL;
}

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))
#define PICK(array, number) ((number) >= 0 && (number) < COUNT(array) ? (array)[number] : NULL)

const char *stop_name(int number)
{
#define X(number_, name, meaning) [number_] = #name,
    static const char *const names[] = {STOP_LIST(X)};
#undef X
    return PICK(names, number);
}

const char *stop_meaning(int number)
{
#define X(number_, name, meaning) [number_] = meaning,
    static const char *const meanings[] = {STOP_LIST(X)};
#undef X
    return PICK(meanings, number);
}

const char *lack_name(int number)
{
#define X(number_, name, meaning) [number_] = #name,
    static const char *const names[] = {LACK_LIST(X)};
#undef X
    return PICK(names, number);
}

const char *lack_meaning(int number)
{
#define X(number_, name, meaning) [number_] = meaning,
    static const char *const meanings[] = {LACK_LIST(X)};
#undef X
    return PICK(meanings, number);
}

const char *optimizer_name(int number)
{
#define X(number_, name) [number_] = #name,
    static const char *const names[] = {OPTIMIZER_LIST(X)};
#undef X
    return PICK(names, number);
}

const char *gradient_name(int number)
{
#define X(number_, name) [number_] = #name,
    static const char *const names[] = {GRADIENT_LIST(X)};
#undef X
    return PICK(names, number);
}
