/* What a dataset contributes to the likelihood of a fit with random parameters, and its
 * derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/block.h"

#include "base/random.h"
#include "fit/mixed/hills.h"
#include "fit/mixed/points.h"
#include "fit/mixed/seek.h"
#include "fit/mixed/sums.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So often a dataset returns to lanes: a pass may only have met points that are far away. */
enum { MOST_LEFT = 4 };
/* Steps of differences of second derivatives, in natural units of the parameters. */
static const double DIFFERENCE = 3e-3;
/* e_a'M l_f, for the information M of the random parameters in local->there, and l_f, column f of
 * the factor; and l_b'M l_f. */
static double side_product(const struct effects *local, size_t a, size_t f)
{
    const double *row = local->there.information + local->random[a] * local->s;
    double sum = 0;
    for (size_t p = f; p < local->r; p++)
        sum += row[local->random[p]] * local->factor[p + f * local->r];
    return sum;
}

static double both_product(const struct effects *local, size_t b, size_t f)
{
    double sum = 0;
    for (size_t p = b; p < local->r; p++)
        sum += local->factor[p + b * local->r] * side_product(local, p, f);
    return sum;
}

/* Of entries c and d of the factor, tr(M X M Y)/2, where X and Y are the covariance's derivatives
 * by these: l_b e_a' + e_a l_b' for the entry in row a and column b. */
static double factor_information(const struct effects *local, size_t c, size_t d)
{
    size_t a = local->row[c], b = local->column[c], e = local->row[d], f = local->column[d];
    double ae = local->there.information[local->random[a] + local->random[e] * local->s];
    return ae * both_product(local, b, f)
           + side_product(local, a, f) * side_product(local, e, b);
}

/* The expected information of the estimates in a model that is linear around the mode: of means and
 * shared values what is left once the random effects are eliminated, and of the factor's entries
 * that of a normal distribution's covariance. information: of the parameters, s x s. */
static void put_information(struct effects *local, const double *information)
{
    size_t r = local->r, s = local->s, m = local->m;
    double *left = local->there.information, *to = local->matrix;
    double *x = local->scratch; /* G^-1 L'A for I + L'AL = GG' */
    bool is_good = effects_hessian(local, information);
    effects_by(local, information, s, x);
    for (size_t k = 0; k < s && is_good; k++)
        matrix_solve_lower(r, local->cholesky, x + k * r);
    for (size_t c = 0; c < s; c++)
        for (size_t d = 0; d < s; d++)
            left[d + c * s] =
                information[d + c * s] - (is_good ? matrix_dot(r, x + c * r, x + d * r) : 0);
    for (size_t c = 0; c < m; c++)
        for (size_t d = c; d < m; d++)
            *to++ = d < s    ? left[d + c * s]
                    : c >= s ? factor_information(local, c - s, d - s)
                             : 0;
}

/* How the mode and the curvature there, H = I + L'AL = GG', change with the estimates. */
struct around {
    double *second;     /* s x s: true second derivatives, column k by parameter k */
    double *by;         /* s of r x r: L' dA L by each parameter, the random ones' entries of A */
    double *spread;     /* r x r: A L */
    double *mode_by;    /* m of r: the mode's derivatives */
    double *factor_by;  /* m of r x r: lower triangles F with dG = G F */
    double *true_factor, *moved, *change; /* r x r, r, r x r */
};

static bool make_around(struct around *around, const struct effects *local)
{
    size_t r = local->r, s = local->s, m = local->m;
    return ARENA_DOUBLES(local->arena, {&around->second, s, s}, {&around->by, s, r * r},
                         {&around->spread, r, r}, {&around->mode_by, m, r},
                         {&around->factor_by, m, r * r}, {&around->true_factor, r, r},
                         {&around->moved, r, 1}, {&around->change, r, r});
}

