/* Rules for the mean of a function of independent standard normal variables: points t_k and weights
 * w_k, so that the sum of w_k g(t_k) is close to E g(t). For up to four variables these are
 * products of Gauss and Hermite's rule, which are exact for polynomials and so converge fast where
 * g is almost constant. For more of them, whose products would be too many, they are the points of
 * a shifted rank-1 lattice, taken to a normal distribution that is wider than the standard one:
 * the summand then vanishes smoothly at the ends of the unit cube, which lattices need. Points with
 * heavier tails, or Sobol's, need 4 to 100 times as many for the same error (measured with skewed
 * densities in 1 to 6 variables). Integrands with several hills (fit/mixed/hills.h), whose parts
 * may be steep, take lattices with any number of variables: the nodes of products lie far apart.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Levels of growing accuracy, from 0; lattices have further ones. */
enum { RULE_LEVELS = 10, RULE_LATTICE_LEVELS = 14 };
/* Variables, and of products. */
enum { RULE_MOST = 32, RULE_PRODUCT_MOST = 4 };

/* Const once it is made; any number of threads. */
struct rule {
    uint64_t seed;
    size_t n_node[RULE_LEVELS];            /* of a product, along each variable */
    double *node[RULE_LEVELS], *log_weight[RULE_LEVELS];
};

/* False: out of memory. */
bool rule_init(struct rule *rule, uint64_t seed, struct arena *arena);
/* One of its levels for some variables. A lattice has a shift of its own for each dataset and
 * level. */
struct rule_level {
    const struct rule *rule;
    size_t r;
    unsigned level;
    bool is_lattice;
    bool is_narrow; /* a lattice's points have the standard normal density */
    uint64_t dataset;
};
static inline bool rule_has_level(bool is_lattice, unsigned level)
{
    return level < (is_lattice ? RULE_LATTICE_LEVELS : RULE_LEVELS);
}
/* The number of points. */
size_t rule_size(const struct rule_level *at);
/* The largest coordinate of products; 0 for lattices. */
double rule_reach(const struct rule_level *at);
/* Writes point k: r coordinates. Returns the logarithm of its weight. */
double rule_point(const struct rule_level *at, size_t k, double *t);
/* What makes a lattice exact for polynomials of second order, as products are: its points are
 * shifted and scaled to have the mean and covariance of standard normal variables, and their
 * weights add up to 1. */
struct rule_match {
    double *mean, *factor; /* r; lower triangle of r x r: of the points as they are. NULL: none */
    double log_total;      /* logarithm of the sum of their weights */
};
/* False: out of memory. */
bool rule_match_init(struct rule_match *match, const struct rule_level *at, struct arena *arena);
/* rule_point with these. */
double rule_matched_point(const struct rule_level *at, const struct rule_match *match, size_t k,
                          double *t);
