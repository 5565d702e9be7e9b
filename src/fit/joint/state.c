/* The state of a fit between two steps, as bytes from which another process continues. What a
 * block of many derives from its evaluation (triangles, rows for the shared parameters) is left
 * out: evaluations are pure, so one more at the best point gives the same bits. A single block,
 * whose evaluations are kept, is there as a whole. Numbers are in this machine's order, and
 * structures as this build lays them out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/cursor.h"
#include "fit/joint/internal.h"
#include "fit/objective/start.h"
#include "fit/search/descent.h"

#include <stdlib.h>

enum { FORMAT = 23, MAX_SHARED = 1 << 20 };

static void pass_numbers(struct cursor *cursor, struct joint *joint)
{
    FIELD(joint->start.n_redrawn);
    FIELD(joint->confirm);
    FIELD(joint->above.s);
    FIELD(joint->above.n_group);
    FIELD(joint->above.f);
    FIELD(joint->search.has_lowest);
    FIELD(joint->search.lowest);
    FIELD(joint->search.requested);
    FIELD(joint->search.loose);
    FIELD(joint->search.doubt);
    FIELD(joint->search.n_iteration);
    FIELD(joint->search.n_plain);
    FIELD(joint->asker.accuracy);
    FIELD(joint->part.stride);
    FIELD(joint->end.has_best);
    FIELD(joint->search.stopping);
    FIELD(joint->point.f);
    FIELD(joint->asker.start_f);
    FIELD(joint->asker.start_tighter);
    FIELD(joint->asker.notes);
    FIELD(joint->asker.reason);
    FIELD(joint->asker.is_sigma_known);
    FIELD(joint->asker.objective.has_offset);
    FIELD(joint->form);
    FIELD(joint->line.damping);
    FIELD(joint->line.growth);
    FIELD(joint->asker.objective.n_row);
}

static void pass_group(struct cursor *cursor, struct joint_group *group, size_t n)
{
    ARRAY(group->reduced.theta, n);
    ARRAY(group->reduced.scale, n);
    FIELD(group->reach);
}

static void pass_arrays(struct cursor *cursor, struct joint *joint)
{
    struct trust_model *shared = &joint->search.model;
    size_t s = joint->above.s;
    shared->n = s;
    ARRAY(joint->above.theta, s);
    ARRAY(joint->asker.map.size, s);
    ARRAY(joint->point.gradient, s);
    trust_model_pass(cursor, shared);
    for (size_t g = 0; joint->levels.n_column && g < joint->levels.n_group[0]; g++) {
        struct joint_group none = {.n = 0}; /* passed over */
        pass_group(cursor, joint->above.group ? &joint->above.group[g] : &none,
                   joint->above.n_group);
    }
}

static void pass_block(struct cursor *cursor, struct joint_block *block)
{
    FIELD(block->n);
    FIELD(block->n_row);
    FIELD(block->reach);
    FIELD(block->n_bounded);
    FIELD(block->is_curved);
    FIELD(block->best.is_curved);
    FIELD(block->best.f);
    FIELD(block->best.misfit);
    FIELD(block->outcome);
    FIELD(block->is_out);
    FIELD(block->has_crashed);
    FIELD(block->engine);
    FIELD(block->gradient);
    FIELD(block->used);
    FIELD(block->seconds);
    FIELD(block->notes);
    FIELD(block->reason);
}

static void pass_own(struct cursor *cursor, struct joint_block *block)
{
    ARRAY(block->best.theta, block->n);
    ARRAY(block->best.scale, block->n);
}

static void pass_head(struct cursor *cursor, const struct joint *joint, bool *is_ours)
{
    size_t expected[] = {FORMAT, sizeof joint->search.stopping, joint->ranks.n_block,
                         joint->n_parameter, joint->task, joint->descends,
                         joint->session ? sizeof *joint->session : 0},
           found[sizeof expected / sizeof *expected];
    memcpy(found, expected, sizeof found);
    pass_over(cursor, found, sizeof found);
    *is_ours = !cursor->is_bad && !memcmp(found, expected, sizeof found);
}

/* Its size cannot be told before it has been opened. */
static void save_session(struct cursor *cursor, struct joint_session *session)
{
    struct cursor measure = {.at = 0};
    joint_session_pass(&measure, session);
    FIELD(measure.at);
    joint_session_pass(cursor, session);
}

