/* Sums over the points of a rule that give a dataset's likelihood, its derivatives, and moments of
 * the random effects given the data.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/effects.h"
#include "fit/mixed/hills.h"
#include "fit/mixed/scores.h"
#include "fit/mixed/shape.h"

/* Each point counts exp(logarithm - most). The first n numbers are these: */
struct sums {
    double most, *number;
    size_t n;
    double *squares;                /* 1: of the points' weights */
    double *lost;                   /* 1: weights of points that could not be evaluated */
    double *sharp;                  /* 1: weights where kinks are not rounded */
    struct shape_moments deviates[HILLS_MOST]; /* of the rule's variables, for each hill; */
    size_t n_hill;                  /* 1: the points are around the mode */
    struct scores scores;
    double *score, *latest;         /* m: their sums, and those of the latest point */
    struct louis louis;             /* for n_observed estimates, or none, */
    size_t n_observed;
    double *observed, *products;    /* sums of their scores, and of the products of these */
};

/* False: out of memory. */
bool sums_make(struct sums *sums, const struct effects *local, size_t n_hill);
/* Sets all to zero. */
void sums_clear(struct sums *sums);
/* Adds the point at local->there, one of this hill's, with its deviates and the logarithm of its
 * part of the sum. */
void sums_add(struct sums *sums, const struct effects *local, size_t hill, const double *deviate,
              double logarithm);
/* Adds a point that could not be evaluated; logarithm: of what its part may have been. */
void sums_lose(struct sums *sums, double logarithm);
/* The weight of all points. */
double sums_weight(const struct sums *sums);
/* -log of the sum. */
double sums_value(const struct sums *sums);
