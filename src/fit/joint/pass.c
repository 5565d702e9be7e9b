/* A pass of a fit over many datasets: all blocks do their part, and those that have ended, or
 * that disagree, end the fit or are left out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/pass.h"

#include "fit/joint/members.h"
#include "fit/joint/ranks.h"

#include <stdio.h>
#include <string.h>

bool joint_some_failed(const struct joint *joint)
{
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++)
        facts.any |= joint_active(joint, i)->has_failed;
    joint_agree(joint, &facts);
    return facts.any;
}

bool joint_find_failed(struct joint *joint)
{
    struct joint_facts facts = {.least = joint->ranks.n_block};
    size_t i = 0;
    while (i < joint->part.n_active && !joint_active(joint, i)->has_failed)
        i++;
    facts.any = i < joint->part.n_active;
    joint_agree(joint, &facts);
    if (facts.any)
        joint_accuse(joint, i < joint->part.n_active ? joint->part.active[i] : joint->n_block);
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
    while (i < joint->part.n_active && !joint_active(joint, i)->is_made)
        i++;
    if (i < joint->part.n_active)
        first = (struct first){joint->ranks.first + joint->part.active[i],
                               joint_active(joint, i)->agreement};
    const unsigned char *all = joint_gather(joint, &first, sizeof first, &n_all);
    for (size_t at = 0; all && at + sizeof one <= n_all; at += sizeof one) {
        memcpy(&one, all + at, sizeof one);
        first = one.block < first.block ? one : first;
    }
    return first;
}

/* Shared parameters that are not the same in all blocks end the fit; the lowest block that
 * differs from the first is named. */
static void judge_agreement(struct joint *joint)
{
    const struct first first = find_first(joint);
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        if (!block->is_made || block->agreement == first.agreement)
            continue;
        char name[JOINT_NAME];
        joint_name(joint, (size_t)first.block, name);
        snprintf(block->reason, sizeof block->reason,
                 "a shared parameter has another start, bound or `fixed` here than in "
                 "%s",
                 name);
        block->outcome = OUTCOME_bad_data;
        block->disagrees = true;
        return;
    }
}

/* Blocks that cannot be evaluated where all others can. */
static void judge_failures(struct joint *joint)
{
    if (joint->end.has_best && !joint->leaves_out)
        return;
    for (size_t i = 0; i < joint->part.n_active; i++)
        if (joint_active(joint, i)->has_failed)
            joint_active(joint, i)->outcome = joint_active(joint, i)->failure;
}

static bool may_leave(const struct joint *joint, const struct joint_block *block)
{
    return joint->leaves_out && !block->disagrees
           && (block->outcome == OUTCOME_bad_data || block->outcome == OUTCOME_ode_failed
               || block->outcome == OUTCOME_model_failed || block->has_crashed);
}

/* Whether the pass evaluates points that may become the best one without a step from another. */
static bool is_start(enum joint_pass pass)
{
    return pass == JOINT_BEGIN || pass == JOINT_MIDDLE || pass == JOINT_OWN || pass == JOINT_GROW ||
           pass == JOINT_LAND || pass == JOINT_STAY || pass == JOINT_AGAIN || pass == JOINT_ANEW;
}

/* Whether the search has another point to go to where a block cannot be evaluated: the start,
 * with the requested accuracy. */
static bool may_go_back(const struct joint *joint)
{
    return joint->pass == JOINT_MIDDLE || joint->pass == JOINT_GROW || joint->pass == JOINT_LAND ||
           joint->pass == JOINT_STAY || joint->pass == JOINT_ANEW || joint->search.loose > 0;
}

enum asked joint_end(struct joint *joint, enum outcome outcome)
{
    joint->end.is_cut = true;
    joint->asker.outcome = outcome;
    return ASKED_END;
}

bool joint_forgive(struct joint *joint)
{
    enum outcome outcome = joint->asker.outcome;
    if (!joint->end.is_cut || joint->end.is_stopped ||
        (outcome != OUTCOME_budget && outcome != OUTCOME_timeout))
        return false;
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        if (block->outcome == OUTCOME_budget || block->outcome == OUTCOME_timeout)
            block->outcome = OUTCOME_not_run;
    }
    joint->end.is_cut = false;
    joint->end.culprit = joint->ranks.n_block;
    return true;
}

