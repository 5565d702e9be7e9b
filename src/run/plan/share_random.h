/* Which parameters are random, and which of these are correlated with each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem/problem.h"
#include "run/plan/run_options.h"

#include <stddef.h>
#include <stdint.h>

struct share_random {
    size_t n;         /* 0: none, and all else is NULL */
    uint8_t *block;   /* of each parameter: 0, or the number of joint_levels.random */
    uint8_t *occasion; /* of each parameter: it varies between the experiments of a dataset; NULL:
                        * none does */
    char *text;       /* NAME[,NAME...], in the problem's order, then NAME@experiment */
    char *covariance; /* as --random-covariance, in that order; NULL: full */
};

/* From marked parameters, those that vary between experiments, and --random-covariance (NULL:
 * full). share_random_fini is legal after a failure. */
enum status share_random_init(struct share_random *random, const bool *is_random,
                              const bool *varies, const char *const *names, size_t n_parameter,
                              const char *covariance, struct error *error);
void share_random_fini(struct share_random *random);
/* STATUS_USAGE for options that are not possible with random parameters (yet) and, without any, for
 * those of random ones alone. */
enum status share_random_check_options(const struct share_random *random,
                                       const struct run_options *options, struct error *error);
/* STATUS_USAGE for a random parameter that is fixed in some datasets and free in others, and for a
 * free one that is neither random nor shared by all datasets (`level` as in struct share). After
 * problem_validate. */
enum status share_random_check_problem(const struct share_random *random, const uint8_t *level,
                                       const struct problem *problem, struct error *error);
