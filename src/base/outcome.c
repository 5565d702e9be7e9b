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
