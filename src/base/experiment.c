/* The lists of columns as tables.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/experiment.h"

#include "base/arena.h"

#include <math.h>

#define NAMES_NUMBER(path) NULL
#define NAMES_WHOLE(path) NULL
#define NAMES_FLAG(path) NULL
#define NAMES_ROW(path) NULL
#define NAMES_INDEX(path) path "_names"
#define KIND_NUMBER COLUMN_DOUBLE
#define KIND_WHOLE COLUMN_UINT32
#define KIND_FLAG COLUMN_INT8
#define KIND_INDEX COLUMN_UINT32
#define KIND_ROW COLUMN_INT64
#define ROW_NUMBER false
#define ROW_WHOLE false
#define ROW_FLAG false
#define ROW_INDEX false
#define ROW_ROW true
/* In files, an index that may be -1 is signed. */
#define COLUMN(owner, group, field, name_, type, presence_, none_, least_, most_, set_, meaning_) \
    {.name = name_, .path = group "/" name_, .meaning = meaning_, .what = meaning_, \
     .names = NAMES_##type(group "/" name_), \
     .kind = (least_) < 0 ? COLUMN_INT64 : KIND_##type, .presence = COLUMN_##presence_, \
     .size = sizeof(record_##type), .offset = offsetof(struct owner, field), \
     .least = least_, .most = most_, .none = none_, .is_row = ROW_##type, .set = set_},
#define DOSE(...) COLUMN(dose, "/doses", __VA_ARGS__)
#define KNOT(...) COLUMN(knot, "/inputs", __VA_ARGS__)
#define CALL(...) COLUMN(event_call, "/events", __VA_ARGS__)
#define SUBSTITUTE(...) COLUMN(substitute, "/substitutes", __VA_ARGS__)
static const struct column_info dose_column[] = {DOSE_LIST(DOSE)};
static const struct column_info knot_column[] = {KNOT_LIST(KNOT)};
static const struct column_info call_column[] = {CALL_LIST(CALL)};
static const struct column_info substitute_column[] = {SUBSTITUTE_LIST(SUBSTITUTE)};
static const char *const dose_word[] = {NULL, NULL, "side"},
                         *const substitute_word[] = {NULL, NULL, "part"};

#define RECORD(type, path_, what_, column_, word_, n_word_) \
    {.path = path_, .what = what_, .size = sizeof(struct type), \
     .n = sizeof column_ / sizeof *column_, .column = column_, .word = word_, .n_word = n_word_}
const struct record_info record_info[N_RECORD] = {
    [RECORD_DOSE] = RECORD(dose, "/doses", "doses", dose_column, dose_word, 3),
    [RECORD_KNOT] = RECORD(knot, "/inputs", "knots of inputs", knot_column, NULL, 0),
    [RECORD_CALL] = RECORD(event_call, "/events", "events", call_column, NULL, 0),
    [RECORD_SUBSTITUTE] = RECORD(substitute, "/substitutes", "substitutes", substitute_column,
                                 substitute_word, 3)};

#define KIND_TEXT COLUMN_TEXT
#define KIND_NUMBERS COLUMN_DOUBLE
#define WIDTH_TEXT 1
#define WIDTH_INDEX 1
#define WIDTH_NUMBER 1
#define WIDTH_NUMBERS 0
#define IN_BOTH true
#define IN_ONE false
#define CONSTANT(field, name_, type, where, meaning_) \
    {.name = name_, .meaning = meaning_, .by_dataset = IN_##where, .width = WIDTH_##type, \
     .kind = CONSTANT_##field == CONSTANT_steady ? COLUMN_INT64 : KIND_##type},
const struct column_info constant_columns[N_CONSTANT] = {CONSTANT_LIST(CONSTANT)};

#define MISSING(field, name, type, presence, none, ...) .field = (record_##type)(none),
const struct dose dose_none = {DOSE_LIST(MISSING)};
const struct substitute substitute_none = {SUBSTITUTE_LIST(MISSING)};

bool dose_is_apart(const struct dose *dose)
{
    bool repeats = (dose->count > 1 || dose->steady) && dose->interval > 0;
    double last = dose->time + (dose->count > 1 ? dose->count - 1.0 : 0) * dose->interval;
    return !repeats || !isfinite(last) ||
           (dose->time + dose->interval > dose->time && last - dose->interval < last);
}

bool experiment_copy(struct experiment *to, const struct experiment *from, size_t n_covariate,
                     size_t n_input, struct arena *arena)
{
    struct input *input = arena_copy(arena, from->input, n_input * sizeof *input);
    *to = *from;
    to->id = from->id ? arena_strdup(arena, from->id) : NULL;
    to->covariate = arena_copy(arena, from->covariate, n_covariate * sizeof *to->covariate);
    to->dose = arena_copy(arena, from->dose, from->n_dose * sizeof *to->dose);
    to->call = arena_copy(arena, from->call, from->n_call * sizeof *to->call);
    to->substitute =
        arena_copy(arena, from->substitute, from->n_substitute * sizeof *to->substitute);
    to->input = input;
    for (size_t i = 0; input && i < n_input; i++) {
        input[i].time = arena_copy(arena, input[i].time, input[i].n * sizeof *input[i].time);
        input[i].value = arena_copy(arena, input[i].value, input[i].n * sizeof *input[i].value);
        if (!input[i].time || !input[i].value)
            return false;
    }
    return (to->id || !from->id) && to->covariate && to->dose && to->call && to->substitute &&
           input;
}
