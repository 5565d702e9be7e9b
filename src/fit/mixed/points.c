/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/points.h"

#include "base/random.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* The level of the rule that shows the shape of an integrand: the first whose products are exact
 * for third moments of a density that is near the normal one. */
enum { SHOWS_SHAPE = 1 };
/* A dataset takes the first level of the rule that changes its -log likelihood by no more than
 * CHANGE from the level before, whose error the change is: its own is many times smaller. As long
 * as the next level has few points, the change must be below LITTLE, and in all datasets together
 * below ALL_CHANGES, since these errors have the same sign where posteriors are alike. The last
 * stage of the search has at most so many points, and more if there are few datasets. (Few points
 * are FEW_POINTS around a mode, FEW_ON_HILLS on each of several hills.)
 * An integrand whose mean is SHIFTED from its mode, by so many deviations, has a long tail, and its
 * levels' errors fall slowly: then the next level must confirm the choice, within CONFIRMED. (Of
 * 350 datasets with two to ten measurements those that are not shifted had errors below 1e-3 in the
 * end, some others 0.05.) */
static const double CHANGE = 2e-2, LITTLE = 1e-4, ALL_CHANGES = 0.02, LEAST_CHANGE = 1e-5;
static const double SHIFTED = 0.4, CONFIRMED = 5e-3;
enum { FEW_POINTS = 100, MANY_POINTS = 4096, MANY_VARIABLES = 3, FEW_ON_HILLS = 256 };
enum { MORE_POINTS = 16384 };
/* A pass that tries random effects which are left out has at most so many times the points. */
enum { PROBE_TIMES = 5 };
/* Several hills are summed over if that changes -log likelihood by more than NEGLIGIBLE, and by
 * SURE times what these levels differ by, unless the last one is reached. */
static const double NEGLIGIBLE = 3e-3, SURE = 3;
enum { HILLS_FROM = 1, HILLS_TO = 3 };
/* Where integrands have kinks, the last hill is a normal density that follows their moments in
 * N_ADAPT rounds, WIDER by this; the prior has PRIOR_PART of the whole. The other hills have levels
 * with fewer points, LESS below. A level has points enough that LEAST_EFFECTIVE would be as good if
 * their weights were equal. */
static const double WIDER = 1.2, PRIOR_PART = 0.05, LEAST_EFFECTIVE = 400;
enum { N_ADAPT = 3, ADAPT_LEVEL = 3, LESS = 2 };
enum { PURPOSE = 0x53414d50 }; /* of random numbers */
/* Each dataset's part of what the integrals may be off by in all, of which MOST_COUNTED datasets
 * have one: further ones are sampled. Errors of lattices have random signs, those of products may
 * have one. Beyond the last level there is at most MOST_LEFT times of what it changes. With few
 * datasets levels have up to FINE_POINTS, or FINE_TIMES the points of the last stage's; with more
 * MANY_TIMES these. */
static const double MOST_COUNTED = 1000, MOST_LEFT = 4;
enum { FINE_POINTS = 65536, FINE_TIMES = 16, MANY_TIMES = 4 };

/* How many hills the pass sums over. */
size_t points_n_hill(const struct effects *local)
{
    return local->block->needs_hills ? local->block->n_hill : 1;
}

static struct rule_level level_of(const struct effects *local, size_t v, unsigned level,
                                  bool is_lattice)
{
    const struct joint *joint = local->work->joint;
    return (struct rule_level){
        .rule = &local->mixed->rule, .r = v, .level = level, .is_lattice = is_lattice,
        .is_narrow = local->mixed->progress.is_rough && points_n_hill(local) > 1,
        .dataset = joint->ranks.first + (size_t)(local->work->block - joint->block)};
}

struct rule_level points_lattice(const struct effects *local, unsigned level)
{
    return level_of(local, local->n_variable, level, true);
}

/* A level of the rule for v variables. The nodes of products lie far apart, so that a sum over
 * several hills, whose parts of the integrand may be steep where they meet, takes lattices. */
static struct rule_level rule_at(const struct effects *local, size_t v, unsigned level)
{
    bool is_smooth = points_n_hill(local) == 1 && (v <= 1 || !local->mixed->progress.is_rough);
    return level_of(local, v, level, v > RULE_PRODUCT_MOST || !is_smooth);
}

