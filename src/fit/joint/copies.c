/* Every process keeps all blocks but evaluates only some; after a pass they exchange results, so
 * that each then continues as a single process would: for groups, whose blocks may be anywhere,
 * and L-BFGS, which has one long vector of all parameters. Each gives what it has found of its
 * blocks, a kilobyte or more for each.
 * SPDX-License-Identifier: BSD-3-Clause */

#include "base/cursor.h"
#include "base/memory.h"
#include "fit/joint/internal.h"
#include "fit/joint/ranks.h"

#include <stdlib.h>

/* Bytes that a process gives at once, and all of them receive from each. */
static const size_t AT_ONCE = (size_t)16 << 20;

/* With what its pointers lead to. */
static void pass_arrays(struct cursor *cursor, struct joint_block *block)
{
    ARRAY(block->memory.numbers, block->memory.n_copied);
    ARRAY(block->findings.memory, block->findings.memory ? joint_findings_size(block) : 0);
}

static void pass_block(struct cursor *cursor, const struct joint *joint, uint64_t i)
{
    struct joint_block *block = &joint->block[i];
    FIELD(i);
    FIELD(*block);
    if (block->is_made)
        pass_arrays(cursor, block);
}

/* False: memory is out. */
static bool take_block(struct joint *joint, struct cursor *cursor)
{
    uint64_t i = 0;
    FIELD(i);
    struct joint_block *block = &joint->block[i];
    const struct joint_block own = *block;
    FIELD(*block);
    bool has_findings = block->findings.memory != NULL;
    block->memory.numbers = own.memory.numbers;
    block->memory.n_at = own.memory.n_at;
    block->findings.memory = own.findings.memory;
    bool is_good = own.memory.numbers || !block->is_made || joint_block_room(joint, block);
    joint_block_place(joint, block);
    if (is_good && has_findings)
        is_good = joint_findings_room(joint, block);
    if (is_good && block->is_made)
        pass_arrays(cursor, block);
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
        unsigned char *bytes = memory_alloc(n + 1);
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
