/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/seek.h"

#include "fit/mixed/hills.h"
#include "fit/mixed/points.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* Where the search for other hills looks, in standard deviations of one random effect: with one of
 * them at all of these places (the first N_FEW for Laplace's likelihood), with up to FEW_EFFECTS at
 * the first N_FEW, with more at the first N_MANY. */
static const double PRIOR_AT[] = {-1, 1, -2, 2, -0.5, 0.5, -1.5, 1.5, -2.5, 2.5, -3, 3};
enum { FEW_EFFECTS = 4, N_FEW = 4, N_MANY = 2, N_PRIOR_AT = sizeof PRIOR_AT / sizeof *PRIOR_AT };
/* With few datasets the last stage also looks at the points of this level of a lattice. */
enum { LOOK_LEVEL = 1 };
/* A point that is LEAST_RISE from the highest mode by the hills' densities, and lies lower than
 * RISE_PART of that, is on another hill, or on a long slope of the same one. So may be one whose
 * slopes promise a mode that is UNEXPECTED lower than the hills there, and no more than DEEP above
 * the highest mode: MOST_CLIMBS of these are tried. */
static const double RISE_PART = 0.3, LEAST_RISE = 1, UNEXPECTED = 1, DEEP = 7;
enum { MOST_CLIMBS = 6 };
/* A hill is narrower than its curvature says if -log density rises by more than this in one
 * deviation. */
static const double STEEP = 2;
enum { MAX_NARROW = 6 };
/* A mode is higher than another if -log density differs by this. */
static const double HIGHER = 1e-4;
/* A hill with less than this part of the highest one's mass is none. */
static const double LEAST_MASS = 1e-4;
/* The prior has this part of the highest one's. */
static const double PRIOR_MASS = 0.03;

/* With few datasets the last stage looks for more than the search needs. */
static bool looks_closely(const struct effects *local)
{
    const struct mixed_progress *progress = &local->mixed->progress;
    return progress->phase == MIXED_EXACT && progress->level == MIXED_FINER
           && mixed_are_few(local->mixed);
}

/* -log of the hill's mass. */
static double mass_of(size_t r, const struct hill *hill)
{
    double sum = *hill->f;
    for (size_t a = 0; a < r; a++)
        sum += log(hill->factor[a + a * r]);
    return sum;
}

/* The lower one of the rises of -log density in a step of `width` deviations of the hill's variable
 * a to both sides. */
static enum asked find_rise(struct effects *local, const struct hill *hill, size_t a, double width,
                            double *rise)
{
    size_t r = local->r;
    double *b = local->there.b;
    *rise = INFINITY;
    for (int side = -1; side <= 1; side += 2) {
        memset(b, 0, r * sizeof *b);
        b[a] = side * width;
        matrix_solve_upper(r, hill->factor, b);
        for (size_t c = 0; c < r; c++)
            b[c] += hill->centre[c];
        enum asked asked = effects_evaluate(local, &local->there);
        if (asked == ASKED_END)
            return asked;
        if (asked == ASKED_OK)
            *rise = fmin(*rise, local->there.with_density - *hill->f);
    }
    return ASKED_OK;
}

/* Makes a hill narrower where it is steeper than its curvature says: at the top of a curve, say,
 * where the slopes are 0, Gauss and Newton's curvature is too small. */
static enum asked narrow(struct effects *local, struct hill *hill, bool *is_narrower)
{
    for (size_t k = 0; k < local->n_variable; k++) {
        size_t a = local->variable[k];
        double width = 1, rise = INFINITY;
        for (int i = 0; i < MAX_NARROW && rise > STEEP; i++) {
            width *= i > 0 ? 0.5 : 1;
            if (find_rise(local, hill, a, width, &rise) == ASKED_END)
                return ASKED_END;
        }
        *is_narrower = *is_narrower || width < 1;
        for (size_t c = 0; c < local->r; c++)
            hill->factor[c + a * local->r] /= width;
    }
    return ASKED_OK;
}

/* Hills that have been found. */
struct found {
    double *numbers; /* room for HILLS_MOST */
    size_t n;
    bool has_narrow; /* one is narrower than its curvature says */
};

/* Adds a hill at local->here, as the first one if its mode is higher than that one's, unless its
 * derivatives are too large. */
static enum asked add(struct effects *local, struct found *found, bool is_mode)
{
    size_t r = local->r, size = hills_size(r, 1);
    double *numbers = found->numbers;
    struct hill hill = hills_at(r, numbers, found->n);
    if (!effects_hessian(local, local->here.information))
        return ASKED_OK;
    *hill.f = local->here.with_density;
    memcpy(hill.centre, local->here.b, r * sizeof *hill.centre);
    for (size_t c = 0; c < r; c++)
        for (size_t a = 0; a < r; a++)
            hill.factor[a + c * r] = a >= c ? local->cholesky[a + c * r] : 0;
    if (looks_closely(local) && narrow(local, &hill, &found->has_narrow) == ASKED_END)
        return ASKED_END;
    bool is_highest = found->n > 0 && is_mode && *hill.f < numbers[0] - HIGHER;
    for (size_t k = 0; is_highest && k < size; k++) {
        double first = numbers[k];
        numbers[k] = numbers[found->n * size + k];
        numbers[found->n * size + k] = first;
    }
    found->n++;
    return ASKED_OK;
}

/* A point of the prior. */
struct look {
    double *b, f;           /* r; -log density there; NaN: it cannot be evaluated */
    double *mode, promised; /* r: where its slopes lead to, and -log density there */
    bool is_used;
};

static enum asked look_at(struct effects *local, struct look *look)
{
    size_t r = local->r;
    look->f = look->promised = NAN;
    memcpy(local->there.b, look->b, r * sizeof *look->b);
    enum asked asked = effects_evaluate(local, &local->there);
    if (asked != ASKED_OK)
        return asked;
    look->f = local->there.with_density;
    if (!effects_hessian(local, local->there.information))
        return ASKED_OK;
    look->promised = look->f - effects_promise(local, &local->there, look->mode);
    matrix_solve_upper(r, local->cholesky, look->mode);
    for (size_t a = 0; a < r; a++)
        look->mode[a] += look->b[a];
    return ASKED_OK;
}

/* How many points of a lattice are looked at, whose level is given. */
static size_t count_lattice(const struct effects *local, const struct rule_level *lattice)
{
    return looks_closely(local) && local->n_variable <= HILLS_EFFECTS ? rule_size(lattice) : 0;
}

/* Looks at all points of the prior. looks: NULL where memory is out. */
static enum asked look_at_all(struct effects *local, struct look **looks, size_t *n)
{
    size_t r = local->r, v = local->n_variable;
    bool is_exact = local->mixed->progress.phase == MIXED_EXACT;
    size_t n_at = v == 1 && is_exact ? N_PRIOR_AT : v <= FEW_EFFECTS ? N_FEW : N_MANY;
    const struct rule_level lattice = points_lattice(local, LOOK_LEVEL);
    size_t n_star = v * n_at, n_all = n_star + count_lattice(local, &lattice);
    double t[RULE_MOST];
    *n = n_all + 1;
    *looks = arena_calloc(local->arena, *n, sizeof **looks);
    enum asked asked = ASKED_OK;
    for (size_t k = 0; *looks && k < *n && asked != ASKED_END; k++) { /* the last one is the mean */
        struct look *look = &(*looks)[k];
        if (!ARENA_DOUBLES(local->arena, {&look->b, r, 1}, {&look->mode, r, 1}))
            *looks = NULL;
        if (!*looks)
            break;
        if (k < n_star)
            look->b[local->variable[k / n_at]] = PRIOR_AT[k % n_at];
        else if (k < n_all)
            rule_point(&lattice, k - n_star, t);
        for (size_t a = 0; k >= n_star && k < n_all && a < v; a++)
            look->b[local->variable[a]] = t[a];
        asked = look_at(local, look);
    }
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

/* Of the points that are not used yet the lowest one that the hills do not explain; NULL: there is
 * none. */
static struct look *find_unexplained(const struct effects *local, double *numbers, size_t n,
                                     struct look *looks, size_t n_look)
{
    struct look *lowest = NULL;
    for (struct look *look = looks; look < looks + n_look; look++) {
        double rise = hills_height(local->r, numbers, n, look->b) - numbers[0];
        if (!look->is_used && rise >= LEAST_RISE && look->f - numbers[0] < RISE_PART * rise
            && !(lowest && lowest->f <= look->f))
            lowest = look;
    }
    return lowest;
}

/* Of these the one that promises the lowest mode, lower than the hills are there. */
static struct look *find_promising(const struct effects *local, double *numbers, size_t n,
                                   struct look *looks, size_t n_look)
{
    struct look *lowest = NULL;
    for (struct look *look = looks; look < looks + n_look; look++) {
        double there = hills_height(local->r, numbers, n, look->mode);
        double least = lowest ? lowest->promised : numbers[0] + DEEP;
        if (!look->is_used && look->promised < there - UNEXPECTED && look->promised < least)
            lowest = look;
    }
    return lowest;
}

/* Whether local->here is the mode of one of the hills. */
static bool is_known(const struct effects *local, double *numbers, size_t n)
{
    size_t r = local->r;
    for (size_t i = 0; i < n; i++)
        if (!effects_are_apart(r, local->here.b, hills_at(r, numbers, i).centre))
            return true;
    return false;
}

/* Adds the hill that a point of the prior is on: around its mode or, where that is a hill's that is
 * known, around the point if that is unexplained. */
static enum asked add_another(struct effects *local, struct found *found, const struct look *look,
                              bool is_unexplained)
{
    size_t r = local->r;
    memcpy(local->here.b, look->b, r * sizeof *look->b);
    enum asked asked = effects_climb(local);
    bool is_mode = asked == ASKED_OK && !is_known(local, found->numbers, found->n);
    if (asked != ASKED_END && !is_mode && is_unexplained) {
        memcpy(local->here.b, look->b, r * sizeof *look->b);
        asked = effects_evaluate(local, &local->here);
    }
    if (asked == ASKED_OK && (is_mode || is_unexplained))
        asked = add(local, found, is_mode);
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

static enum asked add_others(struct effects *local, struct found *found)
{
    struct look *looks, *look;
    double *numbers = found->numbers;
    size_t n_look;
    int n_climb = 0;
    enum asked asked = look_at_all(local, &looks, &n_look);
    while (asked == ASKED_OK && looks && found->n + HILLS_ADDED < HILLS_MOST) {
        look = find_unexplained(local, numbers, found->n, looks, n_look);
        bool is_unexplained = look != NULL;
        if (!look && n_climb++ < MOST_CLIMBS)
            look = find_promising(local, numbers, found->n, looks, n_look);
        if (!look)
            break;
        look->is_used = true;
        asked = add_another(local, found, look, is_unexplained);
    }
    return asked;
}

/* Leaves out hills that hardly count. */
static void leave_out(size_t r, struct found *found)
{
    double *numbers = found->numbers;
    const struct hill highest = hills_at(r, numbers, 0);
    size_t kept = 1, size = hills_size(r, 1);
    for (size_t i = 1; i < found->n; i++) {
        const struct hill hill = hills_at(r, numbers, i);
        if (mass_of(r, &hill) - mass_of(r, &highest) > -log(LEAST_MASS))
            continue;
        memmove(numbers + kept * size, numbers + i * size, size * sizeof *numbers);
        kept++;
    }
    found->n = kept;
}

/* Adds the prior to several hills, or to a narrow one, with a small mass: where all of them are low
 * it is sampled. */
static void add_prior(size_t r, struct found *found, bool is_rough)
{
    const struct hill highest = hills_at(r, found->numbers, 0),
                      prior = hills_at(r, found->numbers, found->n);
    if (found->n <= 1 && !found->has_narrow && !is_rough)
        return;
    memset(prior.f, 0, hills_size(r, 1) * sizeof *prior.f);
    *prior.f = mass_of(r, &highest) - log(PRIOR_MASS);
    for (size_t a = 0; a < r; a++)
        prior.factor[a + a * r] = 1;
    found->n++;
}

enum asked seek_hills(struct effects *local, double *numbers, size_t *n)
{
    size_t r = local->r;
    struct found found = {.numbers = numbers};
    enum asked asked = effects_climb(local);
    if (asked == ASKED_OK)
        asked = add(local, &found, true);
    *n = found.n;
    if (asked != ASKED_OK || found.n == 0)
        return asked;
    uint32_t notes = local->work->asker->notes; /* a trial point here is none of the search */
    asked = add_others(local, &found);
    local->work->asker->notes = notes;
    leave_out(r, &found);
    bool is_rough = local->mixed->progress.is_rough;
    add_prior(r, &found, is_rough);
    if (is_rough) /* until the moments are known */
        memcpy(hills_at(r, numbers, found.n++).f, numbers, hills_size(r, 1) * sizeof *numbers);
    *n = found.n;
    memcpy(local->here.b, hills_at(r, numbers, 0).centre, r * sizeof *local->here.b);
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}
