/* Priors of a problem file: reading, checking, and what they do to bounds and to the problem's identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_PROBLEM_PRIOR_H
#define IO_PROBLEM_PRIOR_H

#include "base/error.h"

#include <stddef.h>

struct problem;
struct sha256;

enum prior_number { PRIOR_LOCATION, PRIOR_SCALE, PRIOR_LOWER, PRIOR_UPPER, N_PRIOR_NUMBER };

/* /parameters/prior and its companions as they are in the file; NULL: absent. */
struct problem_prior_tables {
    const char *const *kind, *const *on;
    size_t n_kind, n_on;
    double *number[N_PRIOR_NUMBER];
    size_t n_number[N_PRIOR_NUMBER];
};

/* At problem_open; faults are added to the problem's list. */
enum status problem_open_priors(struct problem *problem, struct error *error);
/* Once parameters and scales are known. */
enum status problem_match_priors(struct problem *problem, struct error *error);
/* Uniform priors as bounds of one dataset, n_parameter each. */
void problem_tighten_bounds(const struct problem *problem, double *lower, double *upper);
void problem_hash_priors(const struct problem *problem, struct sha256 *hash);

#endif
