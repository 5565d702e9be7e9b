/* Sums and decisions over the blocks of all processes of a fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/ranks.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tree over at most 2^64 blocks; and how many of its nodes lie within one range of blocks, but
 * within no other such node. */
enum { DEPTH = 65, NODES = 2 * DEPTH };

const unsigned char *joint_gather(const struct joint *joint, const void *bytes, size_t n,
                                  size_t *n_all)
{
    *n_all = 0;
    return !joint->ranks.gather ? NULL : joint->ranks.gather(joint->ranks.context, bytes, n, n_all);
}

bool joint_join(struct joint *joint, const struct joint_ranks *ranks)
{
    joint->ranks = *ranks;
    joint->end.culprit = ranks->n_block;
    joint->part.end = arena_calloc(joint->arena, ranks->n + 1, sizeof *joint->part.end);
    joint_count(joint);
    return joint->part.end != NULL;
}

void joint_agree_among(const struct joint_ranks *ranks, struct joint_facts *facts)
{
    size_t n_all;
    if (!ranks->gather)
        return;
    const unsigned char *all = ranks->gather(ranks->context, facts, sizeof *facts, &n_all);
    for (size_t at = 0; all && at + sizeof *facts <= n_all; at += sizeof *facts) {
        struct joint_facts one;
        memcpy(&one, all + at, sizeof one);
        facts->any |= one.any;
        facts->most = fmax(facts->most, one.most);
        facts->single = fmax(facts->single, one.single);
        facts->least = one.least < facts->least ? one.least : facts->least;
    }
}

void joint_agree(const struct joint *joint, struct joint_facts *facts)
{
    joint_agree_among(&joint->ranks, facts);
}

void joint_count(struct joint *joint)
{
    size_t n_all, n = joint->part.n_active;
    joint->part.n_all = n;
    joint->part.before = 0;
    if (!joint->ranks.gather || !joint->part.end)
        return;
    const unsigned char *all = joint_gather(joint, &n, sizeof n, &n_all);
    for (size_t r = joint->part.n_all = 0; r < joint->ranks.n; r++) {
        n = 0;
        if (all && (r + 1) * sizeof n <= n_all)
            memcpy(&n, all + r * sizeof n, sizeof n);
        joint->part.before = r == joint->ranks.rank ? joint->part.n_all : joint->part.before;
        joint->part.end[r] = joint->part.n_all += n;
    }
}

bool joint_is_of_one(const struct joint *joint, size_t first, size_t end)
{
    /* the first process whose blocks end after the first one */
    size_t low = 0, high = joint->ranks.n;
    while (joint->ranks.gather && low < high) {
        size_t middle = low + (high - low) / 2;
        if (joint->part.end[middle] <= first)
            low = middle + 1;
        else
            high = middle;
    }
    return !joint->ranks.gather || low == joint->ranks.n || end <= joint->part.end[low];
}

struct totals {
    const struct joint *joint;
    size_t n;
    joint_numbers *get;
    const void *context;
    double *out;             /* sums of nodes, to be sent */
    const double *in, *stop; /* those received */
};

/* The sum of the blocks [first, end), which are this process's. `room`: n numbers for each
 * level. */
static void add_up(const struct totals *totals, size_t first, size_t end, double *room, double *sum)
{
    if (end - first == 1) {
        totals->get(totals->context,
                    joint_active(totals->joint, first - totals->joint->part.before), sum);
        return;
    }
    size_t middle = first + (end - first) / 2;
    add_up(totals, first, middle, room + totals->n, sum);
    add_up(totals, middle, end, room + totals->n, room);
    for (size_t k = 0; k < totals->n; k++)
        sum[k] += room[k];
}

static void find_nodes(struct totals *totals, size_t first, size_t end, double *room)
{
    size_t low = totals->joint->part.before, high = low + totals->joint->part.n_active,
           middle = first + (end - first) / 2;
    if (end <= low || high <= first)
        return;
    if (low <= first && end <= high) {
        add_up(totals, first, end, room, totals->out);
        totals->out += totals->n;
        return;
    }
    find_nodes(totals, first, middle, room);
    find_nodes(totals, middle, end, room);
}

