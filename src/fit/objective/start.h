/* Where a search begins: at the given start or at a random one, and at others where the model
 * cannot be evaluated there. The same for a fit of one dataset and for what many datasets share.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/outcome.h"
#include "fit/objective/map.h"

/* A random start is replaced at most so often, by number + n_start, and so on. */
enum { FIT_MAX_REDRAWN = 10 };
#define FIT_START_SHARED UINT64_MAX

struct fit_start {
    uint64_t seed;
    uint64_t dataset;   /* or FIT_START_SHARED: of what datasets share */
    uint32_t number;    /* 0: the given start; k: row k-1 of a Latin hypercube */
    uint32_t n_start;
    uint32_t n_redrawn; /* so many could not be evaluated */
};

/* Writes theta (map->n_free). Random starts are rows of a Latin hypercube, each a pure function of
 * the struct. Number k >= 1 is row k-1 of a hypercube with max(n_start - 1, k) rows in the box of
 * the bounds on the optimiser's scale: in every coordinate each of that many equal strata contains
 * one start, at a random place. An infinite side of the box is replaced by a window around the
 * given start: one decade on the logarithmic scales, max(1, |start|) on the linear one. Each
 * parameter has its own random stream, numbered by its index in the model. A parameter with a prior
 * (`prior`, by its index in p; NULL: none) has strata of equal probability under the prior between
 * the bounds instead. */
void fit_start_theta(const struct fit_start *start, const struct fit_map *map,
                     const struct fit_prior *prior, double *theta);
/* The quantile of the prior between two bounds, all on the optimiser's scale; NaN: it has no
 * probability there. */
double fit_start_quantile(const struct fit_prior *prior, enum parameter_scale scale, double lower,
                          double upper, double fraction);
/* Whether a search from there that found no point at all, and ended so, is repeated from the next
 * one; fit_start_redraw makes that the start. */
bool fit_start_may_redraw(const struct fit_start *start, enum outcome outcome);
bool fit_start_redraw(struct fit_start *start, enum outcome outcome);

/* Which of a dataset's starts is kept: the lowest objective wins, whatever the status of its
 * start. If the certificate's evaluation does not confirm an objective, its possible error is
 * added first. If a success and a failure differ by less than 0.001 of the errors' variance, the
 * success wins. */
bool fit_start_beats(const struct fit_record *a, const struct fit_record *b);
/* Sets NOTE_lower_start in a best start that failed and is lower than all successes; infinity:
 * there is no success. */
void fit_start_note(struct fit_record *best, double lowest_success);
