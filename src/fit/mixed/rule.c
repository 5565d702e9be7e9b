/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/rule.h"

#include "base/random.h"
#include "fit/objective/distribution.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

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
        double width = at->is_narrow ? 1 : WIDTH;
        t[a] = width * u;
        logarithm += log(width) + 0.5 * (u * u - t[a] * t[a]);
    }
    return logarithm;
}

/* The mean of n points with their weights, and then their covariance, r x r. */
static void add_moments(const struct rule_level *at, size_t n, struct rule_match *match,
                        double *covariance)
{
    double t[RULE_MOST], total = 0;
    size_t r = at->r;
    memset(match->mean, 0, r * sizeof *match->mean);
    memset(covariance, 0, r * r * sizeof *covariance);
    for (size_t k = 0; k < n; k++) {
        double weight = exp(rule_point(at, k, t));
        total += weight;
        for (size_t a = 0; a < r; a++)
            match->mean[a] += weight * t[a];
        for (size_t a = 0; a < r; a++)
            for (size_t b = 0; b <= a; b++)
                covariance[a + b * r] += weight * t[a] * t[b];
    }
    match->log_total = log(total);
    for (size_t a = 0; a < r; a++)
        match->mean[a] /= total;
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b <= a; b++)
            covariance[b + a * r] = covariance[a + b * r] =
                covariance[a + b * r] / total - match->mean[a] * match->mean[b];
}

bool rule_match_init(struct rule_match *match, const struct rule_level *at, struct arena *arena)
{
    size_t r = at->r;
    uint32_t index[RULE_MOST];
    double *covariance;
    *match = (struct rule_match){.mean = NULL};
    if (!at->is_lattice || r == 0)
        return true;
    if (!ARENA_DOUBLES(arena, {&match->mean, r, 1}, {&match->factor, r, r}, {&covariance, r, r}))
        return false;
    for (uint32_t a = 0; a < r; a++)
        index[a] = a;
    add_moments(at, rule_size(at), match, covariance);
    if (!matrix_factor(r, covariance, r, index, match->factor))
        *match = (struct rule_match){.mean = NULL};
    return true;
}

double rule_matched_point(const struct rule_level *at, const struct rule_match *match, size_t k,
                          double *t)
{
    double logarithm = rule_point(at, k, t) - match->log_total;
    for (size_t a = 0; match->mean && a < at->r; a++)
        t[a] -= match->mean[a];
    if (match->mean)
        matrix_solve_lower(at->r, match->factor, t);
    return logarithm;
}
