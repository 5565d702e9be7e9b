/* Parameters of a fit over many datasets in a vector: the shared ones, those of groups, and
 * those of the blocks that take part.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"

/* Part k of it: what all share, then each group's, then each block's. */
struct joint_vector_part {
    size_t n;
    double *best, *trial;
    double *size;             /* what is known of it; NULL: only the best point's values */
    const double *lower, *upper;
    const enum parameter_scale *scale;
    const uint32_t *index;    /* of each parameter in `scale`; NULL: they are in its order */
};
struct joint_vector_part joint_vector_part(const struct joint *joint, size_t k);
/* The number of parts above the blocks, and of all. */
static inline size_t joint_vector_above(const struct joint *joint)
{
    return 1 + joint_n_group(joint);
}
static inline size_t joint_vector_all(const struct joint *joint)
{
    return joint_vector_above(joint) + joint->part.n_active;
}
/* Makes a map of the first n_part parts with n_free, scale, size and bounds, and theta of the
 * best point. False: out of memory. */
bool joint_vector_make(const struct joint *joint, size_t n_part, struct fit_map *map,
                       double **theta, struct arena *arena);
/* The trial of these parts. */
void joint_vector_put(const struct joint *joint, size_t n_part, const double *theta);
/* Where the parameters above block i are; and how many there are above all blocks. */
void joint_vector_columns(const struct joint *joint, size_t i, uint32_t *column);
size_t joint_vector_size(const struct joint *joint);
/* Sums n <= JOINT_MANY numbers of each of these over the blocks that depend on it; `get` writes
 * those that a block has of parameter k above it. Where there are groups, all blocks are here.
 * False: out of memory. */
typedef void joint_vector_numbers(const void *context, const struct joint_block *block, size_t k,
                                  double *number);
bool joint_vector_sums(const struct joint *joint, size_t n, joint_vector_numbers *get,
                       const void *context, double *sum);
