/* Where searches of Laplace's likelihood begin after the first one.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/mixed.h"

/* With few datasets the likelihood may have several maxima, of which one may lie in a submodel:
 * without some variance, or without correlations. Then the search also begins with each variance
 * at 0, which holds it there until the end (zeros_leave), and where a search without correlations
 * ends. With any number of them it also begins with guessed deviations at the latest means, if a
 * variance has gone to 0 or the first start was a given one. So a model is not less likely than
 * one that it contains. Parameters may also change their roles, as the rates of absorption and
 * elimination do, or lose the data, as a peak beyond them does: few datasets have drawn starts,
 * unless modes lie on kinks, where steps are many and dear. */

/* RELEASED: from the end of LATEST, without its correlations. Then for n variances: UNCORRELATED,
 * from guesses, n without each of them, one from the best of these ends with correlations, and n
 * without each. And the given one, as the pooled fit may have taken the first into a valley. */
enum start { START_FIRST, START_GUESS, START_LATEST, START_RELEASED, START_UNCORRELATED };

/* How many numbers of starts there are. */
size_t starts_count(const struct mixed *mixed);
/* The start with this number, in mixed->trial. False: there is none. */
bool starts_set(struct mixed *mixed, size_t number);
/* Whether correlations are held at 0. */
bool starts_are_uncorrelated(const struct mixed *mixed, size_t number);
