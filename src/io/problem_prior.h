/* Priors of a problem file, or of its model: reads and checks them, and applies them to bounds
 * and to the problem's identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "base/prior.h"

#include <stdbool.h>
#include <stddef.h>

struct problem;
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
const struct problem_prior *problem_prior(const struct problem *problem); /* n_parameter, or NULL */

enum prior_number { PRIOR_LOCATION, PRIOR_SCALE, PRIOR_LOWER, PRIOR_UPPER, N_PRIOR_NUMBER };

/* /parameters/prior and its companions, as in the file; NULL: absent. */
struct problem_prior_tables {
    const char *const *kind, *const *on;
    size_t n_kind, n_on;
    double *number[N_PRIOR_NUMBER];
    size_t n_number[N_PRIOR_NUMBER];
};

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