/* A step for differences of parameter k of those above the block. */
static double difference_of(const struct effects *local, size_t k)
{
    const struct mixed_progress *progress = &local->mixed->progress;
    size_t r = local->r,
           above = k < progress->s
                       ? k
                       : local->mixed->random[progress->r + (k - progress->s) % progress->q];
    double size = fit_map_size(&local->work->asker->map, local->work->order[above],
                               local->at[above]);
    double squares = 0;
    for (size_t a = 0; a < r; a++)
        for (size_t c = 0; local->random[a] == k && c <= a; c++)
            squares += local->factor[a + c * r] * local->factor[a + c * r];
    size = fmax(size, sqrt(squares));
    return DIFFERENCE * (size > 0 ? size : 1);
}

/* Adds `by` times L'AL to a matrix. */
static void add_effects(struct effects *local, const double *information, double by, double *to)
{
    size_t r = local->r;
    effects_by(local, information, local->s, local->scratch);
    for (size_t c = 0; c < r; c++)
        for (size_t d = 0; d < r; d++)
            for (size_t a = d; a < r; a++)
                to[c + d * r] += by * local->scratch[c + local->random[a] * r]
                                 * local->factor[a + d * r];
}

/* By parameter k, around the mode. A side that cannot be evaluated is replaced by the mode. */
static enum asked differ(struct effects *local, struct around *around, size_t k)
{
    size_t s = local->s, r = local->r;
    double h = difference_of(local, k), width = 0;
    double *second = around->second + k * s, *by = around->by + k * r * r;
    memcpy(local->there.b, local->here.b, r * sizeof *local->here.b);
    memset(second, 0, s * sizeof *second);
    memset(by, 0, r * r * sizeof *by);
    for (int side = 1; side >= -1; side -= 2) {
        local->shift[k] = side * h;
        enum asked asked = effects_evaluate(local, &local->there);
        local->shift[k] = 0;
        if (asked == ASKED_END)
            return ASKED_END;
        const struct effects_place *place = asked == ASKED_OK ? &local->there : &local->here;
        width += asked == ASKED_OK ? h : 0;
        add_effects(local, place->information, side, by);
        for (size_t j = 0; j < s; j++)
            second[j] += side * place->slope[j];
    }
    for (size_t j = 0; j < r * r; j++)
        by[j] = width > 0 ? by[j] / width : 0;
    for (size_t j = 0; j < s; j++)
        second[j] = width > 0 ? second[j] / width : local->here.information[j + k * s];
    return ASKED_OK;
}

/* The mode's derivative by estimate j: -H~^-1 times the mixed derivatives, with the true second
 * derivatives H~, whose factor is known. */
static void move_mode(struct effects *local, struct around *around, size_t j)
{
    size_t r = local->r, s = local->s;
    double by, *mode_by = around->mode_by + j * r;
    const uint32_t *random = effects_moved_by(local, j, local->here.b, &by);
    effects_by(local, around->second + (random ? *random : j) * s, 1, mode_by);
    for (size_t c = 0; c < r; c++)
        mode_by[c] *= -by;
    if (j >= s)
        mode_by[local->column[j - s]] -= local->here.slope[*random];
    matrix_solve_lower(r, around->true_factor, mode_by);
    matrix_solve_upper(r, around->true_factor, mode_by);
}