static size_t save(struct joint *joint, unsigned char *to)
{
    const struct joint_upper_method *upper = joint->upper.method;
    struct cursor pass = {.to = to}, *cursor = &pass;
    bool is_ours;
    if (joint->ranks.rank == 0) { /* the others have the same */
        pass_head(cursor, joint, &is_ours);
        pass_numbers(cursor, joint);
        pass_arrays(cursor, joint);
        if (upper)
            upper->pass_search(cursor, joint);
        if (joint->descends)
            descent_pass(cursor, joint->descent);
    }
    for (size_t i = 0; i < joint->n_block; i++) {
        pass_block(cursor, &joint->block[i]);
        pass_own(cursor, &joint->block[i]);
        if (upper)
            upper->pass_block(cursor, joint, &joint->block[i].upper);
    }
    if (joint->session)
        save_session(cursor, joint->session);
    return cursor->at;
}

unsigned char *joint_save(struct joint *joint, size_t *n)
{
    *n = save(joint, NULL);
    unsigned char *bytes = calloc(*n + 1, 1);
    if (bytes)
        save(joint, bytes);
    return bytes;
}

static bool is_sound(const struct joint *joint)
{
    bool is_good = joint->asker.accuracy.tighter > 0 && joint->search.requested.tighter > 0
        && joint->start.n_redrawn <= FIT_MAX_REDRAWN;
    for (size_t i = 0; is_good && i < joint->n_block; i++) {
        const struct joint_block *block = &joint->block[i];
        is_good = block->n <= joint->n_parameter && block->outcome < N_OUTCOME &&
                  block->engine.kind < N_ENGINE && block->gradient < N_GRADIENT;
    }
    return is_good;
}

/* Lanes on a device give the same bits as those of the CPU: the other process may have others. */
static void take_lanes(const struct joint *joint, enum engine_kind *engine)
{
    if (*engine != ENGINE_REFERENCE)
        *engine = joint->options->engine;
}

bool joint_load(struct joint *joint, const unsigned char *bytes, size_t n)
{
    const struct joint_upper_method *upper = joint->upper.method;
    struct cursor pass = {.from = bytes, .n = n}, *cursor = &pass;
    bool is_ours;
    pass_head(cursor, joint, &is_ours);
    if (!is_ours)
        return false;
    pass_numbers(cursor, joint);
    take_lanes(joint, &joint->asker.accuracy.engine);
    take_lanes(joint, &joint->search.requested.engine);
    joint->saved.bytes = bytes;
    joint->saved.arrays = cursor->at;
    if (cursor->is_bad || joint->above.s > MAX_SHARED || joint->above.n_group > joint->n_parameter)
        return false;
    pass_arrays(cursor, joint); /* which are not there yet: passed over */
    if (upper) {
        joint->upper.saved = cursor->at;
        upper->pass_search(cursor, joint);
    }
    if (joint->descends) {
        struct fit_map map = {.size = NULL};
        struct descent none = {.map = &map};
        joint->saved.descent = cursor->at;
        descent_pass(cursor, &none);
    }
    size_t n_active = 0;
    for (size_t i = 0; i < joint->ranks.n_block; i++) {
        struct joint_block other = {.n = 0}; /* another process's */
        bool is_here = i >= joint->ranks.first && i - joint->ranks.first < joint->n_block;
        struct joint_block *block = is_here ? &joint->block[i - joint->ranks.first] : &other;
        pass_block(cursor, block);
        take_lanes(joint, &block->engine.kind);
        if (cursor->is_bad || block->n > joint->n_parameter)
            return false;
        block->memory.saved = cursor->at;
        pass_own(cursor, block);
        block->memory.saved_upper = cursor->at;
        if (upper && !upper->pass_block(cursor, joint, NULL))
            return false;
        n_active += !block->is_out;
    }
    if (joint->session) {
        FIELD(joint->saved.n_session);
        joint->saved.session = cursor->at;
        pass_over(cursor, NULL, joint->saved.n_session);
    }
    if (n_active == 0)
        return false;
    joint_activate(joint);
    joint_count(joint);
    joint->search.stopping.asker = &joint->asker;
    return !cursor->is_bad && cursor->at == n && is_sound(joint);
}

void joint_restore_shared(struct joint *joint)
{
    struct cursor cursor = {.from = joint->saved.bytes, .at = joint->saved.arrays, .n = SIZE_MAX};
    pass_arrays(&cursor, joint);
}

void joint_restore_block(const struct joint *joint, struct joint_block *block)
{
    struct cursor cursor = {.from = joint->saved.bytes, .at = block->memory.saved, .n = SIZE_MAX};
    pass_own(&cursor, block);
}

bool joint_restore_session(struct joint *joint)
{
    const struct joint_saved *saved = &joint->saved;
    struct cursor cursor = {.from = saved->bytes, .at = saved->session,
                            .n = saved->session + saved->n_session};
    joint_session_pass(&cursor, joint->session);
    return !cursor.is_bad && cursor.at == cursor.n;
}
