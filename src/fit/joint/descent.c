/* L-BFGS for many datasets, as data-parallel training does it: objectives and gradients are
 * summed, and nothing is known of the arrowhead but what it promises. For comparison, and for
 * many shared parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/descent.h"

#include "fit/search/descent.h"
#include "fit/joint/model.h"
#include "fit/joint/vector.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* All parameters are in a vector (joint/vector.h). */
struct many {
    struct descent descent;   /* the first field: the method's functions get it */
    struct joint *joint;
    enum joint_went went;     /* of the latest pass */
    struct fit_map map;       /* only n_free, scale, size and bounds */
    double *square;           /* n: of the best point, once has_square */
    bool has_square;
    double left;              /* the decrease predicted for it; NaN: unknown */
};

static struct many *many_of(struct descent *descent) { return (struct many *)descent; }

/* Sums over these points of all blocks: the gradient or, `squares`, the squared lengths of the
 * derivatives' columns. */
static void sum_columns(struct many *many, enum joint_which which, bool squares, double *sum)
{
    struct joint *joint = many->joint;
    size_t at = joint->above.s + joint_n_group(joint) * joint->above.n_group;
    uint32_t *column = joint->above.column;
    memset(sum, 0, many->map.n_free * sizeof *sum);
    for (size_t i = 0; i < joint->part.n_active; at += joint_active(joint, i++)->n) {
        struct joint_block *block = joint_active(joint, i);
        const struct joint_reduced *reduced = joint_reduced_of(block, which);
        size_t all = block->n + joint->above.s_block;
        joint_vector_columns(joint, joint->part.active[i], column);
        for (size_t k = 0; k < all; k++)
            sum[k < block->n ? at + k : column[k - block->n]] +=
                squares ? matrix_squares(k + 1, reduced->triangle + k * all)
                        : joint_slope(reduced->triangle, all, reduced->rhs, k);
    }
}

static double f_of(const struct joint_block *block) { return block->trial.f; }

static enum asked evaluate(struct descent *descent)
{
    struct many *many = many_of(descent);
    struct joint *joint = many->joint;
    joint_vector_put(joint, joint_vector_all(joint), descent->trial->theta);
    many->went = joint_run_pass(joint, JOINT_GIVEN);
    if (many->went != JOINT_COUNTS)
        return ASKED_END;
    for (size_t i = 0; i < joint->part.n_active; i++)
        if (joint_active(joint, i)->has_failed)
            return ASKED_FAILED;
    descent->trial->f = joint_total(joint, f_of);
    sum_columns(many, JOINT_TRIAL, false, descent->trial->gradient);
    return ASKED_OK;
}

static bool is_same(const struct descent *descent, const double *theta, const double *other)
{
    return memcmp(theta, other, descent->n * sizeof *theta) == 0;
}

static void take(struct descent *descent)
{
    joint_take(many_of(descent)->joint);
    many_of(descent)->left = NAN;
    many_of(descent)->has_square = false;
}

static double promise(struct descent *descent, double enough)
{
    struct many *many = many_of(descent);
    (void)enough;
    if (!isnan(many->left))
        return many->left;
    enum asked asked = joint_set_model(many->joint, JOINT_BEST);
    descent->ended = descent->ended || asked == ASKED_END;
    return many->left = asked == ASKED_OK ? joint_promise_free(many->joint, JOINT_BEST) : INFINITY;
}

static double square(struct descent *descent, size_t j)
{
    struct many *many = many_of(descent);
    if (!many->has_square)
        sum_columns(many, JOINT_BEST, true, many->square);
    many->has_square = true;
    return many->square[j];
}

static void begin(struct descent *descent)
{
    struct many *many = many_of(descent);
    if (many->joint->host->keep)
        many->joint->host->keep(many->joint->host->context);
    many->left = NAN; /* another process that goes on from here looks anew, too */
}

static const struct descent_method method = {.begin = begin, .evaluate = evaluate,
                                             .is_same = is_same, .take = take,
                                             .promise = promise, .square = square};

/* From the best point. False: out of memory. */
static bool init(struct many *many, struct joint *joint, struct arena *arena)
{
    struct descent *descent = &many->descent;
    struct fit_point *points = descent->points;
    *many = (struct many){.joint = joint, .went = JOINT_COUNTS, .left = NAN};
    *descent = (struct descent){.method = &method, .search = &joint->search,
                                .map = &many->map, .shortens = true,
                                /* the length of a first step says nothing of many datasets */
                                .is_near = joint->options->is_near || joint->part.n_all > 1,
                                .best = &points[1]};
    if (!joint_vector_make(joint, joint_vector_all(joint), &many->map, &points[1].theta, arena))
        return false;
    size_t n = many->map.n_free;
    if (!descent_init(descent, arena) ||
        !ARENA_DOUBLES(arena, {&many->square, n, 1}, {&points[0].theta, n, 1},
                       {&points[0].gradient, n, 1}, {&points[1].gradient, n, 1}))
        return false;
    if (joint->saved.descent > 0) {
        struct cursor cursor = {.from = joint->saved.bytes, .at = joint->saved.descent,
                                .n = SIZE_MAX};
        descent_pass(&cursor, descent);
        joint->saved.descent = 0;
    }
    descent->best->f = joint->above.f;
    sum_columns(many, JOINT_BEST, false, descent->best->gradient);
    return true;
}

enum joint_went joint_descend(struct joint *joint, enum outcome *outcome)
{
    struct arena arena = {0};
    struct many many;
    bool has_room = init(&many, joint, &arena);
    joint->descent = &many.descent;
    *outcome = has_room ? descent_run(&many.descent) : OUTCOME_out_of_memory;
    joint->descent = NULL;
    arena_fini(&arena);
    return joint->end.is_cut ? JOINT_ENDED : many.went;
}