/* F = lower half of G^-1 dH G^-T by estimate j. */
static void move_factor(struct effects *local, struct around *around, size_t j)
{
    size_t r = local->r, s = local->s;
    double by, *change = around->change, *factor_by = around->factor_by + j * r * r;
    const uint32_t *random = effects_moved_by(local, j, local->here.b, &by);
    memset(change, 0, r * r * sizeof *change);
    for (size_t k = 0; !random && k < r * r; k++)
        change[k] = around->by[j * r * r + k];
    for (size_t a = 0; a < r; a++) {
        double moved = random == &local->random[a] ? by : 0;
        for (size_t c = 0; c <= a; c++)
            moved += local->factor[a + c * r] * around->mode_by[c + j * r];
        for (size_t k = 0; k < r * r; k++)
            change[k] += moved * around->by[local->random[a] * r * r + k];
    }
    for (size_t d = 0; j >= s && d < r; d++) {
        size_t a = local->row[j - s], c = local->column[j - s];
        change[c + d * r] += around->spread[a + d * r];
        change[d + c * r] += around->spread[a + d * r];
    }
    for (int side = 0; side < 2; side++) {
        for (size_t c = 0; c < r; c++)
            matrix_solve_lower(r, local->cholesky, change + c * r);
        matrix_transpose(r, change);
    }
    for (size_t c = 0; c < r; c++)
        for (size_t d = c; d < r; d++)
            factor_by[d + c * r] = d == c ? 0.5 * change[d + c * r] : change[d + c * r];
}

/* At the mode, local->here, whose H has a factor. */
static enum asked look_around(struct effects *local, struct around *around)
{
    size_t r = local->r, s = local->s;
    enum asked asked = ASKED_OK;
    for (size_t k = 0; k < s && asked != ASKED_END; k++)
        asked = differ(local, around, k);
    if (asked == ASKED_END)
        return ASKED_END;
    for (size_t a = 0; a < r; a++)
        for (size_t d = 0; d < r; d++) {
            around->spread[a + d * r] = 0;
            for (size_t e = d; e < r; e++)
                around->spread[a + d * r] +=
                    local->here.information[local->random[a] + local->random[e] * s]
                    * local->factor[e + d * r];
        }
    memcpy(around->true_factor, local->cholesky, r * r * sizeof *around->true_factor);
    memcpy(around->change, local->cholesky, r * r * sizeof *around->change);
    if (effects_hessian(local, around->second))
        memcpy(around->true_factor, local->cholesky, r * r * sizeof *around->true_factor);
    memcpy(local->cholesky, around->change, r * r * sizeof *around->change);
    for (size_t j = 0; j < local->m; j++) {
        move_mode(local, around, j);
        move_factor(local, around, j);
    }
    return ASKED_OK;
}

static double trace(size_t r, const double *matrix)
{
    double sum = 0;
    for (size_t a = 0; a < r; a++)
        sum += matrix[a + a * r];
    return sum;
}

/* Conditional means and standard deviations of the random parameters, from those of the random
 * effects. */
static void describe(const struct effects *local, const double *effects, const double *covariance)
{
    size_t r = local->r;
    for (size_t a = 0; a < local->mixed->progress.r; a++) {
        double variance = 0;
        local->block->mean[a] = local->at[local->random[a]];
        for (size_t c = 0; c <= a; c++) {
            local->block->mean[a] += local->factor[a + c * r] * effects[c];
            for (size_t d = 0; d <= a; d++)
                variance += local->factor[a + c * r] * covariance[d + c * r]
                            * local->factor[a + d * r];
        }
        local->block->deviation[a] = sqrt(fmax(variance, 0));
    }
}

/* Laplace's likelihood at the mode. */
static void put_laplace(struct effects *local, const struct around *around)
{
    struct mixed_block *block = local->block;
    size_t r = local->r;
    double by;
    block->number[0] = local->here.with_density + effects_half_log_det(r, local->cholesky);
    block->effective = NAN;
    block->lost = 0;
    block->rounding = local->here.rounding;
    for (size_t j = 0; j < local->m; j++) {
        const uint32_t *random = effects_moved_by(local, j, local->here.b, &by);
        local->gradient[j] = by * local->here.slope[random ? *random : j]
                               + trace(r, around->factor_by + j * r * r);
    }
    matrix_inverse(r, local->cholesky, around->change); /* H^-1 */
    describe(local, local->here.b, around->change);
    put_information(local, local->here.information);
}

/* Where among the estimates of the distributions estimate j of the dataset is; SIZE_MAX: it is a
 * shared one. */
