/* The shape of an integrand over standard normal deviates u, relative to their density: the map
 * u(t) takes a rule's points t to where the integrand is. It is centre + factor (t + the part of
 * the skewness), after the moments of the integrand as a density: its mean, its covariance
 * (Naylor & Smith 1982, Appl. Statist. 31, 214) and its third moments M, whitened: the first
 * term of Cornish and Fisher's expansion in several variables, u_a = t_a + sum M_abc (t_b t_c -
 * [b = c]) / 6, makes standard normal t have these. A rule of few points is then as accurate as
 * one of many around the mode: with three variables and a skewness of 0.3, 27 points are as good
 * as 343.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With more variables there is none: points that show it would be too many. */
enum { SHAPE_MOST = 4 };

struct shape {
    double *centre, *factor, *skew; /* r; lower triangle of r x r; r x r x r; or empty: u = t */
};

/* Sums over points of their weights, these times u_a, u_a u_b, and u_a u_b u_c. */
struct shape_moments {
    double *weight, *first, *second, *third;
};

/* The number of numbers, and where they are. */
static inline size_t shape_size(size_t r) { return r <= SHAPE_MOST ? r + r * r + r * r * r : 0; }
struct shape shape_at(size_t r, double *numbers);
/* Of a standard normal density: u = t. */
void shape_reset(const struct shape *shape, size_t r);
/* From moments, which are destroyed; index: 0 .. r-1. An integrand that these points do not
 * describe gets none: u = t. */
void shape_fit(const struct shape *shape, size_t r, const struct shape_moments *moments,
               const uint32_t *index);
/* The part of the skewness that keeps the map invertible as far as `reach` in each variable. */
double shape_part(const struct shape *shape, size_t r, double reach);
/* Writes u(t), with this part of the skewness. Returns the logarithm of (density of u) du/dt /
 * (density of t), for standard normal densities: with it, weights of a rule for g(t) are those
 * for g(u). */
double shape_map(const struct shape *shape, size_t r, double part, const double *t, double *u);
