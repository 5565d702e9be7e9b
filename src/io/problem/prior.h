/* Priors of a problem file, or of its model: reads and checks them, and applies them to bounds
 * and to the problem's identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/parameters.h"
#include "base/prior.h"

#include <stdbool.h>
#include <stddef.h>

struct problem;
struct faults;
struct problem_expectation;
struct sha256;

/* The prior of one parameter. A uniform or log-uniform prior (lower and upper, natural scale)
 * has already tightened the bounds of every block. */
struct problem_prior {
    enum prior_kind kind;
    bool on_optimizer;       /* location and scale refer to the optimiser's scale */
    double location, scale;  /* log-normal: mean and standard deviation of the logarithm */
    double lower, upper;
};

const char *prior_word(enum prior_kind kind);
bool prior_has_bounds(enum prior_kind kind);
/* its density is 0 where the parameter is not positive */
bool prior_is_positive(enum prior_kind kind);
/* a density whose weight against the measurements depends on every sigma */
bool prior_needs_sigma(enum prior_kind kind);
/* A uniform prior as bounds. */
void prior_tighten(const struct problem_prior *prior, double *lower, double *upper);
const struct problem_prior *problem_prior(const struct problem *problem); /* n_parameter, or NULL */

/* The tables in use, by row: the file's own, otherwise the model's. */
struct prior_source {
    struct parameters parameter;
    bool is_model;
};
/* Row i as the prior of a parameter with this name and scale (lin, log, log10); *prior stays as
 * it is if there is none. Faults are added. */
void prior_match(const struct prior_source *source, size_t i, const char *name, const char *scale,
                 struct faults *faults, struct problem_prior *prior);
/* A prior that the model puts on the logarithm of its parameter i is invalid on another scale:
 * returns the scale it refers to, or NULL if there is no such fault. */
const char *prior_other_scale(const struct problem_expectation *model, size_t i,
                              const char *scale);

/* Called by problem_open; faults are added to the problem's list. */
void problem_open_priors(struct problem *problem);
/* Once parameters and scales are known: sets the priors of the file or, if it has none, of the
 * model. */
enum status problem_match_priors(struct problem *problem,
                                 const struct problem_expectation *expectation,
                                 struct error *error);
/* Uniform priors as bounds of one dataset, n_parameter each. */
void problem_tighten_bounds(const struct problem *problem, double *lower, double *upper);
void problem_hash_priors(const struct problem *problem, struct sha256 *hash);