static size_t place_of(const struct effects *local, size_t j)
{
    if (j >= local->s)
        return local->r + j - local->s;
    for (size_t a = 0; a < local->r; a++)
        if (local->random[a] == j)
            return a;
    return SIZE_MAX;
}

/* The observed information of the distributions' estimates. first, second: of b. */
static void put_observed(const struct effects *local, const struct sums *sums, const double *first,
                         double *second)
{
    size_t r = local->r, n = sums->n_observed;
    double *to = local->matrix, weight = sums_weight(sums);
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b < r; b++)
            second[b + a * r] += first[a] * first[b];
    for (size_t c = 0; c < local->m; c++)
        for (size_t d = c; d < local->m; d++) {
            size_t j = place_of(local, c), i = place_of(local, d), high = i > j ? i : j,
                low = i > j ? j : i;
            *to++ = high >= n ? 0
                              : louis_information(&sums->louis, i, j, first, second)
                                    - sums->products[high + low * n] / weight
                                    + sums->observed[i] / weight * sums->observed[j] / weight;
        }
}

/* Points have derivatives by those parameters alone that scores need: shared ones, and those of the
 * effects that are held. */
static bool restrict_derivatives(struct effects *local, const struct scores *scores)
{
    const struct mixed *mixed = local->mixed;
    const struct joint_work *work = local->work;
    struct fit_map *map = &work->asker->map;
    size_t r = mixed->progress.r, q = mixed->progress.q;
    bool *is_wanted = arena_calloc(local->arena, map->n_free + 1, sizeof *is_wanted);
    if (!is_wanted)
        return false;
    for (size_t k = 0; k < mixed->progress.s; k++)
        is_wanted[work->order[k]] = true;
    for (size_t a = 0; a < r; a++)
        is_wanted[work->order[local->random[a]]] = scores->is_curve[a];
    for (size_t a = r; a < local->r; a++)
        if (scores->is_curve[a])
            is_wanted[work->order[mixed->random[r + (a - r) % q]]] = true;
    map->is_wanted = is_wanted;
    map->binding = fit_map_bindings(map, work->asker->problem, is_wanted, local->arena);
    return map->binding != NULL;
}

/* The means and the factor of the dataset's random effects at some estimates. */
static struct hills_frame frame_at(const struct effects *local, const double *estimates,
                                   double *mean, double *factor)
{
    size_t r = local->r;
    memset(factor, 0, r * r * sizeof *factor);
    for (size_t a = 0; a < r; a++)
        mean[a] = local->random[a] < local->mixed->progress.s ? estimates[local->random[a]] : 0;
    for (size_t k = 0; k < local->m - local->s; k++)
        factor[local->row[k] + local->column[k] * r] = estimates[local->estimate[k]];
    return (struct hills_frame){mean, factor};
}

/* Moves the hills to these estimates: parameters stay where data say much of them, and random
 * effects where they say little. False: out of memory. */
static bool move_hills(struct effects *local)
{
    const struct mixed_block *block = local->block;
    size_t r = local->r, n = block->n_hill;
    double *mean, *factor, *scratch;
    bool *stays = arena_calloc(local->arena, r + 1, sizeof *stays);
    if (!stays || !ARENA_DOUBLES(local->arena, {&local->hill, hills_size(r, HILLS_MOST), 1},
                                 {&mean, r, 2}, {&factor, r, 2 * r}, {&scratch, 3 * r, r}))
        return false;
    memcpy(local->hill, block->hill, hills_size(r, n) * sizeof *local->hill);
    if (n == 0 || !memcmp(block->hill_at, local->at, local->mixed->m * sizeof *local->at))
        return true;
    const struct hills_frame from = frame_at(local, block->hill_at, mean, factor),
                             to = frame_at(local, local->at, mean + r, factor + r * r);
    const struct hill highest = hills_at(r, block->hill, 0);
    for (size_t a = 0; a < r; a++) {
        double known = -1;
        for (size_t c = 0; c <= a; c++)
            known += highest.factor[a + c * r] * highest.factor[a + c * r];
        stays[a] = !(known > effects_known(local)) || from.factor[a + a * r] == 0
                   || to.factor[a + a * r] == 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct hill hill = hills_at(r, local->hill, i);
        if (!hills_is_prior(r, &hill))
            hills_move(r, &from, &to, stays, &hill, scratch);
    }
    return true;
}

