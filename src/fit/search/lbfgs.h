/* libLBFGS in a linearly transformed subspace. The client sees every trial before libLBFGS gets
 * its value, may stop at any trial, and never relies on the return value of libLBFGS. The only
 * user of lbfgs.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lbfgs_search {
    size_t n;                 /* variables of the subspace, > 0 */
    const double *origin;     /* n: the start */
    const double *gradient;   /* n: the gradient there (never evaluated again) */
    double f;                 /* the objective there */
    /* n x n, lower triangle L, column-major: x = origin + s L^-T z, so that L L' is the first
     * guess of the Hessian and the first trial is the Newton step; NULL: it is */
    const double *factor;
    const double *diagonal;   /* n: diagonal, positive */
    /* Evaluates the objective at x; infinite, with a zero gradient: it cannot be evaluated.
     * False stops the search, and f and gradient are ignored. */
    bool (*trial)(void *context, const double *x, double *f, double *gradient);
    /* The latest trial has ended a line search. False stops the search. */
    bool (*accepted)(void *context);
    void *context;
    /* number of corrections stored, >= 1; more than the number of iterations is a waste */
    int memory;
    double *scratch;          /* lbfgs_scratch(n) doubles, 64-byte aligned */
};

enum lbfgs_end { LBFGS_STOPPED, LBFGS_GAVE_UP, LBFGS_NO_MEMORY };

size_t lbfgs_scratch(size_t n);
/* Runs until the client stops it or libLBFGS finds no further point. Memory of libLBFGS is freed
 * on return. */
enum lbfgs_end lbfgs_search_run(const struct lbfgs_search *search);
