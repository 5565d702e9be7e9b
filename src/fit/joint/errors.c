/* The information of a fit over many datasets, and records of its datasets. What the whole fit
 * says about the parameters of one dataset, if all others are estimated, too, are the rows that
 * the elimination of its own parameters leaves, and the rows of the parameters above it once all
 * blocks have been eliminated. From these a record is filled as that of a single fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/internal.h"
#include "base/memory.h"
#include "base/words.h"
#include "fit/joint/vector.h"

#include "fit/objective/matrix.h"
#include "fit/statistics/observed.h"
#include "fit/statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The damping of the elimination, in units of the columns' lengths; and the accuracy of what it
 * leaves, relative to these. */
static const double DAMPING = 1e-16, ACCURACY = 1e-7 / 30;
/* A singular value of the shared parameters' rows counts as no smaller than this part of what
 * cannot be told from 0. */
static const double ZERO = 1e-2;

enum { N_SUM = sizeof(struct fit_influence) / sizeof(double) };

struct joint_errors {
    size_t n_kept;            /* shared parameters that no bound holds */
    uint32_t *index;          /* s: of each among those, or NOT_KEPT */
    struct fit_influence *sum;   /* s: of the shared parameters, then n_group for each group */
    struct fit_spectrum shared; /* of the n_kept parameters */
    /* n_kept x n_kept, with further columns of groups: its products are the covariance */
    double *root;
    struct fit_whole whole;
    double gradient_norm;     /* of the whole fit, as fit_point_gradient_norm */
    bool has_excess;          /* of some block: observed and expected information differ */
    bool lacks_rows;          /* some block has no derivatives of residuals: there are criteria
                               * alone */
    /* of derivatives, relative to the columns' lengths: their accuracy, and what the elimination of
     * some parameters leaves of it at least */
    double accuracy, least_error;
    /* for one block, at most n_most own parameters */
    /* n_above: of the parameters above that no bound holds; columns of their sum */
    uint32_t *loose, *kept, *column;
    size_t n_above, n_most;
    double *scale, *scratch;
    /* scratch of a block, and of a row: where there is one of these, that of the fit */
    struct arena *arena, own;
};

static const uint32_t NOT_KEPT = UINT32_MAX;

/* The scratch of the block before is no longer needed. */
static void empty(struct joint_errors *errors)
{
    arena_reset(&errors->own);
}

static bool is_held_at(int8_t bound, double g)
{
    return (bound < 0 && g >= 0) || (bound > 0 && g <= 0);
}

static bool is_slope_held(const struct joint_block *block, size_t j)
{
    return is_held_at(block->kept.at_bound[block->file_index[j]], block->trial.gradient[j]);
}

/* An entry of the gradient, or 0 where a bound holds the parameter. */
static double projected(int8_t bound, double g) { return is_held_at(bound, g) ? 0 : fabs(g); }

/* The own parameters that no bound holds, and the lengths of their columns. */
static size_t find_loose(const struct joint_block *block, size_t s, uint32_t *loose, double *scale)
{
    size_t all = block->n + s, n_loose = 0;
    const double *information = joint_findings_arrays(block).information;
    for (size_t j = 0; j < block->n; j++) {
        scale[j] = sqrt(matrix_squares(j + 1, information + j * all));
        scale[j] = scale[j] > 0 ? scale[j] : 1;
        if (!is_slope_held(block, j))
            loose[n_loose++] = (uint32_t)j;
    }
    return n_loose;
}

static struct joint_group *group_of(const struct joint *joint, size_t i)
{
    return joint->above.group ? &joint->above.group[joint->levels.group[0][i]] : NULL;
}

/* The parameters above block i that no bound holds. */
static void find_kept(struct joint *joint, size_t i)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_group *group = group_of(joint, i);
    size_t n = joint->above.n_group, n_loose = group ? group->n_loose : 0, n_before = 0;
    errors->n_above = 0;
    joint_columns(joint, i, joint->above.column);
    for (uint32_t k = 0; k < joint->above.s_block; k++) {
        bool is_group = k < n;
        uint32_t index = is_group ? (group->is_held[k] ? NOT_KEPT : (uint32_t)n_before++)
                                  : errors->index[joint->above.column[k] - n];
        if (index == NOT_KEPT)
            continue;
        errors->kept[errors->n_above] = k;
        errors->column[errors->n_above++] = is_group ? index : (uint32_t)n_loose + index;
    }
}

/* The sum of parameter k above block i. */
static struct fit_influence *sum_of(const struct joint *joint, size_t i, size_t k)
{
    size_t n = joint->above.n_group;
    struct fit_influence *sum = joint->errors->sum;
    return k < n ? &sum[joint->above.s + joint->levels.group[0][i] * n + k]
                 : &sum[joint->above.column[k] - n];
}

