/* Between two passes of a fit over many datasets: what to do about blocks that have ended, or that disagree.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_first.h"

#include <stdio.h>
#include <string.h>

bool joint_find_failed(struct joint *joint)
{
    struct joint_facts facts = {.least = joint->ranks.n_block};
    size_t i = 0;
    while (i < joint->n_active && !joint_active(joint, i)->has_failed)
        i++;
    facts.any = i < joint->n_active;
    joint_agree(joint, &facts);
    if (facts.any)
        joint_accuse(joint, i < joint->n_active ? joint->active[i] : joint->n_block);
    return facts.any;
}

/* The first block of all processes that has come to say what the shared parameters are. */
struct first {
    uint64_t block, agreement;
};

static struct first find_first(const struct joint *joint)
{
    struct first first = {.block = joint->ranks.n_block}, one;
    size_t i = 0, n_all;
    while (i < joint->n_active && !joint_active(joint, i)->is_made)
        i++;
    if (i < joint->n_active)
        first = (struct first){joint->ranks.first + joint->active[i], joint_active(joint, i)->agreement};
    const unsigned char *all = joint_gather(joint, &first, sizeof first, &n_all);
    for (size_t at = 0; all && at + sizeof one <= n_all; at += sizeof one) {
        memcpy(&one, all + at, sizeof one);
        first = one.block < first.block ? one : first;
    }
    return first;
}

/* Shared parameters that are not the same in all blocks end the fit; the lowest block that differs from the first is named. */
static void judge_agreement(struct joint *joint)
{
    const struct first first = find_first(joint);
    for (size_t i = 0; i < joint->n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        if (!block->is_made || block->agreement == first.agreement)
            continue;
        char name[JOINT_NAME];
        joint_name(joint, (size_t)first.block, name);
        snprintf(block->reason, sizeof block->reason, "a shared parameter has another start, bound or `fixed` here than in "
                 "%s", name);
        block->outcome = OUTCOME_bad_data;
        block->disagrees = true;
        return;
    }
}

/* Blocks that cannot be evaluated where all others can. */
static void judge_failures(struct joint *joint)
{
    if (joint->has_best && !joint->leaves_out)
        return;
    for (size_t i = 0; i < joint->n_active; i++)
        if (joint_active(joint, i)->has_failed)
            joint_active(joint, i)->outcome = joint_active(joint, i)->failure;
}

static bool may_leave(const struct joint *joint, const struct joint_block *block)
{
    return joint->leaves_out && !block->disagrees
           && (block->outcome == OUTCOME_bad_data || block->outcome == OUTCOME_ode_failed
               || block->outcome == OUTCOME_model_failed || block->has_crashed);
}

/* Ends the fit because of a block that has ended, or goes on without it. True: the pass that was run counts. */
bool joint_settle(struct joint *joint, bool *goes_on)
{
    enum { ENDS = 1, LEAVES = 2, IS_CARRIER = 4 };
    struct joint_facts facts = {.any = 0};
    size_t ended = joint->n_block, carrier = ended, n_before = joint->n_all;
    if (joint->pass == JOINT_KEEP)
        return true;
    if (joint->pass == JOINT_START || joint->pass == JOINT_LOOK)
        judge_agreement(joint);
    if (joint->pass == JOINT_START) {
        if ((joint->was_rough || joint->from_middle || joint->grows) && joint_find_failed(joint)) {
            joint->culprit = joint->ranks.n_block;
            *goes_on = joint->from_middle ? joint_pilot_leave(joint) : joint_restart(joint);
            return false;
        }
        judge_failures(joint);
    }
    if (joint->n_active > 0 && joint->before == 0)
        carrier = joint->active[0];
    for (size_t i = 0; i < joint->n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        block->is_out = block->outcome != OUTCOME_not_run && may_leave(joint, block);
        facts.any |= block->is_out ? LEAVES : 0;
        for (size_t k = 0; block->is_out && k < joint->n_parameter; k++)
            if (joint->levels.level[k] && joint_is_first(joint, joint->active[i], k))
                facts.any |= IS_CARRIER;
        if (block->outcome != OUTCOME_not_run && !block->is_out && !(facts.any & ENDS)) {
            facts.any |= ENDS;
            ended = joint->active[i];
        }
    }
    joint_agree(joint, &facts);
    *goes_on = true;
    if (facts.any & ENDS) {
        joint_accuse(joint, ended);
        *goes_on = joint_finish(joint, joint->blame.outcome);
        return false;
    }
    if (facts.any & LEAVES) {
        joint_activate(joint);
        joint_count(joint);
        joint->asker.notes |= NOTE_left_out;
    }
    if (joint->n_all == 0) {
        joint_accuse(joint, carrier);
        joint->has_best = false;
        *goes_on = joint_finish(joint, joint->blame.outcome);
        return false;
    }
    bool counts = joint->n_all == n_before || joint->pass == JOINT_LOOK
                  || (joint->pass == JOINT_START && !(facts.any & IS_CARRIER));
    joint->pass = counts ? joint->pass : JOINT_START;
    return counts;
}

bool joint_resume(struct joint *joint)
{
    bool goes_on = true;
    if (!joint->saved)
        joint_sample_begin(joint);
    return joint_settle(joint, &goes_on) || goes_on;
}
