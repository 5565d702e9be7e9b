/* The observed information of a normal distribution's mean and factor L, of variables mean + L b
 * that are not observed themselves, from the distribution of b given the data: its mean is that
 * of the complete data less the covariance of their score (Louis 1982, J. R. Statist. Soc. B 44,
 * 226). No derivatives of the data's density are needed.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Estimates: the r means, and behind them the n_entry entries of L. */
struct louis {
    size_t r, n_entry;
    const uint32_t *row, *column; /* of the entries: row >= column */
    double *inverse;              /* r x r, column-major: of L */
};

/* Sets `inverse` from L, r x r. Where its diagonal is 0 it is taken for 1: what follows for
 * these variables has no meaning, and nothing for the others if the rest of their rows and
 * columns is not 0. */
void louis_init(struct louis *louis, const double *factor);
/* The derivatives of the complete data's log density by the estimates, at b. */
void louis_score(const struct louis *louis, const double *b, double *score);
/* Minus the mean of its second derivatives by estimates i and j. first: the means of b; second:
 * those of b_a b_c, r x r. */
double louis_information(const struct louis *louis, size_t i, size_t j, const double *first,
                         const double *second);
