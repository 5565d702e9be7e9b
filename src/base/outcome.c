/* Names and meanings of outcomes and notes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/outcome.h"

#include "base/vocabulary.h"

static const struct { const char *name, *meaning, *advice; bool success; } outcomes[] = {
#define X(number, name, success, meaning, advice) [number] = {#name, meaning, advice, success},
    OUTCOME_LIST(X)
#undef X
};

const char *outcome_name(enum outcome outcome) { return outcome < N_OUTCOME ? outcomes[outcome].name : "unknown"; }
const char *outcome_meaning(enum outcome outcome) { return outcome < N_OUTCOME ? outcomes[outcome].meaning : "unknown"; }
const char *outcome_advice(enum outcome outcome) { return outcome < N_OUTCOME ? outcomes[outcome].advice : NULL; }
bool outcome_is_success(enum outcome outcome) { return outcome < N_OUTCOME && outcomes[outcome].success; }

VOCABULARY(note, NOTE_LIST)
VOCABULARY(lack, LACK_LIST)
