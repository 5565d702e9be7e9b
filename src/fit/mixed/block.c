/* What a dataset contributes to the likelihood of a fit with random parameters, and its
 * derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/block.h"

#include "base/random.h"
#include "fit/mixed/louis.h"
#include "fit/objective/matrix.h"
#include "fit/mixed/effects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps of differences of second derivatives, in natural units of the parameters. */
static const double DIFFERENCE = 3e-3;
/* The level of the rule that shows the shape of an integrand: the first whose products are exact
 * for third moments of a density that is near the normal one. */
enum { SHOWS_SHAPE = 1 };
/* A dataset takes the first level of the rule that changes its -log likelihood by no more than
 * CHANGE from the level before, whose error the change is: its own is many times smaller. As long
 * as the next level has few points, the change must be below LITTLE, and in all datasets together
 * below ALL_CHANGES, since these errors have the same sign where posteriors are alike. The last
 * stage of the search has at most so many points, and more if there are FEW_DATASETS.
 * An integrand whose mean is SHIFTED from its mode, by so many deviations, has a long tail, and its
 * levels' errors fall slowly: then the next level must confirm the choice, within CONFIRMED. (Of
 * 350 datasets with two to ten measurements those that are not shifted had errors below 1e-3 in the
 * end, some others 0.05.) */
static const double CHANGE = 2e-2, LITTLE = 1e-4, ALL_CHANGES = 0.02, LEAST_CHANGE = 1e-5;
static const double SHIFTED = 0.4, CONFIRMED = 5e-3;
enum { FEW_POINTS = 100, MANY_POINTS = 4096, MANY_VARIABLES = 3 };
enum { FEW_DATASETS = 40, MORE_POINTS = 16384 };
/* A pass that tries random effects which are left out has at most so many times the points. */
enum { PROBE_TIMES = 5 };
enum { PURPOSE = 0x53414d50 }; /* of random numbers */
/* Modes are different if a random effect is by so many deviations. */
static const double OTHER_MODE = 1e-2;
/* In so many datasets, chosen at random, the last pass also takes the level below the last stage's,
 * which shows how fast the levels' errors fall. */
static const double BELOW = 40;

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