static size_t count_points(const struct effects *local, size_t v, unsigned level)
{
    const struct rule_level at = rule_at(local, v, level);
    return rule_size(&at);
}

/* Where a rule's points are: b = centre + G^-T u; and, of several hills, -log likelihood at the
 * centre. */
struct axes {
    const double *centre, *factor;
    double f;
};

/* Around the mode, wherever that moves, or on one of several hills. */
static struct axes axes_of(const struct effects *local, size_t i, size_t n_hill)
{
    if (n_hill == 1)
        return (struct axes){local->here.b, local->cholesky, NAN};
    struct hill hill = hills_at(local->r, local->hill, i);
    return (struct axes){hill.centre, hill.factor,
                         *hill.f - 0.5 * matrix_squares(local->r, hill.centre)};
}

/* Whether there is a shape: not with several hills, and not with more variables than have one. */
static bool has_shape(const struct effects *local)
{
    return shape_size(local->n_variable) > 0 && points_n_hill(local) == 1;
}

/* Evaluates the points of a level for a hill: for the only one where the dataset's shape takes
 * them. */
static enum asked add_hill(struct effects *local, unsigned level, size_t hill, struct sums *sums)
{
    size_t r = local->r, v = local->n_variable, shaped = sums->n_hill > 1 ? 0 : local->n_shaped;
    double t[RULE_MOST], u[RULE_MOST], *b = local->there.b;
    const struct shape shape = shape_at(shaped, local->block->shape);
    const struct axes axes = axes_of(local, hill, sums->n_hill);
    const struct rule_level at = rule_at(local, v, level);
    size_t n = rule_size(&at);
    double part = at.is_lattice ? 0 : shape_part(&shape, shaped, rule_reach(&at));
    double determinant = effects_half_log_det(r, axes.factor);
    struct rule_match match;
    enum asked asked = rule_match_init(&match, &at, local->arena) ? ASKED_OK
                                                                  : effects_end_short(local);
    for (size_t k = 0; k < n && asked != ASKED_END; k++) {
        double logarithm = rule_matched_point(&at, &match, k, t) - determinant;
        double change = shape_map(&shape, shaped, part, t, u);
        memcpy(u + shaped, t + shaped, (v - shaped) * sizeof *u);
        logarithm += change + 0.5 * matrix_squares(v, u);
        memset(b, 0, r * sizeof *b);
        for (size_t a = 0; a < v; a++)
            b[local->variable[a]] = u[a];
        matrix_solve_upper(r, axes.factor, b);
        for (size_t a = 0; a < r; a++)
            b[a] += axes.centre[a];
        logarithm += hills_part(r, local->hill, sums->n_hill, hill, b);
        asked = effects_evaluate(local, &local->there);
        local->block->misses = local->block->misses || asked != ASKED_OK;
        if (asked == ASKED_OK)
            sums_add(sums, local, hill, u, logarithm - local->there.with_density);
        else if (sums->n_hill > 1) /* the likelihood may be that at the hill's centre */
            sums_lose(sums, logarithm - axes.f - 0.5 * matrix_squares(r, b));
    }
    return asked;
}

/* Evaluates the points of a level. */
enum asked points_add(struct effects *local, unsigned level, struct sums *sums)
{
    enum asked asked = ASKED_OK;
    sums_clear(sums);
    unsigned others = !local->mixed->progress.is_rough ? level : level > LESS ? level - LESS : 0;
    for (size_t i = 0; i < sums->n_hill && asked != ASKED_END; i++)
        asked = add_hill(local, i + 1 < sums->n_hill ? others : level, i, sums);
    if (asked == ASKED_END)
        return ASKED_END;
    return sums_weight(sums) > 0 ? ASKED_OK : ASKED_FAILED;
}

/* An error of -2 log likelihood from which on the last stage, and what checks it, have one level
 * less. */
static const double COARSE = 0.2;

/* How many levels of the rule above the dataset's own, which is for n_shaped variables. */
static unsigned above(const struct effects *local, enum mixed_level level)
{
    bool is_coarse = local->work->joint->options->likelihood_error >= COARSE;
    if (is_coarse && level > MIXED_ERRORS)
        level--;
    static const unsigned products[] = {0, 1, 2, 3}, of_many[] = {0, 1, 1, 2},
        lattices[] = {0, 0, 1, 2};
    return rule_at(local, local->n_shaped, 0).is_lattice ? lattices[level]
           : local->n_shaped > MANY_VARIABLES  ? of_many[level]
                                               : products[level];
}