/* Keeps the hills as they are at these estimates. */
static void keep_moved(struct effects *local)
{
    struct mixed_block *block = local->block;
    memcpy(block->hill, local->hill, hills_size(local->r, block->n_hill) * sizeof *block->hill);
    memcpy(block->hill_at, local->at, local->mixed->m * sizeof *block->hill_at);
}

/* The likelihood by points. */
static enum asked put_sample(struct effects *local)
{
    const struct mixed *mixed = local->mixed;
    struct mixed_block *block = local->block;
    struct fit_map *map = &local->work->asker->map, whole = *map;
    struct sums sums;
    size_t r = local->r;
    double *mean, *second, *scratch;
    unsigned level = points_level(local, mixed->progress.level);
    if (!move_hills(local)
        || !sums_make(&sums, local, mixed->chooses ? 1 : points_n_hill(local))
        || !restrict_derivatives(local, &sums.scores)
        || !ARENA_DOUBLES(local->arena, {&mean, r, 1}, {&second, r, r}, {&scratch, r, r + 1}))
        return effects_end_short(local);
    block->is_refined = points_are_refined(local);
    enum asked asked = mixed->chooses       ? points_choose(local, &sums)
                       : block->is_refined ? points_refine(local, &sums)
                                           : points_add(local, level, &sums);
    *map = whole;
    if (asked != ASKED_OK)
        return asked;
    if (mixed->chooses)
        keep_moved(local);
    double weight = sums_weight(&sums);
    block->number[0] = sums_value(&sums);
    block->effective = weight * weight / *sums.squares;
    block->lost = *sums.lost / weight;
    block->rounding = log(*sums.sharp / weight);
    for (size_t j = 0; j < local->m; j++)
        local->gradient[j] = -sums.score[j] / weight;
    points_moments(local, &sums, mean, second, scratch);
    describe(local, mean, second);
    if (mixed_has_information(mixed))
        put_observed(local, &sums, mean, second);
    else
        put_information(local, local->here.information);
    return ASKED_OK;
}

/* The fit's estimate that is this one of the dataset's; or none: the mean of what an experiment
 * adds. */
static size_t estimate_of(const struct effects *local, size_t j)
{
    size_t s = local->mixed->progress.s;
    return j < s ? j : j >= local->s ? local->estimate[j - local->s] : SIZE_MAX;
}

/* Sums the derivatives by the fit's estimates. */
static void put_derivatives(const struct effects *local)
{
    size_t m = local->mixed->m;
    double *gradient = local->block->number + 1, *to = gradient + m;
    const double *from = local->matrix;
    memset(gradient, 0, (m + m * (m + 1) / 2) * sizeof *gradient);
    for (size_t c = 0; c < local->m; c++) {
        size_t k = estimate_of(local, c);
        if (k < m)
            gradient[k] += local->gradient[c];
        for (size_t d = c; d < local->m; d++, from++) {
            size_t l = estimate_of(local, d), low = k < l ? k : l, high = k < l ? l : k;
            if (high < m) /* entries beside the diagonal of two that are one count twice */
                to[low * m - low * (low + 1) / 2 + high] += (c != d && k == l ? 2 : 1) * *from;
        }
    }
}

/* Keeps hills that differ from those that the dataset had, and all where points are chosen: random
 * effects may have been left out since. False: out of memory. */