/* Half the logarithm of the determinant of I + L'AL, whose factor is set. */
static double half_log_det(const struct effects *local)
{
    double sum = 0;
    for (size_t a = 0; a < local->r; a++)
        sum += log(local->cholesky[a + a * local->r]);
    return sum;
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

/* The random parameter that an estimate moves with the random effects held, and by how much; NULL
 * for shared ones. */
static const uint32_t *moved_by(const struct effects *local, size_t j, double *by)
{
    *by = j < local->s ? 1 : local->here.b[local->column[j - local->s]];
    if (j >= local->s)
        return &local->random[local->row[j - local->s]];
    for (size_t a = 0; a < local->r; a++)
        if (local->random[a] == j)
            return &local->random[a];
    return NULL;
}

/* The mode's derivative by estimate j: -H~^-1 times the mixed derivatives, with the true second
 * derivatives H~, whose factor is known. */
static void move_mode(struct effects *local, struct around *around, size_t j)
{
    size_t r = local->r, s = local->s;
    double by, *mode_by = around->mode_by + j * r;
    const uint32_t *random = moved_by(local, j, &by);
    effects_by(local, around->second + (random ? *random : j) * s, 1, mode_by);
    for (size_t c = 0; c < r; c++)
        mode_by[c] *= -by;
    if (j >= s)
        mode_by[local->column[j - s]] -= local->here.slope[*random];
    matrix_solve_lower(r, around->true_factor, mode_by);
    matrix_solve_upper(r, around->true_factor, mode_by);
}

static void transpose(size_t r, double *matrix)
{
    for (size_t c = 0; c < r; c++)
        for (size_t d = 0; d < c; d++) {
            double other = matrix[c + d * r];
            matrix[c + d * r] = matrix[d + c * r];
            matrix[d + c * r] = other;
        }
}

/* F = lower half of G^-1 dH G^-T by estimate j. */
static void move_factor(struct effects *local, struct around *around, size_t j)
{
    size_t r = local->r, s = local->s;
    double by, *change = around->change, *factor_by = around->factor_by + j * r * r;
    const uint32_t *random = moved_by(local, j, &by);
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
        transpose(r, change);
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
    block->number[0] = local->here.with_density + half_log_det(local);
    block->effective = NAN;
    for (size_t j = 0; j < local->m; j++) {
        const uint32_t *random = moved_by(local, j, &by);
        local->gradient[j] = by * local->here.slope[random ? *random : j]
                               + trace(r, around->factor_by + j * r * r);
    }
    matrix_inverse(r, local->cholesky, around->change); /* H^-1 */
    describe(local, local->here.b, around->change);
    put_information(local, local->here.information);
}

/* Sums over points, each times its weight exp(logarithm - most) in the rule's sum. The first n
 * numbers are these: */
struct sums {
    double most, *number;
    size_t n;
    double *squares;                /* 1: of the points' weights */
    double *gradient, *information; /* m, s x s: with the random effects held */
    double *pull;                   /* r: derivatives by the random effects; */
    double *pulled;                 /* r x r: deviates times G^-1 pull */
    struct shape_moments deviates;  /* of the rule's variables */
    struct louis louis;             /* for n_score estimates, or none, */
    size_t n_score;
    double *score, *score_products; /* their scores, and the products of these */
};

static bool make_sums(struct sums *sums, const struct effects *local)
{
    size_t r = local->r, s = local->s, m = local->m, v = local->n_variable;
    double *next;
    bool observes = mixed_observes(local->mixed) && local->mixed->progress.level >= MIXED_FINER;
    size_t n = sums->n_score = observes ? r + m - s : 0;
    sums->louis = (struct louis){.r = r, .n_entry = m - s, .row = local->row,
                                 .column = local->column};
    if (n > 0 && !ARENA_DOUBLES(local->arena, {&sums->louis.inverse, r, r}))
        return false;
    if (n > 0)
        louis_init(&sums->louis, local->factor);
    sums->n = 2 + m + s * s + r + r * r + v + v * v + (v <= SHAPE_MOST ? v * v * v : 0) + n + n * n;
    if (!ARENA_DOUBLES(local->arena, {&sums->number, sums->n, 1}))
        return false;
    next = sums->number;
    sums->deviates.weight = next;
    sums->squares = next += 1;
    sums->gradient = next += 1;
    sums->information = next += m;
    sums->pull = next += s * s;
    sums->pulled = next += r;
    sums->deviates.first = next += r * r;
    sums->deviates.second = next += v;
    sums->deviates.third = next + v * v;
    sums->score = next = sums->number + sums->n - n - n * n;
    sums->score_products = next + n;
    return true;
}

/* Sets all to zero. */
static void clear_sums(struct sums *sums)
{
    sums->most = -INFINITY;
    memset(sums->number, 0, sums->n * sizeof *sums->number);
}

/* Adds what moments of v variables a weight gives. */
static void add_moments(struct shape_moments *moments, size_t v, const double *u, double weight)
{
    *moments->weight += weight;
    for (size_t a = 0; a < v; a++) {
        moments->first[a] += weight * u[a];
        for (size_t b = 0; b < v; b++) {
            double by = weight * u[a] * u[b];
            moments->second[b + a * v] += by;
            for (size_t c = 0; v <= SHAPE_MOST && c < v; c++)
                moments->third[c + (b + a * v) * v] += by * u[c];
        }
    }
}

static void add_scores(struct sums *sums, const double *b, double weight)
{
    double score[RULE_MOST + RULE_MOST * (RULE_MOST + 1) / 2];
    size_t n = sums->n_score;
    if (n == 0)
        return;
    louis_score(&sums->louis, b, score);
    for (size_t i = 0; i < n; i++) {
        sums->score[i] += weight * score[i];
        for (size_t j = 0; j <= i; j++)
            sums->score_products[i + j * n] += weight * score[i] * score[j];
    }
}

/* The point at local->there, with its deviates, and the logarithm of its part of the rule's sum. */
static void add_point(struct sums *sums, const struct effects *local, const double *deviate,
                      double logarithm)
{
    const struct effects_place *there = &local->there;
    size_t r = local->r, s = local->s;
    double *pull = local->step, *solved = local->scratch;
    if (!(logarithm > -INFINITY))
        return;
    if (logarithm > sums->most) {
        double by = exp(sums->most - logarithm), squares = *sums->squares * by * by;
        for (size_t k = 0; k < sums->n; k++)
            sums->number[k] *= by;
        *sums->squares = squares;
        sums->most = logarithm;
    }
    double weight = exp(logarithm - sums->most);
    add_moments(&sums->deviates, local->n_variable, deviate, weight);
    add_scores(sums, there->b, weight);
    *sums->squares += weight * weight;
    for (size_t k = 0; k < s; k++)
        sums->gradient[k] += weight * there->slope[k];
    for (size_t k = 0; k < local->m - s; k++)
        sums->gradient[s + k] +=
            weight * there->slope[local->random[local->row[k]]] * there->b[local->column[k]];
    for (size_t k = 0; k < s * s; k++)
        sums->information[k] += weight * there->information[k];
    effects_by(local, there->slope, 1, pull);
    for (size_t a = 0; a < r; a++)
        solved[a] = pull[a] += there->b[a];
    matrix_solve_lower(r, local->cholesky, solved);
    for (size_t a = 0; a < r; a++) {
        sums->pull[a] += weight * pull[a];
        for (size_t e = 0; e < local->n_variable; e++)
            sums->pulled[local->variable[e] + a * r] += weight * deviate[e] * solved[a];
    }
}

/* Evaluates the points of a level, where the dataset's shape takes them. */
static enum asked add_points(struct effects *local, unsigned level, struct sums *sums)
{
    const struct joint *joint = local->work->joint;
    const struct rule *rule = &local->mixed->rule;
    size_t r = local->r, v = local->n_variable, shaped = local->n_shaped;
    uint64_t dataset = joint->ranks.first + (size_t)(local->work->block - joint->block);
    double t[RULE_MOST], u[RULE_MOST], *b = local->there.b;
    const struct shape shape = shape_at(shaped, local->block->shape);
    size_t n = rule_size(rule, v, level);
    double reach = rule_reach(rule, v, level);
    double part = v > RULE_PRODUCT_MOST ? 0 : shape_part(&shape, shaped, reach);
    enum asked asked = ASKED_OK;
    clear_sums(sums);
    for (size_t k = 0; k < n && asked != ASKED_END; k++) {
        double logarithm = rule_point(rule, v, level, dataset, k, t);
        double change = shape_map(&shape, shaped, part, t, u);
        memcpy(u + shaped, t + shaped, (v - shaped) * sizeof *u);
        logarithm += change + 0.5 * matrix_squares(v, u);
        memset(b, 0, r * sizeof *b);
        for (size_t a = 0; a < v; a++)
            b[local->variable[a]] = u[a];
        matrix_solve_upper(r, local->cholesky, b);
        for (size_t a = 0; a < r; a++)
            b[a] += local->here.b[a];
        asked = effects_evaluate(local, &local->there);
        if (asked == ASKED_OK)
            add_point(sums, local, u, logarithm - local->there.with_density);
    }
    if (asked == ASKED_END)
        return ASKED_END;
    return *sums->deviates.weight > 0 ? ASKED_OK : ASKED_FAILED;
}

/* How many levels of the rule above the dataset's own, which is for n_shaped variables. */
static unsigned above(const struct effects *local, enum mixed_level level)
{
    static const unsigned products[] = {0, 1, 2, 3}, of_many[] = {0, 1, 1, 2},
        lattices[] = {0, 0, 1, 2};
    return local->n_shaped > RULE_PRODUCT_MOST ? lattices[level]
           : local->n_shaped > MANY_VARIABLES  ? of_many[level]
                                               : products[level];
}

/* The level of the pass. With variables that are tried it follows from the number of points. */
static unsigned level_at(const struct effects *local, enum mixed_level stage)
{
    const struct rule *rule = &local->mixed->rule;
    size_t v = local->n_variable;
    unsigned own = local->block->level + above(local, stage), level = 0;
    size_t most = PROBE_TIMES * rule_size(rule, local->n_shaped, own);
    if (v == local->n_shaped)
        return own;
    while (level + 1 < RULE_LEVELS && rule_size(rule, v, level + 1) <= most)
        level++;
    return level;
}

/* The dataset's number where n datasets are in a random order. */
static double random_rank(const struct effects *local)
{
    const struct joint *joint = local->work->joint;
    uint64_t dataset = joint->ranks.first + (size_t)(local->work->block - joint->block);
    return (double)joint->part.n_all
           * random_uniform(joint->seed, random_stream(dataset, PURPOSE), 0);
}

/* How many levels beyond the last stage's the pass takes in this dataset: those that are sampled
 * are chosen at random, and those of a further level are among them. */
static unsigned count_beyond(const struct effects *local)
{
    const struct joint *joint = local->work->joint;
    const struct mixed *mixed = local->mixed;
    double x = random_rank(local);
    unsigned k = 0, first = local->block->level + above(local, MIXED_FINEST);
    if (joint->pass != JOINT_TELL || mixed->progress.phase != MIXED_EXACT)
        return 0;
    while (k < MIXED_BEYOND && x < mixed->sampled[k] && first + k < RULE_LEVELS)
        k++;
    return k;
}

static double value_of(const struct effects *local, const struct sums *sums)
{
    return half_log_det(local) - sums->most - log(*sums->deviates.weight);
}

/* Whether a level may be chosen, whose sums are there: for long tails the next one tells. Then the
 * sums are again of this one. False: they are of the next. */
static enum asked confirm_level(struct effects *local, unsigned level, struct sums *sums,
                                bool *is_confirmed)
{
    const struct shape shape = shape_at(local->n_variable, local->block->shape);
    double value = value_of(local, sums);
    *is_confirmed = true;
    if (shape_size(local->n_variable) == 0
        || matrix_squares(local->n_variable, shape.centre) <= SHIFTED * SHIFTED)
        return ASKED_OK;
    enum asked asked = add_points(local, level + 1, sums);
    *is_confirmed = asked == ASKED_OK && fabs(value_of(local, sums) - value) <= CONFIRMED;
    return *is_confirmed ? add_points(local, level, sums) : asked;
}

/* The shape of the integrand, after points around the mode, and the first level that is accurate
 * enough with it. More points show the shape better. */
static enum asked choose_level(struct effects *local, struct sums *sums)
{
    const struct rule *rule = &local->mixed->rule;
    struct mixed_block *block = local->block;
    size_t v = local->n_variable;
    double before, n = (double)local->work->joint->part.n_all;
    size_t most = n <= FEW_DATASETS ? MORE_POINTS : MANY_POINTS;
    double little = fmax(LEAST_CHANGE, fmin(LITTLE, ALL_CHANGES / n));
    bool has_shape = shape_size(v) > 0;
    struct shape shape = shape_at(v, block->shape);
    shape_reset(&shape, v);
    enum asked asked = has_shape ? add_points(local, SHOWS_SHAPE, sums) : ASKED_FAILED;
    for (unsigned level = 0; asked != ASKED_END; level++) {
        before = asked == ASKED_OK ? value_of(local, sums) : (double)NAN;
        if (asked == ASKED_OK && has_shape && (level == 0 || level > SHOWS_SHAPE))
            shape_fit(&shape, v, &sums->deviates, local->index);
        asked = add_points(local, level, sums);
        bool is_last = level + 1 + above(local, MIXED_FINEST) >= RULE_LEVELS
                       || rule_size(rule, v, level + above(local, MIXED_FINER)) > most / 2;
        bool are_few = !is_last && rule_size(rule, v, level + 1) <= FEW_POINTS;
        block->level = level;
        if (is_last)
            break;
        bool is_confirmed = false;
        double change = asked == ASKED_OK ? fabs(value_of(local, sums) - before) : INFINITY;
        if (change <= (are_few ? little : CHANGE))
            asked = confirm_level(local, level, sums, &is_confirmed);
        if (is_confirmed)
            break;
    }
    return asked;
}

/* The gradient of the sum over points that move with the mode and its curvature. */
static void put_gradient(const struct effects *local, const struct around *around,
                         const struct sums *sums)
{
    size_t r = local->r;
    for (size_t j = 0; j < local->m; j++) {
        const double *factor_by = around->factor_by + j * r * r;
        double sum = sums->gradient[j];
        for (size_t a = 0; a < r; a++) {
            sum += sums->pull[a] * around->mode_by[a + j * r];
            for (size_t e = a; e < r; e++)
                sum -= factor_by[e + a * r] * sums->pulled[e + a * r];
        }
        local->gradient[j] = sum / *sums->deviates.weight + trace(r, factor_by);
    }
}

/* Mean (r) and covariance (r x r) of b, which is the mode + G^-T u, from the moments of the rule's
 * variables u; the others are standard normal. */
static void take_effects(const struct effects *local, const struct shape_moments *moments,
                         double *mean, double *second)
{
    size_t r = local->r, v = local->n_variable;
    memset(mean, 0, r * sizeof *mean);
    memset(second, 0, r * r * sizeof *second);
    for (size_t a = 0; a < r; a++)
        second[a + a * r] = 1;
    for (size_t a = 0; a < v; a++)
        mean[local->variable[a]] = moments->first[a] / *moments->weight;
    for (size_t a = 0; a < v; a++)
        for (size_t b = 0; b < v; b++) {
            size_t c = local->variable[a], d = local->variable[b];
            second[d + c * r] = moments->second[b + a * v] / *moments->weight - mean[c] * mean[d];
        }
    matrix_solve_upper(r, local->cholesky, mean);
    for (size_t a = 0; a < r; a++)
        mean[a] += local->here.b[a];
    for (int side = 0; side < 2; side++) {
        for (size_t a = 0; a < r; a++)
            matrix_solve_upper(r, local->cholesky, second + a * r);
        transpose(r, second);
    }
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
    size_t r = local->r, n = sums->n_score;
    double *to = local->matrix, weight = *sums->deviates.weight;
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b < r; b++)
            second[b + a * r] += first[a] * first[b];
    for (size_t c = 0; c < local->m; c++)
        for (size_t d = c; d < local->m; d++) {
            size_t j = place_of(local, c), i = place_of(local, d), high = i > j ? i : j,
                low = i > j ? j : i;
            *to++ = high >= n ? 0
                              : louis_information(&sums->louis, i, j, first, second)
                                    - sums->score_products[high + low * n] / weight
                                    + sums->score[i] / weight * sums->score[j] / weight;
        }
}

