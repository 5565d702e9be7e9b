/* --random-deviation: the covariance of random parameters at which a search begins, or that of an
 * evaluation. Separate from which parameters are random.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* On the optimiser's scale; all NULL: nothing is given. */
struct share_deviation {
    double *deviation;     /* n_parameter: standard deviations; NaN: not given */
    double *by_experiment; /* n_parameter: those between experiments of a dataset; NaN: not given */
    double *correlation;   /* n_parameter x n_parameter; 0: not given */
    char *text;            /* as --random-deviation, in the problem's order */
};

struct share_random;

/* From "k=0.3,V=0.2,k.V=0.5,k@experiment=0.1": deviations, and correlations of two. text NULL:
 * nothing. STATUS_USAGE: what it names is not random, or numbers are impossible.
 * share_deviation_fini is legal after a failure. */
enum status share_deviation_init(struct share_deviation *deviation,
                                 const struct share_random *random, const char *const *names,
                                 size_t n_parameter, const char *text, struct error *error);
void share_deviation_fini(struct share_deviation *deviation);
/* The first random parameter without a deviation, or "NAME@experiment" in `room` (200 bytes); NULL:
 * all have one. */
const char *share_deviation_lacks(const struct share_deviation *deviation,
                                  const struct share_random *random, const char *const *names,
                                  size_t n_parameter, char *room);