static bool keep_hills(struct effects *local, double *numbers, size_t n, bool *are_new)
{
    size_t r = local->r;
    struct mixed_block *block = local->block;
    bool is_rough = local->mixed->progress.is_rough;
    n = (r <= HILLS_EFFECTS || is_rough) && n > 1 ? n : 0;
    *are_new = n != block->n_hill
               || !hills_are_alike(r, local->hill, numbers, is_rough && n > 0 ? n - 1 : n);
    if (!*are_new && !local->mixed->chooses)
        return true;
    if (n > block->n_hill && !(block = mixed_block_with(local->mixed, block, n)))
        return false;
    local->work->block->upper = local->block = block;
    block->n_hill = n;
    block->needs_hills = block->needs_hills && n > 0;
    memcpy(block->hill, numbers, hills_size(r, n) * sizeof *numbers);
    memcpy(block->hill_at, local->at, local->mixed->m * sizeof *block->hill_at);
    return true;
}

/* Looks for modes that are higher than the one that the search has followed, and for other hills,
 * which only the exact likelihood needs. */
static enum asked seek(struct effects *local)
{
    struct mixed_block *block = local->block;
    double *numbers;
    size_t r = local->r, n;
    bool are_new;
    memcpy(local->here.b, block->mode, r * sizeof *block->mode);
    if (!ARENA_DOUBLES(local->arena, {&numbers, hills_size(r, HILLS_MOST), 1})
        || !move_hills(local))
        return effects_end_short(local);
    enum asked asked = seek_hills(local, numbers, &n);
    if (asked != ASKED_OK)
        return asked;
    if (!keep_hills(local, numbers, n, &are_new))
        return effects_end_short(local);
    block = local->block;
    bool is_other = effects_are_apart(r, local->here.b, block->mode);
    if (is_other)
        memcpy(block->mode, local->here.b, r * sizeof *block->mode);
    block->has_changed = is_other || (are_new && local->mixed->progress.phase == MIXED_EXACT);
    return ASKED_OK;
}

/* The likelihood at the estimates that the pass evaluates. */
static enum asked contribute(struct effects *local)
{
    struct mixed_block *block = local->block;
    const struct mixed *mixed = local->mixed;
    enum asked asked = mixed->chooses && !mixed->has_hills ? seek(local) : ASKED_OK;
    if (asked != ASKED_OK)
        return asked;
    block = local->block;
    block->misses = false;
    memcpy(local->here.b, block->mode, local->r * sizeof *block->mode);
    asked = effects_find_mode(local);
    if (asked != ASKED_OK)
        return asked;
    if (!effects_hessian(local, local->here.information))
        return fit_asker_miss(local->work->asker, OUTCOME_model_failed,
                              "the derivatives of the residuals are too large to be used");
    memcpy(block->found, local->here.b, local->r * sizeof *block->found);
    if (mixed->progress.phase == MIXED_EXACT) {
        if (local->has_left_sides)
            local->work->asker->accuracy.gradient = local->sided;
        asked = put_sample(local);
    } else {
        struct around around;
        if (!make_around(&around, local))
            return effects_end_short(local);
        if (look_around(local, &around) == ASKED_END)
            return ASKED_END;
        put_laplace(local, &around);
    }
    if (asked == ASKED_OK)
        put_derivatives(local);
    return asked;
}

/* The mode for the record. */
static void keep(struct effects *local)
{
    struct joint_work *work = local->work;
    const struct fit_map *map = &work->asker->map;
    struct joint_block *block = work->block;
    effects_set(local, local->block->found);
    block->kept.is_there = fit_map_natural(map, work->at.theta, block->kept.p);
    fit_map_at_bound(map, block->kept.p, block->kept.at_bound);
    fit_map_chain(map, block->kept.p, work->at.chain);
    for (size_t k = 0; k < local->mixed->progress.s; k++)
        block->chain[k] = work->at.chain[work->order[k]];
    block->best.f = local->block->number[0];
}

/* The values of datasets have a distribution in place of bounds, which are the mean's; and where
 * the mean is fixed, they are not. */
