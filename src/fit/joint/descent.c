/* L-BFGS for many datasets, as data-parallel training does it: objectives and gradients are
 * summed, and nothing is known of the arrowhead but what it promises. For comparison, and for
 * many shared parameters.
 * SPDX-License-Identifier: BSD-3-Clause */

#include "fit/search/descent.h"
#include "fit/joint/model.h"
#include "fit/joint/vector.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* With more parameters, the metric's algebra costs more than it spares evaluations. */
enum { METRIC_MOST = 2000 };
/* Logarithms that differ by more are those of different numbers. */
static const double SAME = 1e-12;

/* All parameters are in a vector (joint/vector.h). */
struct many {
    struct descent descent;   /* the first field: the method's functions get it */
    struct joint *joint;
    enum joint_went went;     /* of the latest pass */
    struct fit_map map;       /* only n_free, scale, size and bounds */
    uint32_t *place;          /* n: scratch */
    double *square;           /* n: of the best point, once has_square */
    bool has_square;
    double left;              /* the decrease predicted for it; NaN: unknown */
    /* with adjoint gradients */
    struct fit_metric metric;
    bool has_matrix;          /* of this leg, or an earlier one */
    bool is_taken;            /* the metric of the best point has been asked for, and: */
    enum asked taken;
};

static struct many *many_of(struct descent *descent) { return (struct many *)descent; }

/* The places of a block's n own parameters, which begin at `at`, and of those above it, n_all in
 * all. */
static size_t place(const struct many *many, size_t i, size_t at)
{
    const struct joint *joint = many->joint;
    size_t n = joint_active(joint, i)->n;
    joint_vector_columns(joint, joint->part.active[i], joint->above.column);
    for (size_t k = 0; k < n + joint->above.s_block; k++)
        many->place[k] = k < n ? (uint32_t)(at + k) : joint->above.column[k - n];
    return n + joint->above.s_block;
}

/* Sums over these points of all blocks: the gradient or, `squares`, the squared lengths of the
 * derivatives' columns. */
static void sum_columns(struct many *many, enum joint_which which, bool squares, double *sum)
{
    struct joint *joint = many->joint;
    size_t at = joint_vector_size(joint);
    memset(sum, 0, many->map.n_free * sizeof *sum);
    for (size_t i = 0; i < joint->part.n_active; at += joint_active(joint, i++)->n) {
        const struct joint_reduced *reduced = joint_reduced_of(joint_active(joint, i), which);
        size_t all = place(many, i, at);
        for (size_t k = 0; k < all; k++)
            sum[many->place[k]] += squares ? matrix_squares(k + 1, reduced->triangle + k * all)
                                           : reduced->gradient[k];
    }
}

