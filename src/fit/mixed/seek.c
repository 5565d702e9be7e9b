/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/seek.h"

#include "fit/mixed/hills.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* Where the search for other hills looks, in standard deviations of one random effect: with one of
 * them at all of these places (the first N_FEW for Laplace's likelihood), with up to FEW_EFFECTS at
 * the first N_FEW, with more at the first N_MANY. */
static const double PRIOR_AT[] = {-1, 1, -2, 2, -0.5, 0.5, -1.5, 1.5, -2.5, 2.5, -3, 3};
enum { FEW_EFFECTS = 4, N_FEW = 4, N_MANY = 2, N_PRIOR_AT = sizeof PRIOR_AT / sizeof *PRIOR_AT };
/* A point that is LEAST_RISE from the highest mode by the hills' densities, and lies lower than
 * RISE_PART of that, is on another hill, or on a long slope of the same one. So may be one whose
 * slopes promise a mode that is UNEXPECTED lower than the hills there, and no more than DEEP above
 * the highest mode: MOST_CLIMBS of these are tried. */
static const double RISE_PART = 0.3, LEAST_RISE = 1, UNEXPECTED = 1, DEEP = 7;
enum { MOST_CLIMBS = 6 };
/* A mode is higher than another if -log density differs by this. */
static const double HIGHER = 1e-4;
/* A hill with less than this part of the highest one's mass is none. */
static const double LEAST_MASS = 1e-4;
/* The prior has this part of the highest one's. */
static const double PRIOR_MASS = 0.03;

/* -log of the hill's mass. */
static double mass_of(size_t r, const struct hill *hill)
{
    double sum = *hill->f;
    for (size_t a = 0; a < r; a++)
        sum += log(hill->factor[a + a * r]);
    return sum;
}

/* Adds a hill at local->here, as the first one if its mode is higher than that one's. False: its
 * derivatives are too large. */
static bool add(struct effects *local, double *numbers, size_t *n, bool is_mode)
{
    size_t r = local->r, size = hills_size(r, 1);
    struct hill hill = hills_at(r, numbers, *n);
    if (!effects_hessian(local, local->here.information))
        return false;
    *hill.f = local->here.with_density;
    memcpy(hill.centre, local->here.b, r * sizeof *hill.centre);
    for (size_t c = 0; c < r; c++)
        for (size_t a = 0; a < r; a++)
            hill.factor[a + c * r] = a >= c ? local->cholesky[a + c * r] : 0;
    bool is_highest = *n > 0 && is_mode && *hill.f < numbers[0] - HIGHER;
    for (size_t k = 0; is_highest && k < size; k++) {
        double first = numbers[k];
        numbers[k] = numbers[*n * size + k];
        numbers[*n * size + k] = first;
    }
    (*n)++;
    return true;
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

/* Looks at all points of the prior. looks: NULL where memory is out. */
static enum asked look_at_all(struct effects *local, struct look **looks, size_t *n)
{
    size_t r = local->r, v = local->n_variable;
    bool is_exact = local->mixed->progress.phase == MIXED_EXACT;
    size_t n_at = v == 1 && is_exact ? N_PRIOR_AT : v <= FEW_EFFECTS ? N_FEW : N_MANY;
    *n = v * n_at + 1;
    *looks = arena_calloc(local->arena, *n, sizeof **looks);
    enum asked asked = ASKED_OK;
    for (size_t k = 0; *looks && k < *n && asked != ASKED_END; k++) { /* the last one is the mean */
        struct look *look = &(*looks)[k];
        if (!ARENA_DOUBLES(local->arena, {&look->b, r, 1}, {&look->mode, r, 1}))
            *looks = NULL;
        if (!*looks)
            break;
        if (k + 1 < *n)
            look->b[local->variable[k / n_at]] = PRIOR_AT[k % n_at];
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
static enum asked add_another(struct effects *local, double *numbers, size_t *n,
                              const struct look *look, bool is_unexplained)
{
    size_t r = local->r;
    memcpy(local->here.b, look->b, r * sizeof *look->b);
    enum asked asked = effects_climb(local);
    bool is_mode = asked == ASKED_OK && !is_known(local, numbers, *n);
    if (asked != ASKED_END && !is_mode && is_unexplained) {
        memcpy(local->here.b, look->b, r * sizeof *look->b);
        asked = effects_evaluate(local, &local->here);
    }
    if (asked == ASKED_OK && (is_mode || is_unexplained))
        add(local, numbers, n, is_mode);
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}

static enum asked add_others(struct effects *local, double *numbers, size_t *n)
{
    struct look *looks, *look;
    size_t n_look;
    int n_climb = 0;
    enum asked asked = look_at_all(local, &looks, &n_look);
    while (asked == ASKED_OK && looks && *n + 1 < HILLS_MOST) {
        look = find_unexplained(local, numbers, *n, looks, n_look);
        bool is_unexplained = look != NULL;
        if (!look && n_climb++ < MOST_CLIMBS)
            look = find_promising(local, numbers, *n, looks, n_look);
        if (!look)
            break;
        look->is_used = true;
        asked = add_another(local, numbers, n, look, is_unexplained);
    }
    return asked;
}

/* Leaves out hills that hardly count. */
static void leave_out(size_t r, double *numbers, size_t *n)
{
    const struct hill highest = hills_at(r, numbers, 0);
    size_t kept = 1, size = hills_size(r, 1);
    for (size_t i = 1; i < *n; i++) {
        const struct hill hill = hills_at(r, numbers, i);
        if (mass_of(r, &hill) - mass_of(r, &highest) > -log(LEAST_MASS))
            continue;
        memmove(numbers + kept * size, numbers + i * size, size * sizeof *numbers);
        kept++;
    }
    *n = kept;
}

/* Adds the prior to several hills, with a small mass: where all of them are low it is sampled. */
static void add_prior(size_t r, double *numbers, size_t *n)
{
    const struct hill highest = hills_at(r, numbers, 0), prior = hills_at(r, numbers, *n);
    if (*n <= 1)
        return;
    memset(prior.f, 0, hills_size(r, 1) * sizeof *prior.f);
    *prior.f = mass_of(r, &highest) - log(PRIOR_MASS);
    for (size_t a = 0; a < r; a++)
        prior.factor[a + a * r] = 1;
    (*n)++;
}

enum asked seek_hills(struct effects *local, double *numbers, size_t *n)
{
    size_t r = local->r;
    *n = 0;
    enum asked asked = effects_climb(local);
    if (asked != ASKED_OK || !add(local, numbers, n, true))
        return asked;
    uint32_t notes = local->work->asker->notes; /* a trial point here is none of the search */
    asked = add_others(local, numbers, n);
    local->work->asker->notes = notes;
    leave_out(r, numbers, n);
    add_prior(r, numbers, n);
    memcpy(local->here.b, hills_at(r, numbers, 0).centre, r * sizeof *local->here.b);
    return asked == ASKED_END ? ASKED_END : ASKED_OK;
}
