/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/rule.h"

#include "base/random.h"
#include "fit/objective/distribution.h"

#include <math.h>

enum { PURPOSE = 0x52554c45 };
/* Nodes of products by level; and points of the lattices. */
static const size_t N_NODE[RULE_LEVELS] = {3, 5, 7, 9, 13, 19, 27, 41, 61, 91};
enum { FIRST_POINTS = 64 };
/* The width of the lattices' normal distribution: wider ones converge faster at last, narrower ones
 * begin with smaller errors. */
static const double WIDTH = 1.8;
/* Cools, Kuo & Nuyens (2006), Constructing embedded lattice rules for multivariate integration,
 * SIAM J. Sci. Comput. 28, 2162: the first numbers of their rule for 2^20 points, weights of order
 * 2. The first 2^k of its points are good lattices, too. */
static const uint32_t GENERATOR[RULE_MOST] = {
    1,      182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519,
    391023, 246327, 126539, 399185, 461527, 300343, 69681,  516695, 436179, 106383, 238523,
    413283, 70841,  47719,  300129, 113029, 123925, 410745, 211325, 17489,  511893};

/* Hermite's polynomial of degree n, orthonormal for the standard normal density, and the one below
 * it. */
static double hermite(size_t n, double x, double *below)
{
    double h = 1, last = 0;
    for (size_t k = 1; k <= n; k++) {
        double next = (x * h - sqrt((double)(k - 1)) * last) / sqrt((double)k);
        last = h;
        h = next;
    }
    *below = last;
    return h;
}

/* The zeros of the polynomial of degree n lie between those of degree n - 1, x, which they
 * replace. */
static void refine(size_t n, double *x)
{
    double end = sqrt(4.0 * (double)n + 2), low = -end, ignored;
    for (size_t i = 0; i < n; i++) {
        double left = low, right = i + 1 < n ? x[i] : end;
        double sign = hermite(n, left, &ignored) < 0 ? -1 : 1;
        low = right;
        for (int k = 0; k < 100 && left < right; k++) {
            double middle = 0.5 * (left + right);
            if (middle <= left || middle >= right)
                break;
            if (sign * hermite(n, middle, &ignored) > 0)
                left = middle;
            else
                right = middle;
        }
        x[i] = 0.5 * (left + right);
    }
}

bool rule_init(struct rule *rule, uint64_t seed, struct arena *arena)
{
    double *x;
    size_t n = 0;
    *rule = (struct rule){.seed = seed};
    if (!ARENA_DOUBLES(arena, {&x, N_NODE[RULE_LEVELS - 1], 1}))
        return false;
    for (unsigned level = 0; level < RULE_LEVELS; level++) {
        size_t m = rule->n_node[level] = N_NODE[level];
        if (!ARENA_DOUBLES(arena, {&rule->node[level], m, 1}, {&rule->log_weight[level], m, 1}))
            return false;
        while (n < m)
            refine(++n, x);
        for (size_t i = 0; i < m; i++) {
            double below;
            hermite(m, x[i], &below);
            rule->node[level][i] = x[i];
            rule->log_weight[level][i] = -log((double)m * below * below);
        }
    }
    return true;
}

size_t rule_size(const struct rule_level *at)
{
    size_t n = 1;
    if (at->is_lattice)
        return (size_t)FIRST_POINTS << (at->level + (at->r > 4));
    for (size_t a = 0; a < at->r; a++)
        n *= at->rule->n_node[at->level];
    return n;
}

double rule_reach(const struct rule_level *at)
{
    return at->is_lattice ? 0 : at->rule->node[at->level][at->rule->n_node[at->level] - 1];
}

static double product_point(const struct rule_level *at, size_t k, double *t)
{
    const struct rule *rule = at->rule;
    double logarithm = 0;
    for (size_t a = 0; a < at->r; a++, k /= rule->n_node[at->level]) {
        t[a] = rule->node[at->level][k % rule->n_node[at->level]];
        logarithm += rule->log_weight[at->level][k % rule->n_node[at->level]];
    }
    return logarithm;
}

double rule_point(const struct rule_level *at, size_t k, double *t)
{
    if (!at->is_lattice)
        return product_point(at, k, t);
    size_t n = rule_size(at);
    uint64_t stream = random_stream(at->dataset, PURPOSE);
    double logarithm = -log((double)n);
    for (size_t a = 0; a < at->r; a++) {
        double x = (double)((uint64_t)k * GENERATOR[a] % n) / (double)n
                   + random_uniform(at->rule->seed, stream, at->level * RULE_MOST + a);
        x = fmin(fmax(x < 1 ? x : x - 1, 1e-12), 1 - 1e-12);
        double u = distribution_normal_quantile(x);
        t[a] = WIDTH * u;
        logarithm += log(WIDTH) + 0.5 * (u * u - t[a] * t[a]);
    }
    return logarithm;
}