/* The products of the derivatives' columns in the trials' rows. */
static void sum_products(struct many *many)
{
    struct joint *joint = many->joint;
    size_t at = joint_vector_size(joint), n = many->map.n_free;
    double *matrix = many->metric.matrix;
    memset(matrix, 0, n * n * sizeof *matrix);
    for (size_t i = 0; i < joint->part.n_active; at += joint_active(joint, i++)->n) {
        const double *triangle = joint_active(joint, i)->trial.triangle;
        size_t all = place(many, i, at);
        for (size_t k = 0; k < all; k++)
            for (size_t l = 0; l < all; l++)
                matrix[many->place[k] + many->place[l] * n] +=
                    matrix_dot((k < l ? k : l) + 1, triangle + k * all, triangle + l * all);
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
    if (joint_renew(joint)) {
        many->went = JOINT_RENEWED;
        return ASKED_END;
    }
    for (size_t i = 0; i < joint->part.n_active; i++)
        if (joint_active(joint, i)->has_failed)
            return ASKED_FAILED;
    descent->trial->f = joint_total(joint, f_of);
    sum_columns(many, JOINT_TRIAL, false, descent->trial->gradient);
    return ASKED_OK;
}

/* Logarithms may differ in a bit that the parameters have not. */
static bool is_same(const struct descent *descent, const double *theta, const double *other)
{
    const enum parameter_scale *scale = descent->map->scale;
    bool is_same = true;
    for (size_t j = 0; j < descent->n && is_same; j++)
        is_same = theta[j] == other[j] ||
                  (fabs(theta[j] - other[j]) <= SAME * fmax(1, fabs(theta[j])) &&
                   fit_scale_to_natural(scale[j], theta[j]) ==
                       fit_scale_to_natural(scale[j], other[j]));
    return is_same;
}

static void take(struct descent *descent)
{
    joint_take(many_of(descent)->joint);
    many_of(descent)->left = NAN;
    many_of(descent)->has_square = many_of(descent)->is_taken = false;
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

static enum asked measure(struct descent *descent)
{
    struct many *many = many_of(descent);
    struct joint *joint = many->joint;
    if (many->is_taken)
        return many->taken;
    if (descent->n > METRIC_MOST)
        return ASKED_FAILED;
    many->is_taken = true;
    many->went = joint_run_pass(joint, JOINT_MEASURE);
    if (many->went != JOINT_COUNTS)
        return many->taken = ASKED_END;
    many->taken = joint_some_failed(joint) ? ASKED_FAILED : ASKED_OK;
    if (many->taken == ASKED_OK) {
        sum_products(many);
        many->has_matrix = true;
        if (!fit_metric_damp(&many->metric, &many->map, descent->best->theta))
            many->taken = ASKED_FAILED;
    }
    return many->taken;
}

static void keep(struct descent *descent)
{
    const struct joint_host *host = many_of(descent)->joint->host;
    if (host->keep)
        host->keep(host->context);
}

/* The model has other lengths each time that it is set: another process that goes on from here
 * sets it, too. */
static void begin(struct descent *descent) { many_of(descent)->left = NAN; }

static void pass(struct cursor *cursor, struct descent *descent)
{
    struct many *many = many_of(descent);
    size_t n = descent->n;
    FIELD(many->left);
    FIELD(many->has_square);
    FIELD(many->has_matrix);
    FIELD(many->is_taken);
    FIELD(many->taken);
    ARRAY(many->square, many->has_square ? n : 0);
    ARRAY(many->metric.matrix, many->has_matrix ? n * n : 0);
}

static const struct descent_method by_rows = {.keep = keep, .begin = begin, .evaluate = evaluate,
                                              .is_same = is_same, .take = take,
                                              .promise = promise, .square = square,
                                              .pass = pass},
                                   by_gradients = {.keep = keep, .begin = begin,
                                                   .evaluate = evaluate, .is_same = is_same,
                                                   .take = take, .measure = measure,
                                                   .pass = pass};

/* From the best point. False: out of memory. */
static bool init(struct many *many, struct joint *joint, struct arena *arena)
{
    struct descent *descent = &many->descent;
    struct fit_point *points = descent->points;
    *many = (struct many){.joint = joint, .went = JOINT_COUNTS, .left = NAN};
    bool is_adjoint = joint->asker.accuracy.gradient == GRADIENT_adjoint;
    *descent = (struct descent){.method = is_adjoint ? &by_gradients : &by_rows,
                                .metric = is_adjoint ? &many->metric : NULL,
                                .search = &joint->search, .map = &many->map,
                                .shortens = joint->part.n_all > 1,
                                /* The length of a first step says nothing of many datasets, and
                                 * is known where a search goes on from another one's end. */
                                .is_near = joint->options->is_near || joint->part.n_all > 1 ||
                                           joint->confirm.former.is_there,
                                .best = &points[1]};
    if (!joint_vector_make(joint, joint_vector_all(joint), &many->map, &points[1].theta, arena))
        return false;
    size_t n = many->map.n_free;
    many->place = arena_calloc(arena, n + 1, sizeof *many->place);
    if (!descent_init(descent, arena) || !many->place ||
        (is_adjoint && n <= METRIC_MOST && !fit_metric_init(&many->metric, n, arena)) ||
        !ARENA_DOUBLES(arena, {&many->square, n, 1}, {&points[0].theta, n, 1},
                       {&points[0].gradient, n, 1}, {&points[1].gradient, n, 1}))
        return false;
    descent->best->f = joint->above.f;
    sum_columns(many, JOINT_BEST, false, descent->best->gradient);
    descent->is_resumed = joint->saved.descent > 0;
    if (!descent->is_resumed)
        return true;
    struct cursor cursor = {.from = joint->saved.bytes, .at = joint->saved.descent, .n = SIZE_MAX};
    joint->saved.descent = 0;
    return descent_pass(&cursor, descent);
}

enum joint_went joint_descend(struct joint *joint, enum outcome *outcome)
{
    struct arena arena = {0};
    struct many many;
    bool has_room = init(&many, joint, &arena);
    joint->descent = &many.descent;
    *outcome = has_room ? descent_run(&many.descent) : OUTCOME_out_of_memory;
    joint->descent = NULL;
    descent_fini(&many.descent);
    arena_fini(&arena);
    return joint->end.is_cut ? JOINT_ENDED : many.went;
}