enum asked joint_end_short(struct joint *joint)
{
    joint->agreement.is_short = true;
    fit_asker_end(&joint->asker, OUTCOME_out_of_memory, "no memory for the shared parameters");
    return joint_end(joint, OUTCOME_out_of_memory);
}

/* What the pass is worth; lists blocks that have ended as left out. */
enum joint_went joint_account(struct joint *joint)
{
    enum { ENDS = 1, LEAVES = 2, IS_CARRIER = 4 };
    struct joint_facts facts = {.any = 0};
    size_t ended = joint->n_block, carrier = ended, n_before = joint->part.n_all;
    bool begins = is_start(joint->pass);
    if (begins || joint->pass == JOINT_LOOK)
        judge_agreement(joint);
    if (begins && may_go_back(joint) && joint_find_failed(joint)) {
        joint->end.culprit = joint->ranks.n_block;
        return JOINT_FAILED;
    }
    if (begins)
        judge_failures(joint);
    if (joint->part.n_active > 0 && joint->part.before == 0)
        carrier = joint->part.active[0];
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        block->is_out = block->outcome != OUTCOME_not_run && may_leave(joint, block);
        facts.any |= block->is_out ? LEAVES : 0;
        for (size_t k = 0; block->is_out && k < joint->n_parameter; k++)
            if (joint->levels.level[k] && joint_is_first(joint, joint->part.active[i], k))
                facts.any |= IS_CARRIER;
        if (block->outcome != OUTCOME_not_run && !block->is_out && !(facts.any & ENDS)) {
            facts.any |= ENDS;
            ended = joint->part.active[i];
        }
    }
    joint_agree(joint, &facts);
    if (facts.any & ENDS) {
        joint_accuse(joint, ended);
        joint_end(joint, joint->end.blame.outcome);
        return JOINT_ENDED;
    }
    if (facts.any & LEAVES) {
        joint_activate(joint);
        joint_count(joint);
        joint->asker.notes |= NOTE_left_out;
    }
    if (joint->part.n_all == 0) {
        joint_accuse(joint, carrier);
        joint->end.has_best = false;
        joint_end(joint, joint->end.blame.outcome);
        return JOINT_ENDED;
    }
    bool counts = joint->part.n_all == n_before || joint->pass == JOINT_LOOK ||
                  (begins && !(facts.any & IS_CARRIER));
    return counts ? JOINT_COUNTS : JOINT_FEWER;
}

static double rows_of(const struct joint_block *block) { return (double)block->n_row; }

void joint_count_rows(struct joint *joint)
{
    joint->asker.objective.n_row = (size_t)joint_total(joint, rows_of);
}

static void gather_active(struct joint *joint)
{
    joint_activate(joint);
    joint_count(joint);
    joint_count_rows(joint);
}

bool joint_try_left_out(struct joint *joint)
{
    size_t n_before = joint->part.n_all;
    for (size_t i = 0; i < joint->n_block; i++) {
        struct joint_block *block = &joint->block[i];
        bool is_failure = block->outcome == OUTCOME_ode_failed
                          || block->outcome == OUTCOME_model_failed;
        if (!block->is_out || !is_failure || block->has_crashed)
            continue;
        block->is_out = false;
        block->outcome = OUTCOME_not_run;
    }
    gather_active(joint);
    return joint->part.n_all > n_before;
}

void joint_leave_again(struct joint *joint)
{
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        block->is_out = block->has_failed;
        block->outcome = block->has_failed ? block->failure : block->outcome;
    }
    gather_active(joint);
    if (joint->part.n_all == joint->ranks.n_block)
        joint->asker.notes &= ~(uint32_t)NOTE_left_out;
}

enum joint_went joint_run_pass(struct joint *joint, enum joint_pass pass)
{
    joint->pass = pass;
    bool goes_on = joint->host->run_pass(joint->host->context);
    if (goes_on) {
        joint_make_common(joint);
        goes_on = joint_exchange(joint);
    }
    if (!goes_on) {
        joint->end.is_stopped = true;
        joint_end(joint, OUTCOME_not_run);
        return JOINT_ENDED;
    }
    return joint_is_last(joint) ? JOINT_COUNTS : joint_account(joint);
}
