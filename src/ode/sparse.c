/* Sparse factorisations by KLU (Davis & Palamadai Natarajan 2010): analysed once per pool;
 * factored with new pivots at an evaluation's first set-up and when the old pivots have become
 * bad; otherwise refactored with the same pivots. klu_factor allocates, so each evaluation costs
 * one allocation of its numeric object.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/linear_solver.h"

#include <float.h>
#include <klu.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits for size and fill from which KLU is faster than the dense solvers (table in linear.c). */
enum { KLU_FROM = 10, KLU_LARGE = 96 };
#define KLU_FILL 0.5
#define KLU_FILL_LARGE 0.3

/* The pattern of M and its symbolic analysis. */
struct sparse_plan {
    size_t n, n_jacobian, n_entry;
    const int32_t *jacobian_start, *jacobian_row; /* the model's */
    int *start, *row;                             /* pattern of M: J's and the diagonal */
    int *place;                                   /* J's entry k is M's entry place[k] */
    int *diagonal;                                /* n places */
    klu_symbolic *symbolic;
    klu_common common;
};

struct sparse {
    double *values;
    klu_numeric *numeric;
    klu_common common;
    bool fresh; /* the next factorisation chooses its pivots */
};

static void plan_fini(struct linear_plan *linear_plan)
{
    struct sparse_plan *plan = linear_plan->own;
    if (!plan)
        return;
    if (plan->symbolic)
        klu_free_symbolic(&plan->symbolic, &plan->common);
    free(plan->start);
    free(plan->row);
    free(plan->place);
    free(plan->diagonal);
    free(plan);
}

static void add_diagonal(struct sparse_plan *plan)
{
    int n_entry = 0;
    for (size_t j = 0; j < plan->n; j++) {
        bool done = false;
        plan->start[j] = n_entry;
        for (int32_t k = plan->jacobian_start[j]; k < plan->jacobian_start[j + 1]; k++) {
            int32_t i = plan->jacobian_row[k];
            if (!done && i >= (int32_t)j) {
                plan->diagonal[j] = n_entry;
                if (i != (int32_t)j)
                    plan->row[n_entry++] = (int)j;
                done = true;
            }
            plan->place[k] = n_entry;
            plan->row[n_entry++] = i;
        }
        if (!done) {
            plan->diagonal[j] = n_entry;
            plan->row[n_entry++] = (int)j;
        }
    }
    plan->start[plan->n] = n_entry;
    plan->n_entry = (size_t)n_entry;
}

static enum status plan_init(struct linear_plan *linear_plan, const struct stiffit_model *abi,
                             struct error *error)
{
    if (!abi->jacobian_sparse)
        return error_set(error, STATUS_BAD_MODEL,
                         "the linear solver klu needs a model with a sparse Jacobian, and "
                         "this one has none: use --linear-solver auto");
    struct sparse_plan *plan = linear_plan->own = calloc(1, sizeof *plan);
    if (!plan)
        goto out_of_memory;
    size_t n = abi->n_state, n_nonzero = abi->n_nonzero;
    *plan = (struct sparse_plan){.n = n,
                                 .n_jacobian = n_nonzero, .jacobian_start = abi->column_start,
                                 .jacobian_row = abi->row_index};
    plan->start = malloc((n + 1) * sizeof(int));
    plan->row = malloc((n + n_nonzero) * sizeof(int));
    plan->place = malloc((n_nonzero + 1) * sizeof(int));
    plan->diagonal = malloc(n * sizeof(int));
    if (!plan->start || !plan->row || !plan->place || !plan->diagonal)
        goto out_of_memory;
    add_diagonal(plan);
    klu_defaults(&plan->common);
    plan->symbolic = klu_analyze((int)n, plan->start, plan->row, &plan->common);
    if (plan->symbolic) {
        /* below 0 (unknown) with some orderings */
        double n_factor = plan->symbolic->lnz + plan->symbolic->unz;
        linear_plan->n_jacobian = n_nonzero;
        linear_plan->fill =
            (n_factor > 0 ? floor(n_factor) : (double)plan->n_entry) / ((double)n * (double)n);
        return STATUS_OK;
    }
    if (plan->common.status != KLU_OUT_OF_MEMORY)
        return error_set(error, STATUS_BAD_MODEL,
                         "KLU cannot analyse the pattern of the model's sparse Jacobian");
out_of_memory:
    return error_set(error, STATUS_NO_MEMORY,
                     "no memory to analyse the sparse Jacobian of %u states",
                     (unsigned)abi->n_state);
}

static bool suits(const struct stiffit_model *abi)
{
    return abi->jacobian_sparse && abi->n_state >= KLU_FROM;
}

static bool pays(const struct linear_plan *plan)
{
    return plan->fill <= (plan->n < KLU_LARGE ? KLU_FILL : KLU_FILL_LARGE);
}

