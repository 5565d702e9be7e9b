/* Processes of which each evaluates a part of the blocks and keeps all of them, so that between two passes all do what one
 * would: for groups, whose blocks may be anywhere, and L-BFGS, which has one long vector of all parameters. After a pass each
 * gives what it has found of its blocks, a kilobyte or more for each.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_copies.h"

#include "fit/joint_ranks.h"
#include "fit/joint_bytes.h"
#include "fit/joint_errors.h"

#include <stdlib.h>

/* Bytes that a process gives at once, and all of them receive from each. */
static const size_t AT_ONCE = (size_t)16 << 20;

static void pass_side(struct cursor *cursor, const struct joint_reduced *reduced, size_t n, size_t s)
{
    size_t all = n + s;
    ARRAY(reduced->theta, n);
    ARRAY(reduced->triangle, all * all);
    ARRAY(reduced->rhs, all);
    ARRAY(reduced->scale, n);
    ARRAY(reduced->rest, s * s);
    ARRAY(reduced->rest_rhs, s);
}

/* What the pointers of a block lead to. */
static void pass_arrays(struct cursor *cursor, const struct joint *joint, const struct joint_block *block)
{
    size_t n = block->n, all = n + joint->above.s_block;
    pass_side(cursor, &block->best, n, joint->above.s_block);
    pass_side(cursor, &block->trial, n, joint->above.s_block);
    if (block->has_kinks && !joint->descends) {
        pass_side(cursor, &block->inner.reduced, n, joint->above.s_block);
        ARRAY(block->inner.scale, all);
    }
    ARRAY(block->p, joint->n_parameter);
    ARRAY(block->chain, all);
    ARRAY(block->box, joint->descends ? 2 * n : 0);
    ARRAY(block->leap, joint->above.s_block);
    ARRAY(block->file_index, 2 * all);
    ARRAY(block->at_bound, joint->n_parameter);
    struct joint_arrays arrays;
    ARRAY(block->findings.memory, block->findings.memory ? joint_findings_arrays(block, joint->above.s_block, &arrays) : 0);
}

static void pass_block(struct cursor *cursor, const struct joint *joint, uint64_t i)
{
    struct joint_block *block = &joint->block[i];
    FIELD(i);
    FIELD(*block);
    if (block->is_made)
        pass_arrays(cursor, joint, block);
}

static void point_to(struct joint_reduced *reduced, const struct joint_reduced *own)
{
    reduced->theta = own->theta;
    reduced->triangle = own->triangle;
    reduced->rhs = own->rhs;
    reduced->scale = own->scale;
    reduced->rest = own->rest;
    reduced->rest_rhs = own->rest_rhs;
    reduced->at = own->at;
}

/* False: memory is out. */
static bool take_block(struct joint *joint, struct cursor *cursor)
{
    uint64_t i = 0;
    FIELD(i);
    struct joint_block *block = &joint->block[i], own = *block;
    FIELD(*block);
    const struct joint_block given = *block;
    own.has_kinks = given.has_kinks;
    bool is_good = own.is_made || !given.is_made || joint_block_room(joint, &own, given.n, joint->above.s_block);
    point_to(&block->best, &own.best);
    point_to(&block->trial, &own.trial);
    point_to(&block->inner.reduced, &own.inner.reduced);
    block->inner.scale = own.inner.scale;
    block->inner.hold = own.inner.hold;
    block->inner.step = own.inner.step;
    block->inner.candidate = own.inner.candidate;
    block->inner.memory = own.inner.memory;
    block->p = own.p;
    block->chain = own.chain;
    block->box = own.box;
    block->leap = own.leap;
    block->file_index = own.file_index;
    block->at_bound = own.at_bound;
    block->findings.memory = own.findings.memory;
    if (is_good && given.findings.memory)
        is_good = joint_findings_room(block, joint->above.s_block);
    if (is_good && block->is_made)
        pass_arrays(cursor, joint, block);
    return is_good;
}

/* Writes blocks of this process from its active one `*k` on. */
static size_t give(const struct joint *joint, size_t *k, unsigned char *to)
{
    struct cursor cursor = {.to = to};
    for (; *k < joint->part.n_active && cursor.at < AT_ONCE; ++*k)
        if (joint_evaluates(joint, joint->part.active[*k]))
            pass_block(&cursor, joint, joint->part.active[*k]);
    return cursor.at;
}

bool joint_exchange(struct joint *joint)
{
    const struct joint_ranks *ranks = &joint->copies;
    size_t n_all = 1;
    if (!ranks->gather)
        return true;
    for (size_t k = 0; n_all > 0 && !joint->agreement.is_short;) {
        size_t first = k, n = give(joint, &k, NULL);
        unsigned char *bytes = malloc(n + 1);
        if (bytes)
            give(joint, &first, bytes);
        joint->agreement.is_short = !bytes;
        const unsigned char *all = ranks->gather(ranks->context, bytes, bytes ? n : 0, &n_all);
        free(bytes);
        if (!all)
            return false;
        struct cursor cursor = {.from = all, .n = n_all};
        while (cursor.at < n_all && !joint->agreement.is_short)
            joint->agreement.is_short = !take_block(joint, &cursor);
    }
    return !joint->agreement.is_short;
}