/* The rows of n eliminated parameters, then m others, become those of the observed information
 * (fit_observe). scale: lengths of the n columns. */
static bool observe(struct joint_errors *errors, size_t n, size_t m, double *own,
                    const double *scale, struct fit_excess excess, double *left, bool *is_definite)
{
    struct fit_spectrum spectrum;
    bool is_own = true;
    if (!fit_spectrum_room(&spectrum, n, 0, errors->arena))
        return false;
    spectrum.n = n;
    memcpy(spectrum.triangle, own, n * n * sizeof *own);
    memcpy(spectrum.scale, scale, n * sizeof *scale);
    fit_spectrum_decompose(&spectrum, errors->accuracy);
    bool is_good = fit_observe(&spectrum, m, own, excess, left, &is_own, errors->arena);
    *is_definite = *is_definite && is_own;
    return is_good;
}

/* Eliminates the own parameters of block i: leaves rows for those above it and, if the
 * information is the observed one, an excess. own: n_loose x (n_loose + n_above), or NULL.
 * False: out of memory; *n_loose: their number, in errors->loose. */
static bool eliminate(struct joint *joint, size_t i, double *own, size_t *n_loose,
                      bool *is_definite)
{
    struct joint_errors *errors = joint->errors;
    struct joint_block *block = &joint->block[i];
    size_t n = block->n, s = joint->above.s_block, all = n + s,
           loose = find_loose(block, s, errors->loose, errors->scale);
    double *zeros = errors->scratch + joint_scratch(n, s);
    const struct joint_arrays arrays = joint_findings_arrays(block);
    empty(errors);
    find_kept(joint, i);
    size_t width = loose + errors->n_above;
    double *rows = own ? own : arena_calloc(errors->arena, loose * width + 1, sizeof *rows);
    double *scale = arena_calloc(errors->arena, loose + 1, sizeof *scale);
    uint32_t *index = arena_calloc(errors->arena, width + 1, sizeof *index);
    *n_loose = loose;
    if (!rows || !scale || !index)
        return false;
    memset(zeros, 0, all * sizeof *zeros);
    joint_eliminate(n, s, arrays.information, zeros, errors->loose, loose, errors->kept,
                    errors->n_above, errors->scale, DAMPING, errors->scratch, block->trial.schur,
                    block->trial.schur_rhs, rows);
    if (!errors->whole.is_observed || !block->findings.has_excess)
        return true;
    for (size_t c = 0; c < width; c++) {
        index[c] = block->file_index[all + (c < loose ? errors->loose[c]
                                                      : n + errors->kept[c - loose])];
        if (c < loose)
            scale[c] = errors->scale[errors->loose[c]];
    }
    const struct fit_excess excess = {arrays.found.excess, all, index};
    return observe(errors, loose, errors->n_above, rows, scale, excess, arrays.left, is_definite);
}

struct reduction {
    struct joint *joint;
    const struct joint_group *group;
};

/* Of a block, by the number of those that take part, or in its group. */
static struct joint_rows rows_of_block(void *context, size_t k)
{
    const struct reduction *reduction = context;
    struct joint *joint = reduction->joint;
    uint32_t i =
        reduction->group ? joint->part.member[reduction->group->first + k] : joint->part.active[k];
    const struct joint_reduced *reduced = &joint->block[i].trial;
    find_kept(joint, i);
    return (struct joint_rows){reduced->schur, reduced->schur_rhs, joint->errors->n_above,
                               joint->errors->column};
}

static struct joint_rows rows_of_group(void *context, size_t g)
{
    const struct joint *joint = ((const struct reduction *)context)->joint;
    const struct joint_reduced *reduced = &joint->above.group[g].reduced;
    return (struct joint_rows){reduced->schur, reduced->schur_rhs, joint->errors->n_kept, NULL};
}

/* Adds what block i leaves of its excess to the rows and columns of those above it. */
static void add_left(struct joint *joint, size_t i, double *to, size_t width)
{
    struct joint_errors *errors = joint->errors;
    struct joint_block *block = &joint->block[i];
    if (!block->findings.has_excess)
        return;
    const double *left = joint_findings_arrays(block).left;
    find_kept(joint, i);
    size_t m = errors->n_above;
    for (size_t c = 0; c < m; c++)
        for (size_t d = 0; d < m; d++)
            to[errors->column[d] + errors->column[c] * width] += left[d + c * m];
}

static void left_of(const void *context, const struct joint_block *block, double *sum)
{
    struct joint *joint = (struct joint *)(uintptr_t)context;
    memset(sum, 0, joint->errors->n_kept * joint->errors->n_kept * sizeof *sum);
    add_left(joint, (size_t)(block - joint->block), sum, joint->errors->n_kept);
}