/* What levels change around the last stage's, but for the first beyond it, whose value is not there
 * yet: beyond[0] is minus the value before. */
static enum asked compare_levels(struct effects *local, unsigned n_beyond, struct sums *sums)
{
    const struct rule *rule = &local->mixed->rule;
    struct mixed_block *block = local->block;
    unsigned finer = level_at(local, MIXED_FINER), finest = level_at(local, MIXED_FINEST);
    enum asked asked = ASKED_OK;
    block->n_beyond = 0;
    for (unsigned k = 0; k <= MIXED_BEYOND && n_beyond > 0; k++) {
        unsigned level = k == 0 ? finer : finest + k - 1;
        bool is_there = level < RULE_LEVELS;
        block->points[k] = is_there ? (double)rule_size(rule, local->n_variable, level) : 0;
    }
    bool has_below = n_beyond > 0 && random_rank(local) < BELOW;
    if (has_below)
        asked = add_points(local, finer > 0 ? finer - 1 : 0, sums);
    block->below =
        asked == ASKED_OK && has_below ? block->value - value_of(local, sums) : (double)NAN;
    block->beyond[0] = -block->value;
    for (unsigned k = 1; k < n_beyond && asked == ASKED_OK; k++) {
        asked = add_points(local, finest + k, sums);
        block->beyond[k] = asked == ASKED_OK ? value_of(local, sums) : 0;
    }
    block->n_beyond = n_beyond;
    return asked;
}