/* The nodes of all processes come in the order of their blocks. */
static void complete(struct totals *totals, size_t first, size_t end, double *room, double *sum)
{
    size_t n = totals->n, middle = first + (end - first) / 2;
    if (joint_is_of_one(totals->joint, first, end)) {
        for (size_t k = 0; k < n; k++)
            sum[k] = totals->in < totals->stop ? *totals->in++ : (double)NAN;
        return;
    }
    complete(totals, first, middle, room + n, sum);
    complete(totals, middle, end, room + n, room);
    for (size_t k = 0; k < n; k++)
        sum[k] += room[k];
}

bool joint_totals(const struct joint *joint, size_t n, joint_numbers *get, const void *context,
                  double *sum)
{
    struct totals totals = {.joint = joint, .n = n, .get = get, .context = context};
    if (joint->part.n_all == 1 && !joint->ranks.gather) {
        get(context, joint_active(joint, 0), sum);
        return true;
    }
    double few[(DEPTH + NODES) * JOINT_MANY];
    double *room = n <= JOINT_MANY ? few : memory_alloc((DEPTH + NODES) * n * sizeof *room),
           *nodes = room + DEPTH * n;
    bool is_good = room != NULL;
    memset(sum, 0, n * sizeof *sum);
    if (room && joint->part.n_all && !joint->ranks.gather) {
        add_up(&totals, 0, joint->part.n_all, room, sum);
    } else if (joint->ranks.gather && joint->part.n_all) {
        size_t n_byte = 0;
        totals.out = nodes;
        if (room)
            find_nodes(&totals, 0, joint->part.n_all, room);
        const unsigned char *all =
            joint_gather(joint, nodes, room ? (size_t)(totals.out - nodes) * sizeof *nodes : 0,
                         &n_byte);
        double *in = all ? memory_alloc(n_byte + 1) : NULL;
        is_good = is_good && in;
        if (is_good) {
            memcpy(in, all, n_byte);
            totals.in = in;
            totals.stop = in + n_byte / sizeof *in;
            complete(&totals, 0, joint->part.n_all, room, sum);
        }
        free(in);
    }
    if (room != few)
        free(room);
    return is_good;
}

struct getter {
    double (*get)(const struct joint_block *block);
};

static void get_one(const void *context, const struct joint_block *block, double *number)
{
    *number = ((const struct getter *)context)->get(block);
}

double joint_total(const struct joint *joint, double (*get)(const struct joint_block *block))
{
    const struct getter getter = {get};
    double sum;
    if (joint->part.n_all == 1 && !joint->ranks.gather)
        return get(joint_active(joint, 0));
    return joint_totals(joint, 1, get_one, &getter, &sum) ? sum : (double)NAN;
}

double joint_count_up(const struct joint *joint, double number)
{
    size_t n_all;
    if (!joint->ranks.gather)
        return number;
    const unsigned char *all = joint_gather(joint, &number, sizeof number, &n_all);
    double sum = 0;
    for (size_t at = 0; all && at + sizeof number <= n_all; at += sizeof number, sum += number)
        memcpy(&number, all + at, sizeof number);
    return sum;
}

struct accusation {
    uint64_t block;
    struct joint_blame blame;
};

void joint_find_first(const struct joint *joint, size_t i, size_t *block, struct joint_blame *blame)
{
    struct accusation first = {.block = joint->ranks.n_block}, one;
    size_t n_all;
    if (i < joint->n_block) {
        const struct joint_block *own = &joint->block[i];
        first.block = joint->ranks.first + i;
        bool is_trial = own->outcome == OUTCOME_not_run && own->has_failed;
        first.blame.outcome = is_trial ? own->failure : own->outcome;
        first.blame.has_crashed = own->has_crashed;
        memcpy(first.blame.reason, own->reason, sizeof first.blame.reason);
    }
    const unsigned char *all = joint_gather(joint, &first, sizeof first, &n_all);
    for (size_t at = 0; all && at + sizeof one <= n_all; at += sizeof one) {
        memcpy(&one, all + at, sizeof one);
        first = one.block < first.block ? one : first;
    }
    *block = (size_t)first.block;
    *blame = first.blame;
}

void joint_name(const struct joint *joint, size_t block, char name[JOINT_NAME])
{
    if (!joint->name || !joint->name(joint->name_context, block, name, JOINT_NAME))
        snprintf(name, JOINT_NAME, "dataset %zu of this fit (from 0)", block);
}

void joint_accuse(struct joint *joint, size_t i)
{
    joint_find_first(joint, i, &joint->end.culprit, &joint->end.blame);
    if (joint->session) /* the search may add to it */
        snprintf(joint->asker.reason, sizeof joint->asker.reason, "%s", joint->end.blame.reason);
}