/* Reduces the information of a group, keeps the rows of its own parameters, and adds what it
 * leaves of the excess to `excess` (NULL: the information is the expected one). */
static bool eliminate_group(struct joint *joint, struct joint_group *group, double *excess,
                            bool *is_definite)
{
    struct joint_errors *errors = joint->errors;
    struct reduction reduction = {.joint = joint, .group = group};
    struct joint_reduced *reduced = &group->reduced;
    struct arena *arena = errors->arena;
    size_t n = group->n_loose, m = errors->n_kept, width = n + m;
    bool is_good =
        joint_sum(group->n, width, rows_of_block, &reduction, reduced->triangle, reduced->rhs);
    empty(errors);
    double *scratch = arena_calloc(arena, joint_scratch(n, m) + width + 1, sizeof *scratch),
           *own = NULL, *left = NULL;
    uint32_t *index = arena_calloc(arena, width + 1, sizeof *index);
    if (!is_good || !scratch || !index
        || !ARENA_DOUBLES(arena, {&own, width, excess ? width : 0}, {&left, m, excess ? m : 0}))
        return false;
    for (uint32_t j = 0; j < width; j++) {
        index[j] = j;
        double length = j < n ? sqrt(matrix_squares(j + 1, reduced->triangle + j * width)) : 1;
        *(j < n ? &errors->loose[j] : &errors->kept[j - n]) = j < n ? j : j - (uint32_t)n;
        if (j < n)
            errors->scale[j] = length > 0 ? length : 1;
    }
    joint_eliminate(n, m, reduced->triangle, scratch, errors->loose, n, errors->kept, m,
                    errors->scale, DAMPING, scratch + width, reduced->schur, reduced->schur_rhs,
                    group->error_rows);
    if (!excess)
        return true;
    for (size_t k = 0; k < group->n; k++)
        add_left(joint, joint->part.member[group->first + k], own, width);
    is_good = observe(errors, n, m, group->error_rows, errors->scale,
                      (struct fit_excess){own, width, index}, left, is_definite);
    for (size_t c = 0; c < m * m; c++)
        excess[c] += left[c];
    return is_good;
}

static bool make_errors(struct joint *joint)
{
    struct arena *arena = joint->arena;
    struct joint_errors *errors = joint->errors = arena_calloc(arena, 1, sizeof *errors);
    size_t s = joint->above.s, above = joint->above.s_block, n = joint->above.n_group,
           n_group = joint_n_group(joint);
    for (size_t i = 0; i < joint->part.n_active; i++)
        n = joint_active(joint, i)->n > n ? joint_active(joint, i)->n : n;
    if (!errors)
        return false;
    errors->arena = joint->n_block == 1 ? arena : &errors->own;
    errors->n_most = n;
    for (size_t k = 0; k < joint->n_parameter; k++)
        if (joint->levels.level[k] == 0 || joint->levels.level[k] == 2)
            errors->least_error = ACCURACY;
    errors->index = arena_calloc(arena, s + 1, sizeof *errors->index);
    errors->kept = arena_calloc(arena, s + above + 1, sizeof *errors->kept);
    errors->column = arena_calloc(arena, above + 1, sizeof *errors->column);
    errors->loose = arena_calloc(arena, n + 1, sizeof *errors->loose);
    errors->sum = arena_calloc(arena, s + n_group * joint->above.n_group + 1, sizeof *errors->sum);
    return errors->index && errors->kept && errors->column && errors->loose && errors->sum &&
           fit_spectrum_room(&errors->shared, s, 0, arena) &&
           ARENA_DOUBLES(arena, {&errors->scale, n, 1},
                         {&errors->root, joint->levels.n_column > 1 ? s : 0, s},
                         {&errors->scratch, joint_scratch(n, above) + 2 * (n + s + above), 1});
}

/* What a block says of parameter k of its own and those above it. */
static struct fit_influence column_of(const struct joint *joint, const struct joint_block *block,
                                      size_t k)
{
    size_t all = block->n + block->s;
    const struct joint_arrays arrays = joint_findings_arrays(block);
    struct fit_influence column =
        fit_findings_influence(&block->findings, &arrays.found, block->file_index[all + k]);
    double least = joint->errors->least_error * block->findings.size;
    column.error = fmax(column.error, least * least);
    column.squares = matrix_squares(k + 1, arrays.information + k * all);
    column.slope = block->best.gradient[k];
    return column;
}

static void sum_in(const void *context, const struct joint_block *block, size_t k, double *number)
{
    const struct fit_influence column = column_of(context, block, block->n + k);
    memcpy(number, &column, sizeof column);
}

