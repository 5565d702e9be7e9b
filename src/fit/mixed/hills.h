/* The hills of a dataset's integrand: normal densities at its modes, and at points of the prior
 * where it is higher than the curvature at these modes explains, and the prior itself; and, where
 * integrands have kinks, a normal density with their moments. An integrand with one hill and
 * without kinks is summed over points around its mode, wherever that moves. With several, each
 * point of the random effects belongs to all hills, to parts that add up to 1 and are as large as
 * the hills' densities are there, and each hill's part of the integrand is summed over points of
 * its own: multiple importance sampling by the balance heuristic (Veach & Guibas 1995, SIGGRAPH,
 * 419). Hills are looked for where a stage of the search begins and ends; meanwhile they stay where
 * their parameters are.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The most hills; the most random effects with which there is more than one, but for integrands
 * with kinks; and the most random effects. */
enum { HILLS_MOST = 8, HILLS_EFFECTS = 4, HILLS_WIDEST = 32 };
/* Hills that are none of the modes': the prior, and behind it, for integrands with kinks, a normal
 * density with their moments. */
enum { HILLS_ADDED = 2 };

struct hill {
    double *f;            /* -log integrand at the centre */
    double *centre;       /* r */
    double *factor;       /* r x r: Cholesky's of the second derivatives of -log density */
};

/* Where hill i is among `numbers`, which have room for hills_size(r, n). */
static inline size_t hills_size(size_t r, size_t n) { return n * (1 + r + r * r); }
struct hill hills_at(size_t r, double *numbers, size_t i);

/* -log of the sum of n hills' densities at b (r). */
double hills_height(size_t r, double *numbers, size_t n, const double *b);
/* The logarithm of the part of hill i, one of n, at b (r): 0 for the only one. */
double hills_part(size_t r, double *numbers, size_t n, size_t i, const double *b);
/* Whether a hill is the prior itself. */
bool hills_is_prior(size_t r, const struct hill *hill);
/* Random effects b that mean + L b are parameters: r means, and L (r x r). */
struct hills_frame {
    const double *mean, *factor;
};
/* Moves a hill with the estimates: its parameters stay, or the random effects of those for which
 * `stays` (r) is true, and so does its mass. False: it cannot be moved. Scratch: 3 r x r. */
bool hills_move(size_t r, const struct hills_frame *from, const struct hills_frame *to,
                const bool *stays, const struct hill *hill, double *scratch);
/* Whether two lists of n hills are the same but for what the estimates move in a few steps. */
bool hills_are_alike(size_t r, double *numbers, double *others, size_t n);
