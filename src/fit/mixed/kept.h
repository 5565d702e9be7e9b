/* What a fit with random parameters keeps of a dataset from pass to pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/joint.h"

struct mixed_block {
    size_t n_effect;          /* random effects: r, and q for each experiment */
    double *mode, *found;     /* n_effect: their mode at the best estimates; at the latest; */
    double *end;              /* where the best one of Laplace's starts has ended */
    /* 2 n_experiment each: the courses that the evaluation at that mode followed, and those after
     * the search for it, which the next evaluations follow: the same bits need the same ones */
    struct evaluation_course *course, *found_course;
    size_t n_experiment;
    double *shape;            /* of the integrand, in the search: numbers for shape_at */
    size_t n_hill;            /* of an integrand that has several (fit/mixed/hills.h), or 0 */
    double *hill, *hill_at;   /* and the estimates (m) that their random effects belong to */
    bool is_on_kink, found_on_kink; /* these modes are, so that derivatives are quotients */
    bool needs_hills;         /* points around the mode alone are not enough */
    bool has_changed;         /* the latest search for modes has found a higher one, or hills */
    double *number;           /* mixed_n_number */
    double *mean, *deviation; /* r: of the random parameters, given the data */
    double value;             /* the value at the best estimates */
    unsigned level;           /* of the rule, in the search */
    double rounding;          /* of kinks, in the value: a likelihood is reported without it */
    int n_left;               /* passes that have left lanes */
    /* After the latest of Laplace's starts that has led near the best end. */
    struct {
        uint32_t notes;
        struct joint_engine engine;
        enum gradient_method gradient;
        int n_left;
    } settled;
    bool misses;              /* some points of the latest integral could not be evaluated */
    /* In the last passes, if the integral has been refined: what that changes the value by, how far
     * it may still be off, and what points it has taken. */
    bool is_refined, is_lattice, has_more; /* has_more: further levels would change something */
    double correction, left, n_point;
    double effective;         /* number of points: 1 over the squares of their parts of the sum */
    /* What points that could not be evaluated may have added to the sum, relative to it: where the
     * prior alone says how likely they are. */
    double lost;
};

/* NULL: the block has not been evaluated with random parameters yet. */
static inline struct mixed_block *mixed_block_of(const struct joint_block *block)
{
    return block->upper;
}