static bool sum_columns(struct joint *joint)
{
    return joint_vector_sums(joint, N_SUM, sum_in, joint, (double *)joint->errors->sum);
}

static void criteria_of(const void *context, const struct joint_block *block, double *number)
{
    (void)context;
    number[0] = block->findings.criteria.chi_square;
    number[1] = block->findings.criteria.distances;
    number[2] = block->findings.prediction_error * block->findings.prediction_error;
}

/* The largest entry of the projected gradient of the parameters of this process's blocks and of
 * those above them; where a row is at a bound, all rows that have the parameter are. */
static double gradient_norm_of(const struct joint *joint)
{
    double norm = 0;
    for (size_t a = 0; a < joint->part.n_active; a++) {
        const struct joint_block *block = joint_active(joint, a);
        for (size_t j = 0; j < block->n; j++)
            norm = fmax(norm, projected(block->kept.at_bound[block->file_index[j]],
                                        block->best.gradient[j]));
        joint_columns(joint, joint->part.active[a], joint->above.column);
        for (size_t k = 0; k < joint->above.s_block; k++)
            norm = fmax(norm, projected(block->kept.at_bound[block->file_index[block->n + k]],
                                        sum_of(joint, joint->part.active[a], k)->slope));
    }
    return norm;
}

/* Counts the parameters of groups that no bound holds. */
static void count_groups(struct joint *joint, double *n_fitted, double *n_noise)
{
    const struct fit_influence *sum = joint->errors->sum + joint->above.s;
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        struct joint_group *group = &joint->above.group[g];
        group->n_loose = 0;
        for (size_t k = 0; k < joint->above.n_group; k++, sum++) {
            bool is_fitted = !group->is_held[k];
            group->n_loose += is_fitted;
            *n_noise += is_fitted && group->n > 0 && fit_influence_is_noise(sum);
        }
        *n_fitted += group->n > 0 ? (double)group->n_loose : 0;
    }
}

/* Counts measurements and fitted parameters, and sums the criteria. False: out of memory. */
static bool count(struct joint *joint)
{
    struct joint_errors *errors = joint->errors;
    struct fit_whole *whole = &errors->whole;
    double criteria[3], n_row = 0, n_fitted = 0, n_noise = 0;
    enum { EXCESS = 1, NORMAL = 2, KINKS = 4, NEITHER = 8, NO_ROWS = 16 };
    struct joint_facts facts = {.any = 0, .single = gradient_norm_of(joint)};
    count_groups(joint, &n_fitted, &n_noise);
    for (size_t a = 0; a < joint->part.n_active; a++) {
        const struct joint_block *block = joint_active(joint, a);
        double weight = joint_weight(joint, joint->part.active[a]),
               scaling = block->findings.criteria.scaling;
        size_t n_loose = find_loose(block, joint->above.s_block, errors->loose, errors->scale);
        for (size_t c = 0; c < n_loose; c++) {
            const struct fit_influence column = column_of(joint, block, errors->loose[c]);
            n_noise += weight * fit_influence_is_noise(&column);
        }
        n_fitted += weight * (double)n_loose;
        n_row += (double)block->n_row;
        facts.any |= (block->findings.has_excess ? EXCESS : 0) | (scaling == 1   ? NORMAL
                                                                  : scaling == 2 ? KINKS
                                                                                 : NEITHER);
        facts.any |= block->findings.has_rows ? 0 : NO_ROWS;
        facts.most = fmax(facts.most, block->findings.accuracy);
    }
    joint_agree(joint, &facts);
    *whole =
        (struct fit_whole){.options = joint->options,
                           .n_row = joint_count_up(joint, n_row),
                           .n_fitted = joint_count_up(joint, n_fitted) + (double)errors->n_kept,
                           .n_noise = joint_count_up(joint, n_noise),
                           .is_sigma_known = joint->asker.is_sigma_known, .is_observed = true};
    errors->has_excess = facts.any & EXCESS;
    errors->lacks_rows = facts.any & NO_ROWS;
    errors->gradient_norm = facts.single;
    for (size_t k = 0; k < joint->above.s; k++)
        whole->n_noise += errors->index[k] != NOT_KEPT && fit_influence_is_noise(&errors->sum[k]);
    if (!joint_totals(joint, 3, criteria_of, NULL, criteria))
        return false;
    bool is_normal = !(facts.any & (KINKS | NEITHER)),
         are_kinks = !(facts.any & (NORMAL | NEITHER));
    whole->criteria = (struct fit_criteria){.chi_square = criteria[0], .distances = criteria[1],
                                            .scaling = are_kinks ? 2 : is_normal};
    whole->prediction_error = sqrt(criteria[2]);
    errors->accuracy = fmax(facts.most, errors->least_error);
    return true;
}

/* Eliminates all blocks and groups, and decomposes what is left for the shared parameters.
 * False: out of memory. */
