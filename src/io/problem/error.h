/* Error distributions in problem files. Internal to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem/problem.h"

struct sha256;

/* Arrays have one entry for each observable of the model. */
struct problem_errors {
    enum error_kind *kind;    /* the distribution in effect */
    int *own;                 /* the file's own word, or -1 */
    enum error_kind fallback; /* of the expectation */
    /* what needs every standard deviation to be known, such as "--error huber"; NULL: nothing */
    const char *sigma_for;
};

/* After the observables have been matched: fills problem->errors, and sigma_for if they need
 * every sigma. */
enum status problem_match_errors(struct problem *problem,
                                 const struct problem_expectation *expectation,
                                 struct error *error);
void problem_hash_errors(const struct problem *problem, struct sha256 *hash);
/* Adds a fault for each censored measurement of the block whose error distribution does not
 * allow censoring. */
void problem_check_censored(struct problem *problem, const struct problem_block *block);