static bool free_random(const struct mixed *mixed, struct fit_problem *problem,
                        struct arena *arena)
{
    size_t n = mixed->joint->n_parameter;
    bool is_upper = joint_is_upper(mixed->joint->pass);
    uint8_t *fixed = arena_calloc(arena, n + 1, 1);
    double *lower, *upper;
    if (!fixed || !ARENA_DOUBLES(arena, {&lower, n, 1}, {&upper, n, 1}))
        return false;
    for (size_t k = 0; k < n; k++) {
        bool is_random = mixed->levels.random[k]
                         || (mixed->levels.occasion && mixed->levels.occasion[k]);
        bool is_free = is_random && (is_upper || problem->fixed[k]);
        double least = problem->scale[k] == SCALE_LIN ? -INFINITY : 0;
        lower[k] = is_free ? least : problem->lower[k];
        upper[k] = is_free ? INFINITY : problem->upper[k];
        fixed[k] = is_random ? 0 : problem->fixed[k];
    }
    problem->lower = lower;
    problem->upper = upper;
    problem->fixed = fixed;
    return true;
}

bool mixed_block_adapt(const struct joint *joint, struct fit_problem *problem,
                       struct fit_options *options, struct arena *arena)
{
    const struct mixed *mixed = mixed_of_joint(joint);
    problem->varies = mixed->levels.occasion != NULL;
    problem->takes_sides = true;
    if (joint_is_upper(joint->pass)) {
        problem->prior = NULL; /* those of means count once for all datasets: mixed/pass.c */
        /* the points of a stage are no evaluations of a search */
        options->max_evaluations = options->max_total_steps = INT64_MAX / 2;
    }
    return free_random(mixed, problem, arena);
}

bool mixed_block_accept(struct joint_work *work)
{
    struct fit_objective *objective = &work->asker->objective;
    if (!work->asker->is_sigma_known) {
        joint_block_end(work->block, OUTCOME_bad_data,
                        "a measurement has no sigma, which random parameters "
                        "need: give sigmas, or the model a noise with a shared parameter");
        return false;
    }
    objective->likelihood = objective->has_offset = true; /* with all constants */
    objective->is_plain = false;
    return true;
}

void mixed_block_pass(struct joint_work *work, struct arena *arena)
{
    struct joint_block *block = work->block;
    const struct joint *joint = work->joint;
    struct effects local;
    if (effects_count(work) > RULE_MOST) {
        joint_block_end(block, OUTCOME_bad_data, "too many random effects: 32 can be in a dataset, "
                        "those of its experiments included");
        return;
    }
    const struct mixed *mixed = mixed_of_joint(joint);
    if (!block->upper)
        block->upper = mixed_block_new(mixed, effects_count(work),
                                       work->asker->problem->n_experiment, 0);
    if (!block->upper || !effects_make(&local, work, arena)) {
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
        return;
    }
    struct fit_work used = work->asker->used;
    enum gradient_method gradient = block->gradient;
    if (mixed->is_again)
        work->asker->used = (struct fit_work){.n_step = 0};
    work->asker->start_f = 0; /* one failure does not show that lanes cannot integrate the model */
    bool is_known = joint->pass == JOINT_TELL && mixed->is_current
                    && points_are_there(&local);
    enum asked asked = mixed->seeks ? seek(&local) : is_known ? ASKED_OK : contribute(&local);
    if (mixed->is_again)
        work->asker->used = used;
    if (local.has_left_sides)
        work->asker->accuracy.gradient = block->gradient = gradient;
    if (block->engine.left != ENGINE_REFERENCE && joint->pass != JOINT_TELL
        && local.block->n_left++ < MOST_LEFT)
        joint_return_to_lanes(block, false);
    block->has_failed = asked != ASKED_OK;
    if (asked == ASKED_FAILED) {
        block->failure = work->asker->failure;
        snprintf(block->reason, sizeof block->reason, "%s", work->asker->reason);
    }
    if (asked == ASKED_OK && joint->pass == JOINT_TELL)
        keep(&local);
}