static bool reduce(struct joint *joint, bool *is_definite)
{
    struct joint_errors *errors = joint->errors;
    struct fit_spectrum *shared = &errors->shared;
    struct reduction reduction = {.joint = joint};
    size_t k = errors->n_kept, n_loose, n_group = joint->above.group ? joint->levels.n_group[0] : 0;
    bool is_observed = errors->has_excess && errors->whole.is_observed;
    double *excess = is_observed ? memory_calloc(k * k + 1, sizeof *excess) : NULL;
    bool is_good = excess || !is_observed;
    for (size_t a = 0; is_good && a < joint->part.n_active; a++)
        is_good = eliminate(joint, joint->part.active[a], NULL, &n_loose, is_definite);
    for (size_t g = 0; is_good && g < n_group; g++)
        is_good = eliminate_group(joint, &joint->above.group[g], excess, is_definite);
    if (is_good && excess && !joint->above.group)
        is_good = joint_totals(joint, k * k, left_of, joint, excess);
    is_good =
        is_good &&
        (joint->above.group
             ? joint_sum(n_group, k, rows_of_group, &reduction, shared->triangle, shared->q)
             : joint_sum_all(joint, k, rows_of_block, &reduction, shared->triangle, shared->q));
    shared->n = k;
    for (uint32_t j = 0; j < joint->above.s; j++)
        if (errors->index[j] != NOT_KEPT) {
            shared->loose[errors->index[j]] = errors->index[j];
            shared->scale[errors->index[j]] =
                fit_influence_length(&errors->sum[j], &joint->asker.map, j, joint->above.theta[j]);
        }
    if (is_good)
        fit_spectrum_decompose(shared, errors->accuracy);
    bool is_above = true;
    empty(errors);
    if (is_good && excess)
        is_good = fit_observe(shared, 0, shared->triangle,
                              (struct fit_excess){excess, k, shared->loose}, NULL, &is_above,
                              errors->arena);
    *is_definite = *is_definite && is_above;
    free(excess);
    return is_good;
}

/* Columns whose products are the covariance of the shared parameters; directions that the data
 * do not determine are very uncertain. */
static void find_root(struct joint_errors *errors)
{
    struct fit_spectrum *shared = &errors->shared;
    size_t k = errors->n_kept;
    fit_spectrum_decompose(shared, errors->accuracy);
    fit_spectrum_directions(shared);
    for (size_t d = 0; d < k; d++)
        for (size_t c = 0; c < k; c++)
            errors->root[c + d * k] =
                shared->v[c + d * k] / shared->scale[c] / fmax(shared->s[d], ZERO * shared->least);
}

bool joint_errors_compute(struct joint *joint)
{
    if (!make_errors(joint))
        return false;
    struct joint_errors *errors = joint->errors;
    for (uint32_t k = 0; k < joint->above.s; k++)
        errors->index[k] = fit_point_is_held(&joint->asker.map, &joint->point, k)
                             ? NOT_KEPT
                             : (uint32_t)errors->n_kept++;
    if (!sum_columns(joint) || !count(joint))
        return false;
    struct joint_facts facts = {.any = !errors->lacks_rows};
    while (facts.any) {
        bool is_definite = true, is_good = reduce(joint, &is_definite);
        enum { BAD = 1, NO_MEMORY = 2 };
        facts.any = (is_definite ? 0 : BAD) | (is_good ? 0 : NO_MEMORY);
        joint_agree(joint, &facts);
        if (facts.any & NO_MEMORY)
            return false;
        errors->whole.is_observed = errors->whole.is_observed && !facts.any;
    }
    if (joint->levels.n_column > 1 && !errors->lacks_rows)
        find_root(errors);
    return true;
}

bool joint_errors_describe(struct joint *joint)
{
    if (!make_errors(joint))
        return false;
    struct joint_errors *errors = joint->errors;
    for (uint32_t k = 0; k < joint->above.s; k++)
        errors->index[k] = NOT_KEPT;
    if (!sum_columns(joint) || !count(joint))
        return false;
    errors->whole.n_fitted = errors->whole.n_noise = 0;
    return true;
}

void joint_errors_fini(struct joint *joint)
{
    if (joint->errors)
        arena_fini(&joint->errors->own);
    joint->errors = NULL;
}

/* Where the parameters of a row are: their rows of the whole fit's information, if all others
 * are estimated, too. */
struct row {
    size_t n_own, n_above, n_row;
    double *rows; /* n_row x (n_own + n_above): own ones first, then those above */
};

