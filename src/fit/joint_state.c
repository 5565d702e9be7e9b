/* The state of a fit over many datasets between two passes, as bytes from which another process continues. What a block derives
 * from its evaluation (triangles, rows for the shared parameters) is left out: evaluations are pure, so one more at the best
 * point gives the same bits. Numbers are in this machine's order, and structures as this build lays them out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_bytes.h"
#include "fit/joint_internal.h"
#include "fit/start.h"

#include <stdlib.h>

enum { FORMAT = 9, MAX_SHARED = 1 << 20 };

static void pass_numbers(struct cursor *cursor, struct joint *joint)
{
    FIELD(joint->n_redrawn);
    FIELD(joint->s);
    FIELD(joint->n_group);
    enum joint_pass pass = joint->pass; /* a search for a step begins again: its steps and their values are not saved */
    bool is_inner = pass == JOINT_ROWS || pass == JOINT_VALUE || (pass == JOINT_STEP && joint->has_kinks && !joint->descent);
    pass = is_inner ? JOINT_ROWS : pass;
    FIELD(pass);
    joint->pass = cursor->from ? pass : joint->pass;
    FIELD(joint->f);
    FIELD(joint->tighter);
    FIELD(joint->rough);
    FIELD(joint->doubt);
    FIELD(joint->was_rough);
    FIELD(joint->restarts);
    FIELD(joint->lands);
    FIELD(joint->lands_from);
    FIELD(joint->from_middle);
    FIELD(joint->stride);
    FIELD(joint->grows);
    ARRAY(joint->middle, joint->n_parameter);
    FIELD(joint->certificate);
    FIELD(joint->outcome);
    FIELD(joint->stop);
    FIELD(joint->n_iteration);
    FIELD(joint->has_best);
    FIELD(joint->culprit);
    FIELD(joint->blame);
    FIELD(joint->stopping);
    FIELD(joint->point.f);
    FIELD(joint->asker.start_f);
    FIELD(joint->asker.notes);
    FIELD(joint->asker.reason);
    FIELD(joint->asker.is_sigma_known);
    FIELD(joint->asker.objective.has_offset);
    FIELD(joint->has_kinks);
    FIELD(joint->line.damping);
    FIELD(joint->line.growth);
    FIELD(joint->asker.objective.n_row);
}

static void pass_group(struct cursor *cursor, struct joint_group *group, size_t n)
{
    ARRAY(group->side.theta, n);
    ARRAY(group->trial, n);
    ARRAY(group->side.scale, n);
    ARRAY(group->is_held, n);
    FIELD(group->radius);
    FIELD(group->step);
    FIELD(group->is_restricted);
}

static void pass_arrays(struct cursor *cursor, struct joint *joint)
{
    struct trust_model *shared = &joint->shared;
    size_t s = joint->s;
    FIELD(shared->radius);
    FIELD(shared->length);
    FIELD(shared->promise);
    FIELD(shared->is_restricted);
    ARRAY(joint->theta, s);
    ARRAY(joint->trial, s);
    ARRAY(joint->length, s);
    ARRAY(joint->point.gradient, s);
    ARRAY(shared->scale, s);
    ARRAY(shared->low, s);
    ARRAY(shared->high, s);
    ARRAY(shared->rhs, s);
    ARRAY(shared->triangle, s * s);
    for (size_t g = 0; joint->levels.n_column && g < joint->levels.n_group[0]; g++) {
        struct joint_group none = {.n = 0}; /* passed over */
        pass_group(cursor, joint->group ? &joint->group[g] : &none, joint->n_group);
    }
}

static void pass_block(struct cursor *cursor, struct joint_block *block)
{
    FIELD(block->n);
    FIELD(block->n_row);
    FIELD(block->radius);
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
    FIELD(block->n_evaluation);
    FIELD(block->n_step);
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
    size_t expected[] = {FORMAT, sizeof joint->stopping, joint->ranks.n_block, joint->n_parameter,
                         joint->task}, found[5];
    memcpy(found, expected, sizeof found);
    pass_over(cursor, found, sizeof found);
    *is_ours = !cursor->is_bad && !memcmp(found, expected, sizeof found);
}

static size_t save(struct joint *joint, unsigned char *to)
{
    struct cursor pass = {.to = to}, *cursor = &pass;
    bool is_ours;
    if (joint->ranks.rank == 0) { /* the others have the same */
        pass_head(cursor, joint, &is_ours);
        pass_numbers(cursor, joint);
        pass_arrays(cursor, joint);
    }
    for (size_t i = 0; i < joint->n_block; i++) {
        pass_block(cursor, &joint->block[i]);
        pass_own(cursor, &joint->block[i]);
    }
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
    bool is_good = joint->pass <= JOINT_KEEP && joint->tighter > 0 && joint->n_redrawn <= FIT_MAX_REDRAWN;
    for (size_t i = 0; is_good && i < joint->n_block; i++) {
        const struct joint_block *block = &joint->block[i];
        is_good = block->n <= joint->n_parameter && block->outcome < N_OUTCOME && block->engine < N_ENGINE
                  && block->gradient < N_GRADIENT;
    }
    return is_good;
}

bool joint_load(struct joint *joint, const unsigned char *bytes, size_t n)
{
    struct cursor pass = {.from = bytes, .n = n}, *cursor = &pass;
    bool is_ours;
    pass_head(cursor, joint, &is_ours);
    if (!is_ours)
        return false;
    pass_numbers(cursor, joint);
    joint->saved = bytes;
    joint->saved_arrays = cursor->at;
    if (cursor->is_bad || joint->s > MAX_SHARED || joint->n_group > joint->n_parameter)
        return false;
    pass_arrays(cursor, joint); /* which are not there yet: passed over */
    size_t n_active = 0;
    for (size_t i = 0; i < joint->ranks.n_block; i++) {
        struct joint_block other = {.n = 0}; /* another process's */
        bool is_here = i >= joint->ranks.first && i - joint->ranks.first < joint->n_block;
        struct joint_block *block = is_here ? &joint->block[i - joint->ranks.first] : &other;
        pass_block(cursor, block);
        if (cursor->is_bad || block->n > joint->n_parameter)
            return false;
        block->saved = cursor->at;
        pass_own(cursor, block);
        n_active += !block->is_out;
    }
    if (n_active == 0)
        return false;
    joint_activate(joint);
    joint_count(joint);
    joint->stopping.asker = &joint->asker;
    joint_set_tighter(joint, joint->tighter);
    return !cursor->is_bad && cursor->at == n && is_sound(joint);
}

void joint_restore_shared(struct joint *joint)
{
    struct cursor cursor = {.from = joint->saved, .at = joint->saved_arrays, .n = SIZE_MAX};
    pass_arrays(&cursor, joint);
    joint->shared.is_current = true;
}

void joint_restore_block(const struct joint *joint, struct joint_block *block)
{
    struct cursor cursor = {.from = joint->saved, .at = block->saved, .n = SIZE_MAX};
    pass_own(&cursor, block);
}