/* Once it is: the levels' changes. */
static void put_changes(struct mixed_block *block)
{
    for (unsigned k = block->n_beyond; k-- > 1;)
        block->beyond[k] -= k > 1 ? block->beyond[k - 1] : block->number[0];
    block->beyond[0] += block->number[0];
}

/* The likelihood by points around the mode. */
static enum asked put_sample(struct effects *local, const struct around *around)
{
    const struct mixed *mixed = local->mixed;
    struct mixed_block *block = local->block;
    struct sums sums;
    size_t r = local->r, s = local->s;
    double *mean, *second;
    unsigned n_beyond = count_beyond(local);
    unsigned level = level_at(local, n_beyond > 0 ? MIXED_FINEST : mixed->progress.level);
    if (!make_sums(&sums, local) || !ARENA_DOUBLES(local->arena, {&mean, r, 1}, {&second, r, r})) {
        joint_block_end(local->work->block, OUTCOME_out_of_memory, "no memory for this dataset");
        return ASKED_END;
    }
    enum asked asked = compare_levels(local, n_beyond, &sums);
    if (asked == ASKED_OK)
        asked = mixed->chooses ? choose_level(local, &sums) : add_points(local, level, &sums);
    if (asked != ASKED_OK)
        return asked;
    double weight = *sums.deviates.weight;
    block->number[0] = value_of(local, &sums);
    put_changes(block);
    block->effective = weight * weight / *sums.squares;
    put_gradient(local, around, &sums);
    take_effects(local, &sums.deviates, mean, second);
    describe(local, mean, second);
    if (sums.n_score > 0) {
        put_observed(local, &sums, mean, second);
        return ASKED_OK;
    }
    for (size_t k = 0; k < s * s; k++)
        sums.information[k] /= weight;
    put_information(local, sums.information);
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

/* Looks for a mode that is higher than the one that the search has followed. */
static enum asked seek(struct effects *local)
{
    struct mixed_block *block = local->block;
    memcpy(local->here.b, block->mode, local->r * sizeof *block->mode);
    enum asked asked = effects_seek_mode(local);
    double apart = 0;
    for (size_t a = 0; a < local->r; a++)
        apart = fmax(apart, fabs(local->here.b[a] - block->mode[a]));
    memset(block->number, 0, mixed_n_number(local->mixed->m) * sizeof *block->number);
    if (asked != ASKED_OK || apart < OTHER_MODE)
        return asked;
    memcpy(block->mode, local->here.b, local->r * sizeof *block->mode);
    block->number[0] = 1;
    return ASKED_OK;
}

/* The likelihood at the estimates that the pass evaluates. */
static enum asked contribute(struct effects *local)
{
    struct mixed_block *block = local->block;
    struct around around;
    memcpy(local->here.b, block->mode, local->r * sizeof *block->mode);
    if (!make_around(&around, local)) {
        joint_block_end(local->work->block, OUTCOME_out_of_memory, "no memory for this dataset");
        return ASKED_END;
    }
    enum asked asked = effects_find_mode(local);
    if (asked != ASKED_OK)
        return asked;
    if (!effects_hessian(local, local->here.information))
        return fit_asker_miss(local->work->asker, OUTCOME_model_failed,
                              "the derivatives of the residuals are too large to be used");
    memcpy(block->found, local->here.b, local->r * sizeof *block->found);
    if (look_around(local, &around) == ASKED_END)
        return ASKED_END;
    if (local->mixed->progress.phase != MIXED_EXACT)
        put_laplace(local, &around);
    else
        asked = put_sample(local, &around);
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

/* The values of datasets have a distribution in place of bounds, which are the mean's; and the
 * points of a stage are no evaluations of a search. */
static bool free_random(const struct mixed *mixed, struct fit_problem *problem,
                        struct fit_options *options, struct arena *arena)
{
    size_t n = mixed->joint->n_parameter;
    double *lower, *upper;
    if (!ARENA_DOUBLES(arena, {&lower, n, 1}, {&upper, n, 1}))
        return false;
    for (size_t k = 0; k < n; k++) {
        bool is_random = mixed->levels.random[k]
                         || (mixed->levels.occasion && mixed->levels.occasion[k]);
        double least = problem->scale[k] == SCALE_LIN ? -INFINITY : 0;
        lower[k] = is_random ? least : problem->lower[k];
        upper[k] = is_random ? INFINITY : problem->upper[k];
    }
    problem->lower = lower;
    problem->upper = upper;
    options->max_evaluations = options->max_total_steps = INT64_MAX / 2;
    return true;
}

bool mixed_block_adapt(const struct joint *joint, struct fit_problem *problem,
                       struct fit_options *options, struct arena *arena)
{
    const struct mixed *mixed = mixed_of_joint(joint);
    problem->varies = mixed->levels.occasion != NULL;
    if (!joint_is_upper(joint->pass))
        return true;
    problem->prior = NULL; /* those of means count once for all datasets: mixed/pass.c */
    return free_random(mixed, problem, options, arena);
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
                                       work->asker->problem->n_experiment);
    if (!block->upper || !effects_make(&local, work, arena)) {
        joint_block_end(block, OUTCOME_out_of_memory, "no memory for this dataset");
        return;
    }
    struct fit_work used = work->asker->used;
    if (mixed->is_again)
        work->asker->used = (struct fit_work){.n_step = 0};
    work->asker->start_f = 0; /* one failure does not show that lanes cannot integrate the model */
    bool is_known = joint->pass == JOINT_TELL && mixed->is_current
                    && count_beyond(&local) <= mixed_block_of(block)->n_beyond;
    enum asked asked = mixed->seeks ? seek(&local) : is_known ? ASKED_OK : contribute(&local);
    if (mixed->is_again)
        work->asker->used = used;
    block->has_failed = asked != ASKED_OK;
    if (asked == ASKED_FAILED) {
        block->failure = work->asker->failure;
        snprintf(block->reason, sizeof block->reason, "%s", work->asker->reason);
    }
    if (asked == ASKED_OK && joint->pass == JOINT_TELL)
        keep(&local);
}