/* As matrix_invert, in units of the columns' lengths, which go to `scale` (n). */
static double invert(size_t n, const double *triangle, double *scale, double *inverse)
{
    for (size_t c = 0; c < n; c++) {
        scale[c] = sqrt(matrix_squares(c + 1, triangle + c * n));
        scale[c] = scale[c] > 0 ? scale[c] : 1;
    }
    return n > 0 ? matrix_invert(n, triangle, scale, inverse) : 1;
}

/* Of the parameters above block i from the covariance's root: with further columns of groups
 * most shared parameters are others'. R d + F e = noise for those of its group, so that d = R^-1
 * (noise - F e) for errors e of the shared ones. */
static bool above_by_root(struct joint *joint, size_t i, double *triangle)
{
    struct joint_errors *errors = joint->errors;
    struct joint_group *group = group_of(joint, i);
    size_t n = group->n_loose, k = errors->n_kept, width = n + k, m = errors->n_above;
    double *scale, *inverse, *root, *zeros, *r, *q, *ones;
    if (!ARENA_DOUBLES(errors->arena, {&scale, n, 1}, {&inverse, n, n}, {&root, width, m},
                       {&zeros, width, 1}, {&r, m, m}, {&q, m, 1}, {&ones, m, 1}))
        return false;
    invert(n, group->error_rows, scale, inverse);
    for (size_t c = 0; c < m; c++) {
        size_t column = errors->column[c];
        ones[c] = 1;
        for (size_t d = 0; d < k && column >= n; d++)
            root[n + d + c * width] = errors->root[column - n + d * k];
        for (size_t d = column; column < n && d < n; d++) {
            root[d + c * width] = inverse[column + d * n];
            for (size_t l = 0; l < k; l++) {
                double by = -inverse[column + d * n] * group->error_rows[d + (n + l) * n];
                for (size_t e = 0; e < k && by != 0; e++)
                    root[n + e + c * width] += by * errors->root[l + e * k];
            }
        }
    }
    matrix_triangle(width, m, root, zeros, r, q);
    /* the covariance is r'r, and its inverse has the rows of r^-1 transposed */
    matrix_invert(m, r, ones, root);
    for (size_t c = 0; c < m; c++)
        for (size_t d = 0; d < m; d++)
            triangle[d + c * m] = root[c + d * m];
    return true;
}

/* The rows of block i. False: out of memory. */
static bool find_rows(struct joint *joint, size_t i, struct row *row)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_group *group = group_of(joint, i);
    struct joint_block *block = &joint->block[i];
    size_t s = joint->above.s_block, k = errors->n_kept;
    double *own = memory_calloc(block->n * (block->n + s) + 1, sizeof *own);
    bool is_definite = true, has_root = joint->levels.n_column > 1;
    *row = (struct row){.n_own = 0};
    bool is_good = own && eliminate(joint, i, own, &row->n_own, &is_definite);
    size_t n = row->n_own, m = row->n_above = errors->n_above, n_group = group ? group->n_loose : 0;
    row->n_row = n + (has_root ? m : n_group + k);
    is_good = is_good && ARENA_DOUBLES(errors->arena, {&row->rows, row->n_row, n + m});
    for (size_t c = 0; is_good && c < n + m; c++)
        memcpy(row->rows + c * row->n_row, own + c * n, n * sizeof *own);
    free(own);
    double *triangle;
    if (is_good && has_root) {
        is_good =
            ARENA_DOUBLES(errors->arena, {&triangle, m, m}) && above_by_root(joint, i, triangle);
        for (size_t c = 0; is_good && c < m; c++)
            memcpy(row->rows + n + (n + c) * row->n_row, triangle + c * m, m * sizeof *triangle);
    }
    for (size_t c = 0; is_good && !has_root && c < m; c++) {
        double *to = row->rows + n + (n + c) * row->n_row;
        size_t column = errors->column[c];
        if (group)
            memcpy(to, group->error_rows + column * n_group, n_group * sizeof *to);
        if (column >= n_group)
            memcpy(to + n_group, errors->shared.triangle + (column - n_group) * k, k * sizeof *to);
    }
    return is_good;
}

/* What is known of the parameters of block i, in the model's order, but the spectrum. False: out of
 * memory. */
static bool make_portion(struct joint *joint, size_t i, struct fit_map *map, double **chain,
                         struct fit_portion *part)
{
    const struct joint_block *block = &joint->block[i];
    const struct fit_findings_arrays arrays = joint_findings_arrays(block).found;
    struct arena *arena = joint->errors->arena;
    size_t all = block->n + joint->above.s_block;
    *map = (struct fit_map){.n_free = all,
                            .size = arrays.size, .lower = arrays.lower, .upper = arrays.upper,
                            .file_index = arena_calloc(arena, all + 1, sizeof *map->file_index),
                            .scale = arena_calloc(arena, all + 1, sizeof *map->scale)};
    if (!map->file_index || !map->scale || !ARENA_DOUBLES(arena, {chain, all, 1}))
        return false;
    for (size_t k = 0; k < all; k++) {
        uint32_t j = block->file_index[all + k];
        map->file_index[j] = block->file_index[k];
        map->scale[j] = joint->scale[block->file_index[k]];
        (*chain)[j] = block->chain[k];
    }
    *part = (struct fit_portion){.findings = &block->findings, .map = map, .chain = *chain,
                                 .n_parameter = joint->n_parameter,
                                 .is_small = all <= FIT_MAX_PAIR_PARAMETERS ||
                                             joint->part.n_all == 1};
    return true;
}