/* The level of the pass. With variables that are tried it follows from the number of points. */
unsigned points_level(const struct effects *local, enum mixed_level stage)
{
    size_t v = local->n_variable;
    unsigned own = local->block->level + above(local, stage), level = 0;
    size_t most = PROBE_TIMES * count_points(local, local->n_shaped, own);
    if (v == local->n_shaped)
        return own;
    while (level + 1 < RULE_LEVELS && count_points(local, v, level + 1) <= most)
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

bool points_are_refined(const struct effects *local)
{
    const struct mixed *mixed = local->mixed;
    return local->work->joint->pass == JOINT_TELL && mixed->progress.phase == MIXED_EXACT
           && random_rank(local) < mixed->sampled;
}

/* Whether a level may be chosen, whose sums are there: for long tails the next one tells. Then the
 * sums are again of this one. False: they are of the next. */
static enum asked confirm_level(struct effects *local, unsigned level, struct sums *sums,
                                bool *is_confirmed)
{
    double value = sums_value(sums);
    size_t v = local->n_variable;
    const struct shape shape = shape_at(v, local->block->shape);
    bool is_shifted = has_shape(local)
                      && matrix_squares(v, shape.centre) > SHIFTED * SHIFTED;
    *is_confirmed = true;
    if (!is_shifted)
        return ASKED_OK;
    enum asked asked = points_add(local, level + 1, sums);
    *is_confirmed = asked == ASKED_OK && fabs(sums_value(sums) - value) <= CONFIRMED;
    return *is_confirmed ? points_add(local, level, sums) : asked;
}

/* The shape of the integrand, after points around the mode, and the first level that is accurate
 * enough with it. More points show the shape better. */
static enum asked choose_level(struct effects *local, struct sums *sums)
{
    struct mixed_block *block = local->block;
    size_t v = local->n_variable;
    double before, n = (double)local->work->joint->part.n_all;
    size_t most = mixed_are_few(local->mixed) && sums->n_hill == 1 ? MORE_POINTS : MANY_POINTS;
    size_t few = sums->n_hill > 1 ? FEW_ON_HILLS : FEW_POINTS;
    double little = fmax(LEAST_CHANGE, fmin(LITTLE, ALL_CHANGES / n));
    const struct shape shape = shape_at(v, block->shape);
    bool has_one = has_shape(local);
    if (has_one)
        shape_reset(&shape, v);
    enum asked asked = has_one ? points_add(local, SHOWS_SHAPE, sums) : ASKED_FAILED;
    for (unsigned level = 0; asked != ASKED_END; level++) {
        before = asked == ASKED_OK ? sums_value(sums) : (double)NAN;
        if (asked == ASKED_OK && has_one && (level == 0 || level > SHOWS_SHAPE))
            shape_fit(&shape, v, &sums->deviates[0], local->index);
        asked = points_add(local, level, sums);
        bool is_last = level + 1 + above(local, MIXED_FINEST) >= RULE_LEVELS
                       || sums->n_hill * count_points(local, v, level + above(local, MIXED_FINER))
                              > most / 2;
        bool are_few = !is_last && count_points(local, v, level + 1) <= few;
        block->level = level;
        if (is_last)
            break;
        bool is_confirmed = false;
        double change = asked == ASKED_OK ? fabs(sums_value(sums) - before) : INFINITY;
        if (change <= (are_few ? little : CHANGE))
            asked = confirm_level(local, level, sums, &is_confirmed);
        if (is_confirmed)
            break;
    }
    return asked;
}

/* Whether the sum over several hills differs from that over the only one, whose value is given, by
 * more than the former's levels differ. */
static enum asked compare_hills(struct effects *local, double value, struct sums *sums)
{
    double before = NAN, found;
    for (unsigned level = HILLS_FROM; level <= HILLS_TO; level++, before = found) {
        enum asked asked = points_add(local, level, sums);
        if (asked == ASKED_END)
            return ASKED_END;
        found = asked == ASKED_OK ? sums_value(sums) : (double)NAN;
        if (fabs(found - value) <= NEGLIGIBLE) {
            local->block->needs_hills = false;
            return ASKED_OK;
        }
        if (fabs(found - value) > SURE * fabs(found - before))
            break;
    }
    return ASKED_OK;
}

/* Makes moments wider in the rule's variables: the others are independent and standard normal, and
 * nothing is summed over them. */
static void widen(const struct effects *local, double *mean, double *second)
{
    size_t r = local->r;
    bool is_variable[RULE_MOST] = {false};
    for (size_t k = 0; k < local->n_variable; k++)
        is_variable[local->variable[k]] = true;
    for (size_t a = 0; a < r; a++) {
        mean[a] = is_variable[a] ? mean[a] : 0;
        for (size_t b = 0; b < r; b++) {
            bool are_both = is_variable[a] && is_variable[b];
            second[b + a * r] = are_both ? WIDER * WIDER * second[b + a * r] : a == b;
        }
    }
}

/* Gives the last hill the moments of the integrand, and the prior its part of the whole. */
static void adapt_hill(struct effects *local, const struct sums *sums, double *scratch)
{
    size_t r = local->r, n = local->block->n_hill;
    double *mean = scratch, *second = mean + r, *factor = second + r * r, *rest = factor + r * r;
    struct hill hill = hills_at(r, local->hill, n - 1),
                prior = hills_at(r, local->hill, n - 2);
    points_moments(local, sums, mean, second, rest);
    widen(local, mean, second);
    if (!matrix_factor(r, second, r, local->index, factor))
        return;
    matrix_inverse(r, factor, second);
    if (!matrix_factor(r, second, r, local->index, factor))
        return;
    memcpy(hill.centre, mean, r * sizeof *mean);
    *hill.f = sums_value(sums);
    for (size_t c = 0; c < r; c++)
        for (size_t a = 0; a < r; a++)
            hill.factor[a + c * r] = a >= c ? factor[a + c * r] : 0;
    *hill.f -= effects_half_log_det(r, hill.factor);
    *prior.f = sums_value(sums) - log(PRIOR_PART);
}

/* Points on all hills, of which the last one follows the integrand's moments. */
static enum asked choose_rough(struct effects *local, struct sums *sums)
{
    struct mixed_block *block = local->block;
    size_t r = local->r, v = local->n_variable, most = MANY_POINTS / 2;
    enum asked asked = ASKED_OK;
    double *scratch, effective = 0;
    block->needs_hills = true;
    if (!sums_make(sums, local, points_n_hill(local))
        || !ARENA_DOUBLES(local->arena, {&scratch, r, 3 * r + 2}))
        return effects_end_short(local);
    for (int i = 0; i < N_ADAPT && asked == ASKED_OK; i++) {
        asked = points_add(local, ADAPT_LEVEL, sums);
        if (asked == ASKED_OK)
            adapt_hill(local, sums, scratch);
    }
    for (unsigned level = ADAPT_LEVEL; asked == ASKED_OK && effective < LEAST_EFFECTIVE; level++) {
        if (level > ADAPT_LEVEL && count_points(local, v, level) > most)
            break;
        block->level = level;
        asked = points_add(local, level, sums);
        double weight = sums_weight(sums);
        effective = weight * weight / *sums->squares;
    }
    return asked;
}

/* How the dataset's points are chosen: around the mode alone where that is enough. */
enum asked points_choose(struct effects *local, struct sums *sums)
{
    struct mixed_block *block = local->block;
    if (local->mixed->progress.is_rough && block->n_hill > 1)
        return choose_rough(local, sums);
    block->needs_hills = false;
    enum asked asked = choose_level(local, sums);
    if (block->n_hill <= 1 || asked == ASKED_END)
        return asked;
    struct sums other;
    double value = asked == ASKED_OK ? sums_value(sums) : (double)NAN;
    unsigned level = block->level;
    block->needs_hills = true;
    if (!sums_make(&other, local, points_n_hill(local)))
        return effects_end_short(local);
    if (compare_hills(local, value, &other) == ASKED_END)
        return ASKED_END;
    block->level = level;
    if (!block->needs_hills)
        return asked;
    asked = choose_level(local, &other);
    *sums = other;
    return asked;
}

/* How far the integral may be off after a level that has changed the value by `change`, and the one
 * before by `before`: errors fall by a half or more from level to level or, where products' fall
 * more slowly, a geometric series has more. Changes of lattices have random sizes, too. */
static double left_after(double change, double before, bool is_lattice)
{
    double part = change < before ? change / before : 1;
    double times = part < 1 ? part / (1 - part) : MOST_LEFT;
    return is_lattice ? fmax(change, 0.5 * before) : change * fmin(fmax(times, 1), MOST_LEFT);
}

/* The most points of a level. */
static double most_points(const struct effects *local, double n_last)
{
    if (!mixed_are_few(local->mixed) || local->mixed->progress.is_rough)
        return MANY_TIMES * n_last;
    return fmax(FINE_TIMES * n_last, FINE_POINTS);
}

/* Evaluates a level, and what it changes the value by, which is INFINITY where it cannot be
 * evaluated. */
static enum asked add_level(struct effects *local, unsigned level, struct sums *sums, double *value,
                            double *change)
{
    double was = *value;
    enum asked asked = points_add(local, level, sums);
    *value = asked == ASKED_OK ? sums_value(sums) : (double)NAN;
    *change = asked == ASKED_OK ? fabs(*value - was) : INFINITY;
    return asked;
}

enum asked points_refine(struct effects *local, struct sums *sums)
{
    struct mixed_block *block = local->block;
    size_t v = local->n_variable;
    unsigned level = points_level(local, MIXED_FINER);
    bool is_lattice = block->is_lattice = rule_at(local, v, level).is_lattice;
    double n = fmin((double)local->work->joint->part.n_all, MOST_COUNTED);
    double part = mixed_rule_error(local->mixed) / (is_lattice ? sqrt(n) : n);
    double n_hill = (double)sums->n_hill;
    double most = most_points(local, n_hill * (double)count_points(local, v, level));
    double value = block->value, change = INFINITY, below = value;
    if (level > 0 && add_level(local, level - 1, sums, &below, &change) == ASKED_END)
        return ASKED_END;
    block->n_point = 0;
    do {
        double before = change;
        enum asked asked = add_level(local, ++level, sums, &value, &change);
        if (asked != ASKED_OK)
            return asked;
        block->n_point += n_hill * (double)count_points(local, v, level);
        block->left = left_after(change, before, is_lattice);
        block->has_more = block->left > part && rule_has_level(is_lattice, level + 1)
                          && n_hill * (double)count_points(local, v, level + 1) <= most;
    } while (block->has_more && local->mixed->refines_more);
    block->correction = value - block->value;
    return ASKED_OK;
}

bool points_are_there(const struct effects *local)
{
    const struct mixed_block *block = local->block;
    return !points_are_refined(local)
           || (block->is_refined && !(block->has_more && local->mixed->refines_more));
}

/* Mean (r) and covariance (r x r) of b on a hill, where it is the centre + G^-T u, from the moments
 * of the rule's variables u; the others are standard normal. */
static void take_hill(const struct effects *local, const struct axes *axes,
                      const struct shape_moments *moments, double *mean, double *second)
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
    matrix_solve_upper(r, axes->factor, mean);
    for (size_t a = 0; a < r; a++)
        mean[a] += axes->centre[a];
    for (int side = 0; side < 2; side++) {
        for (size_t a = 0; a < r; a++)
            matrix_solve_upper(r, axes->factor, second + a * r);
        matrix_transpose(r, second);
    }
}

/* Mean (r) and covariance (r x r) of b; scratch: of a hill's. */
void points_moments(const struct effects *local, const struct sums *sums, double *mean,
                         double *second, double *scratch)
{
    size_t r = local->r;
    double weight = sums_weight(sums), *mean_of = scratch, *second_of = scratch + r;
    memset(mean, 0, r * sizeof *mean);
    memset(second, 0, r * r * sizeof *second);
    for (size_t i = 0; i < sums->n_hill; i++) {
        const struct axes axes = axes_of(local, i, sums->n_hill);
        double part = *sums->deviates[i].weight / weight;
        if (!(part > 0))
            continue;
        take_hill(local, &axes, &sums->deviates[i], mean_of, second_of);
        for (size_t a = 0; a < r; a++) {
            mean[a] += part * mean_of[a];
            for (size_t b = 0; b < r; b++)
                second[b + a * r] += part * (second_of[b + a * r] + mean_of[a] * mean_of[b]);
        }
    }
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b < r; b++)
            second[b + a * r] -= mean[a] * mean[b];
}
