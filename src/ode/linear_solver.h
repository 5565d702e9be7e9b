/* A linear solver as a row of functions, for the files that have one. A new one is a file with
 * its row, and a line of LINEAR_SOLVER_LIST (evaluation.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/linear.h"

struct linear_plan {
    enum linear_solver_kind kind;
    size_t n, n_jacobian; /* numbers of J: n x n, or those of a sparse pattern */
    double fill;          /* number of entries of the factors over n x n */
    void *own;            /* the solver's: shared, read-only */
};

struct linear {
    const struct linear_plan *plan;
    const struct linear_solver *solver;
    double *jacobian;
    double *factors; /* dense ones, which can be stored, and their pivots; otherwise NULL */
    int *pivot;
    void *own;
};

/* The functions `new` to the multiplications do what linear.h says of those names. NULL: nothing
 * to do. */
struct linear_solver {
    bool is_sparse; /* J is the values of the model's pattern */
    /* whether a plan is worth trying if no solver was requested; NULL: it is not */
    bool (*suits)(const struct stiffit_model *abi);
    /* Fills n_jacobian, fill and own if they differ from those of dense matrices. STATUS_SYSTEM:
     * a library is missing. */
    enum status (*plan)(struct linear_plan *plan, const struct stiffit_model *abi,
                        struct error *error);
    bool (*pays)(const struct linear_plan *plan); /* whether it is faster than the others */
    void (*plan_fini)(struct linear_plan *plan);
    bool (*new)(struct linear *linear); /* false: out of memory */
    void (*fini)(struct linear *linear);
    void (*begin)(struct linear *linear);
    enum linear_result (*factor)(struct linear *linear, double gamma);
    enum linear_result (*solve)(struct linear *linear, double *b, size_t n_column);
    enum linear_result (*solve_transposed)(const struct linear *linear, const double *factors,
                                           const int *pivot, double *b);
    void (*multiply)(const struct linear *linear, const double *x, double *y, size_t n_column);
    void (*multiply_transposed)(const struct linear *linear, const double *x, double *y);
};

#define LINEAR_SOLVER_ROW(id, word, row) extern const struct linear_solver row;
LINEAR_SOLVER_LIST(LINEAR_SOLVER_ROW)
#undef LINEAR_SOLVER_ROW