static bool sparse_new(struct linear *linear)
{
    const struct sparse_plan *plan = linear->plan->own;
    struct sparse *sparse = linear->own = calloc(1, sizeof *sparse);
    if (!sparse)
        return false;
    sparse->fresh = true;
    sparse->values = calloc(plan->n_entry + 1, sizeof(double));
    klu_defaults(&sparse->common);
    return sparse->values;
}

static void sparse_fini(struct linear *linear)
{
    struct sparse *sparse = linear->own;
    if (sparse && sparse->numeric)
        klu_free_numeric(&sparse->numeric, &sparse->common);
    if (sparse)
        free(sparse->values);
    free(sparse);
}

/* The next factorisation chooses its pivots: a refactorisation would use those of an earlier
 * evaluation. */
static void begin(struct linear *linear) { ((struct sparse *)linear->own)->fresh = true; }

static enum linear_result factor_anew(const struct sparse_plan *plan, struct sparse *sparse)
{
    if (sparse->numeric)
        klu_free_numeric(&sparse->numeric, &sparse->common);
    sparse->numeric =
        klu_factor(plan->start, plan->row, sparse->values, plan->symbolic, &sparse->common);
    if (!sparse->numeric)
        return sparse->common.status == KLU_OUT_OF_MEMORY ? LINEAR_NO_MEMORY : LINEAR_SINGULAR;
    sparse->fresh = sparse->common.status != KLU_OK;
    return sparse->fresh ? LINEAR_SINGULAR : LINEAR_OK;
}

static enum linear_result factor(struct linear *linear, double gamma)
{
    const struct sparse_plan *plan = linear->plan->own;
    struct sparse *sparse = linear->own;
    double *values = sparse->values;
    memset(values, 0, plan->n_entry * sizeof(double));
    for (size_t k = 0; k < plan->n_jacobian; k++)
        values[plan->place[k]] = -gamma * linear->jacobian[k];
    for (size_t j = 0; j < plan->n; j++)
        values[plan->diagonal[j]] += 1;
    if (sparse->fresh || !sparse->numeric)
        return factor_anew(plan, sparse);
    klu_symbolic *symbolic = plan->symbolic;
    if (!klu_refactor(plan->start, plan->row, values, symbolic, sparse->numeric, &sparse->common) ||
        sparse->common.status != KLU_OK)
        return factor_anew(plan, sparse);
    /* Old pivots that have become tiny would cost digits; the limit is that of SUNDIALS' own
     * interface to KLU. */
    klu_rcond(symbolic, sparse->numeric, &sparse->common);
    if (sparse->common.rcond < cbrt(DBL_EPSILON) * cbrt(DBL_EPSILON))
        return factor_anew(plan, sparse);
    return LINEAR_OK;
}

static enum linear_result solve(struct linear *linear, double *b, size_t n_column)
{
    const struct sparse_plan *plan = linear->plan->own;
    struct sparse *sparse = linear->own;
    bool solved =
        klu_solve(plan->symbolic, sparse->numeric, (int)plan->n, (int)n_column, b, &sparse->common);
    return solved ? LINEAR_OK : LINEAR_SINGULAR;
}

static enum linear_result solve_transposed(const struct linear *linear, const double *factors,
                                           const int *pivot, double *b)
{
    const struct sparse_plan *plan = linear->plan->own;
    struct sparse *sparse = linear->own;
    (void)factors, (void)pivot; /* its own are in `numeric` */
    return klu_tsolve(plan->symbolic, sparse->numeric, (int)plan->n, 1, b, &sparse->common)
               ? LINEAR_OK
               : LINEAR_SINGULAR;
}

static void multiply(const struct linear *linear, const double *x, double *y, size_t n_column)
{
    const struct sparse_plan *plan = linear->plan->own;
    size_t n = plan->n;
    memset(y, 0, n * n_column * sizeof(double));
    for (size_t c = 0; c < n_column; c++, x += n, y += n)
        for (size_t j = 0; j < n; j++)
            for (int32_t k = plan->jacobian_start[j]; k < plan->jacobian_start[j + 1]; k++)
                y[plan->jacobian_row[k]] += linear->jacobian[k] * x[j];
}

static void multiply_transposed(const struct linear *linear, const double *x, double *y)
{
    const struct sparse_plan *plan = linear->plan->own;
    for (size_t j = 0; j < plan->n; j++) {
        y[j] = 0;
        for (int32_t k = plan->jacobian_start[j]; k < plan->jacobian_start[j + 1]; k++)
            y[j] += linear->jacobian[k] * x[plan->jacobian_row[k]];
    }
}

const struct linear_solver klu_solver = {.is_sparse = true,
                                         .suits = suits, .plan = plan_init, .pays = pays,
                                         .plan_fini = plan_fini, .new = sparse_new,
                                         .fini = sparse_fini, .begin = begin, .factor = factor,
                                         .solve = solve, .solve_transposed = solve_transposed,
                                         .multiply = multiply,
                                         .multiply_transposed = multiply_transposed};
