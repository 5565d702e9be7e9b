/* What the processes of a fit over many datasets know together: each gives what it knows of its
 * blocks. Every call is made by all of them, in the same order, and returns the same everywhere.
 * With one process nothing is exchanged.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/joint.h"

/* Block k of those of this process that take part. */
static inline struct joint_block *joint_active(const struct joint *joint, size_t k)
{
    return &joint->block[joint->part.active[k]];
}

/* Whether this process evaluates block i, which it has. */
static inline bool joint_evaluates(const struct joint *joint, size_t i)
{
    return !joint->copies.gather ||
           (i >= joint->copies.first && i - joint->copies.first < joint->copies.n_own);
}

/* Bytes of all processes, as ranks.gather; NULL also if there is one process. */
const unsigned char *joint_gather(const struct joint *joint, const void *bytes, size_t n,
                                  size_t *n_all);

struct joint_facts {
    uint32_t any;   /* bits that some process has set */
    double most, single; /* the largest numbers */
    uint64_t least; /* the smallest one */
};
void joint_agree(const struct joint *joint, struct joint_facts *facts);
void joint_agree_among(const struct joint_ranks *ranks, struct joint_facts *facts);

/* Whether the active blocks [first, end) of all processes belong to one of them. */
bool joint_is_of_one(const struct joint *joint, size_t first, size_t end);
/* Counts the active blocks of all processes. */
void joint_count(struct joint *joint);

/* The sum of n numbers of each block that takes part, in a tree whose shape depends only on the
 * number of blocks: by halves. n <= JOINT_MANY, or false: out of memory. `get` writes those of a
 * block. */
enum { JOINT_MANY = 8 };
typedef void joint_numbers(const void *context, const struct joint_block *block, double *number);
bool joint_totals(const struct joint *joint, size_t n, joint_numbers *get, const void *context,
                  double *sum);
/* Of one number. */
double joint_total(const struct joint *joint, double (*get)(const struct joint_block *block));
/* Sums of one number of each process, which must be exact in any order: counts. */
double joint_count_up(const struct joint *joint, double number);

/* The first of the blocks that the processes name, and what is known of it; each names its block
 * i, or n_block: none. */
void joint_find_first(const struct joint *joint, size_t i, size_t *block,
                      struct joint_blame *blame);
/* What messages call a block of all processes'. */
enum { JOINT_NAME = 80 };
void joint_name(const struct joint *joint, size_t block, char name[JOINT_NAME]);
/* Of these, what ended the fit. */
void joint_accuse(struct joint *joint, size_t i);
/* A process none of whose blocks was set up takes the shared parameters' starts and bounds from
 * another process. */
void joint_make_common(struct joint *joint);

/* After a pass, where processes keep copies of all blocks: tells the others of its own ones. False:
 * out of memory (then agreement.is_short is set), or other processes are lost. */
bool joint_exchange(struct joint *joint);