/* Writes the triangle of a (m x n), which may be one already; destroys a and b. */
static void take_triangle(size_t m, size_t n, double *a, double *b, struct fit_spectrum *spectrum)
{
    bool is_triangle = m == n;
    for (size_t c = 0; is_triangle && c < n; c++)
        for (size_t i = c + 1; is_triangle && i < m; i++)
            is_triangle = a[i + c * m] == 0;
    if (is_triangle)
        memcpy(spectrum->triangle, a, n * n * sizeof *a);
    else
        matrix_triangle(m, n, a, b, spectrum->triangle, spectrum->q);
}

/* Columns of a row in the model's order, or where these are many as they are, which may save a
 * factorisation. False: out of memory. */
static bool find_spectrum(struct joint *joint, size_t i, const struct row *row,
                          struct fit_portion *part)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_block *block = &joint->block[i];
    struct arena *arena = errors->arena;
    size_t n = row->n_own + row->n_above, all = part->map->n_free, m = row->n_row;
    size_t n_censored = block->findings.n_censored;
    bool is_small = all <= FIT_MAX_PAIR_PARAMETERS;
    /* by the model's order: 1 + a column of the row */
    uint32_t *from = arena_calloc(arena, all + 1, sizeof *from);
    uint32_t *order = arena_calloc(arena, n + 1, sizeof *order);
    struct fit_influence *column = arena_calloc(arena, n + 1, sizeof *column);
    struct fit_spectrum *spectrum = arena_calloc(arena, 1, sizeof *spectrum);
    double *a, *b;
    if (!from || !order || !column || !spectrum ||
        !fit_spectrum_room(spectrum, all, n_censored > all ? n_censored : all, arena) ||
        !ARENA_DOUBLES(arena, {&a, m, n}, {&b, m, 1}))
        return false;
    for (uint32_t c = 0; c < n; c++) {
        order[c] =
            block->file_index[all + (c < row->n_own ? errors->loose[c]
                                                    : block->n + errors->kept[c - row->n_own])];
        from[order[c]] = c + 1;
    }
    for (uint32_t k = 0; k < (is_small ? all : n); k++) {
        uint32_t j = is_small ? k : order[k], c = from[j] - 1;
        if (!from[j])
            continue;
        memcpy(a + spectrum->n * m, row->rows + c * m, m * sizeof *a);
        column[spectrum->n] = c < row->n_own ? column_of(joint, block, errors->loose[c])
                                             : *sum_of(joint, i, errors->kept[c - row->n_own]);
        spectrum->loose[spectrum->n++] = j;
    }
    take_triangle(m, n, a, b, spectrum);
    part->spectrum = spectrum;
    part->column = column;
    fit_portion_decompose(part, errors->accuracy);
    return true;
}

/* Whether the whole fit is that of block i, which has no parameters of its own. */
static bool is_whole(const struct joint *joint, size_t i)
{
    return joint->part.n_all == 1 && joint->block[i].n == 0 && joint->levels.n_column == 0 &&
           joint->block[i].findings.n_censored == 0; /* these need room in the spectrum */
}

/* The whole fit's spectrum in place of find_rows and find_spectrum. False: out of memory. */
static bool take_whole(struct joint *joint, size_t i, struct fit_portion *part)
{
    struct joint_errors *errors = joint->errors;
    const struct joint_block *block = &joint->block[i];
    struct fit_spectrum *spectrum = &errors->shared;
    struct fit_influence *influence =
        arena_calloc(errors->arena, spectrum->n + 1, sizeof *influence);
    if (!influence)
        return false;
    find_kept(joint, i);
    for (size_t c = 0; c < spectrum->n; c++) {
        influence[c] = *sum_of(joint, i, errors->kept[c]);
        spectrum->loose[c] = block->file_index[block->s + errors->kept[c]];
    }
    part->spectrum = spectrum;
    part->column = influence;
    if (errors->has_excess && errors->whole.is_observed)
        fit_portion_decompose(part, errors->accuracy);
    return true;
}

