/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/sums.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* What the scores' means need least of, as the curvature at the mode says. */
static bool make_scores(struct sums *sums, const struct effects *local)
{
    size_t r = local->r, m = local->m;
    bool *is_curve = arena_calloc(local->arena, r + 1, sizeof *is_curve);
    if (!is_curve || !ARENA_DOUBLES(local->arena, {&sums->latest, m, 1}))
        return false;
    for (size_t a = 0; a < r; a++)
        is_curve[a] = !(local->hessian[a + a * r] - 1 > effects_known(local));
    return scores_init(&sums->scores, local, is_curve);
}

bool sums_make(struct sums *sums, const struct effects *local, size_t n_hill)
{
    size_t r = local->r, s = local->s, m = local->m, v = local->n_variable;
    double *next;
    bool observes = mixed_has_information(local->mixed);
    size_t n = sums->n_observed = observes ? r + m - s : 0;
    sums->louis = (struct louis){.r = r, .n_entry = m - s, .row = local->row,
                                 .column = local->column};
    if (!make_scores(sums, local)
        || (n > 0 && !ARENA_DOUBLES(local->arena, {&sums->louis.inverse, r, r})))
        return false;
    if (n > 0)
        louis_init(&sums->louis, local->factor);
    size_t n_moment = 1 + v + v * v + (v <= SHAPE_MOST ? v * v * v : 0);
    sums->n_hill = n_hill;
    sums->n = 3 + n_hill * n_moment + m + n + n * n;
    if (!ARENA_DOUBLES(local->arena, {&sums->number, sums->n, 1}))
        return false;
    next = sums->number;
    sums->squares = next;
    sums->lost = next += 1;
    sums->sharp = next += 1;
    next += 1;
    for (size_t h = 0; h < n_hill; h++, next += n_moment)
        sums->deviates[h] = (struct shape_moments){.weight = next, .first = next + 1,
                                                   .second = next + 1 + v,
                                                   .third = next + 1 + v + v * v};
    sums->score = next;
    sums->observed = next + m;
    sums->products = next + m + n;
    return true;
}

void sums_clear(struct sums *sums)
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

/* Those of the point at local->there. */
static void add_scores(struct sums *sums, const struct effects *local, double weight)
{
    double observed[RULE_MOST + RULE_MOST * (RULE_MOST + 1) / 2];
    size_t n = sums->n_observed;
    scores_at(&sums->scores, local, sums->latest);
    for (size_t i = 0; i < local->m; i++)
        sums->score[i] += weight * sums->latest[i];
    if (n > 0)
        louis_score(&sums->louis, local->there.b, observed);
    for (size_t i = 0; i < n; i++) {
        sums->observed[i] += weight * observed[i];
        for (size_t j = 0; j <= i; j++)
            sums->products[i + j * n] += weight * observed[i] * observed[j];
    }
}

/* Makes the numbers relative to this logarithm if it is larger than those before. */
static void raise_most(struct sums *sums, double logarithm)
{
    if (!(logarithm > sums->most))
        return;
    double by = exp(sums->most - logarithm), squares = *sums->squares * by * by;
    for (size_t k = 0; k < sums->n; k++)
        sums->number[k] *= by;
    *sums->squares = squares;
    sums->most = logarithm;
}

void sums_lose(struct sums *sums, double logarithm)
{
    raise_most(sums, logarithm);
    *sums->lost += exp(logarithm - sums->most);
}

void sums_add(struct sums *sums, const struct effects *local, size_t hill, const double *deviate,
              double logarithm)
{
    const struct effects_place *there = &local->there;
    if (!(logarithm > -INFINITY))
        return;
    raise_most(sums, logarithm);
    double weight = exp(logarithm - sums->most);
    add_moments(&sums->deviates[hill], local->n_variable, deviate, weight);
    add_scores(sums, local, weight);
    *sums->squares += weight * weight;
    *sums->sharp += weight * exp(there->rounding);
}

double sums_weight(const struct sums *sums)
{
    double weight = 0;
    for (size_t h = 0; h < sums->n_hill; h++)
        weight += *sums->deviates[h].weight;
    return weight;
}

double sums_value(const struct sums *sums) { return -sums->most - log(sums_weight(sums)); }