/* Fills the record of block i, as far as its derivatives are known. False: out of memory. */
static bool put_statistics(struct joint *joint, size_t i, struct fit_record *record)
{
    struct joint_errors *errors = joint->errors;
    struct fit_portion part;
    struct fit_map map;
    struct row row;
    double *chain;
    bool is_all = is_whole(joint, i);
    empty(errors);
    if (errors->lacks_rows) {
        fit_statistics_describe(record, &errors->whole, &joint->block[i].findings,
                                joint->n_parameter);
        return true;
    }
    return (is_all || find_rows(joint, i, &row)) && make_portion(joint, i, &map, &chain, &part) &&
           (is_all ? take_whole(joint, i, &part) : find_spectrum(joint, i, &row, &part)) &&
           fit_statistics_fill(record, &errors->whole, &part, errors->arena);
}

/* What the row of an evaluation says of its share of the objective. */
static void put_evaluation(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    size_t all = block->n + joint->above.s_block;
    fit_statistics_describe(record, &joint->errors->whole, &block->findings, joint->n_parameter);
    for (size_t k = 0; k < all; k++)
        record->slope[block->file_index[k]] = block->best.gradient[k] / block->chain[k];
}

/* Why there is no result; blocks that are not the reason say so, unless it is one that the fit
 * has as a whole. */
static void explain(const struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    const struct joint_end *end = &joint->end;
    bool is_one = end->culprit < joint->ranks.n_block,
         is_me = is_one && end->culprit == joint->ranks.first + i;
    bool is_common = end->outcome == OUTCOME_stalled || end->outcome == OUTCOME_budget ||
                     end->outcome == OUTCOME_timeout;
    record->stop = joint->end.stop;
    if (block->is_out || block->outcome == OUTCOME_out_of_memory) {
        record->outcome = block->outcome;
        snprintf(record->reason, sizeof record->reason, "%s", block->reason);
        return;
    }
    record->outcome = end->outcome;
    if (outcome_is_success(end->outcome))
        return;
    if (!is_one || is_me) {
        bool is_blamed = is_one && !joint->session;
        snprintf(record->reason, sizeof record->reason, "%s",
                 is_blamed ? end->blame.reason : joint->asker.reason);
        return;
    }
    char name[JOINT_NAME];
    joint_name(joint, end->culprit, name);
    snprintf(record->reason, sizeof record->reason, "%s: %.*s", name,
             (int)(sizeof record->reason - sizeof name), end->blame.reason);
    if (!is_common || end->blame.has_crashed)
        record->outcome = OUTCOME_other_failed;
}

/* The best point. */
static void put_best(const struct joint *joint, const struct joint_block *block,
                     struct fit_record *record)
{
    const struct fit_certificate *certificate = &joint->confirm.certificate;
    double rtol = joint->options->accuracy, tighter = joint->asker.accuracy.tighter;
    record->rtol = tighter == 1 ? rtol : number_decimal(rtol / tighter);
    record->objective = block->best.f;
    record->gradient_norm = joint->errors ? joint->errors->gradient_norm : (double)NAN;
    memcpy(record->parameter, block->kept.p, joint->n_parameter * sizeof *block->kept.p);
    memcpy(record->at_bound, block->kept.at_bound, joint->n_parameter);
    if (!joint->errors || joint->options->evaluates || !joint->options->certify ||
        isnan(certificate->decrease))
        return;
    record->tight_change = joint->session ? certificate->change : block->trial.f - block->best.f;
    record->tight_decrease = certificate->decrease;
}

void joint_record(struct joint *joint, size_t i, struct fit_record *record)
{
    const struct joint_block *block = &joint->block[i];
    const struct joint_errors *errors = joint->errors;
    bool is_kept = block->kept.is_there && !block->is_out,
         is_evaluation = joint->options->evaluates;
    fit_record_begin(record, joint->n_parameter,
                     block->notes | (block->is_out ? 0 : joint->asker.notes));
    record->dataset = joint->ranks.first + i;
    record->start = joint->task;
    record->n_no_sigma = block->n_no_sigma;
    record->n_iteration = joint->search.n_iteration;
    fit_work_put(&block->used, record);
    if (block->is_made)
        record->gradient = block->gradient;
    if (block->is_made && !is_evaluation)
        record->optimizer = joint->descends ? OPTIMIZER_lbfgs : OPTIMIZER_trf;
    explain(joint, i, record);
    if (is_kept)
        put_best(joint, block, record);
    if (is_kept && errors && is_evaluation)
        put_evaluation(joint, i, record);
    else if (is_kept && errors && joint->options->statistics && !put_statistics(joint, i, record))
        fit_record_fail(record, OUTCOME_out_of_memory,
                        "no memory for the statistics of this dataset");
    if (joint->upper.method)
        joint->upper.method->record(joint, i, record);
}
