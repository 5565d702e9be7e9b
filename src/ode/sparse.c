/* Sparse factorisations by KLU (Davis & Palamadai Natarajan 2010): analysed once per pool, factored with fresh
 * pivots at an evaluation's first set-up and whenever the old pivots have become bad, refactored with the same
 * pivots otherwise. KLU allocates in klu_factor, so each evaluation costs one allocation of its numeric object.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/sparse.h"

#include <float.h>
#include <klu.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    const struct sparse_plan *plan;
    double *values;
    klu_numeric *numeric;
    klu_common common;
    bool fresh; /* the next factorisation chooses its pivots */
};

void sparse_plan_free(struct sparse_plan *plan)
{
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

struct sparse_plan *sparse_plan_new(const struct stiffit_model *abi, struct error *error)
{
    struct sparse_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        goto out_of_memory;
    size_t n = abi->n_state, n_nonzero = abi->n_nonzero;
    *plan = (struct sparse_plan){.n = n, .n_jacobian = n_nonzero, .jacobian_start = abi->column_start,
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
    if (plan->symbolic)
        return plan;
    if (plan->common.status != KLU_OUT_OF_MEMORY) {
        error_set(error, STATUS_BAD_MODEL, "KLU cannot analyse the pattern of the model's sparse Jacobian");
        sparse_plan_free(plan);
        return NULL;
    }
out_of_memory:
    error_set(error, STATUS_NO_MEMORY, "no memory to analyse the sparse Jacobian of %u states", (unsigned)abi->n_state);
    sparse_plan_free(plan);
    return NULL;
}

size_t sparse_plan_n_factor(const struct sparse_plan *plan)
{
    double n_factor = plan->symbolic->lnz + plan->symbolic->unz;
    return n_factor > 0 ? (size_t)n_factor : plan->n_entry; /* unknown (below 0) with some orderings */
}

struct sparse *sparse_new(const struct sparse_plan *plan)
{
    struct sparse *sparse = calloc(1, sizeof *sparse);
    if (!sparse)
        return NULL;
    sparse->plan = plan;
    sparse->fresh = true;
    sparse->values = calloc(plan->n_entry + 1, sizeof(double));
    klu_defaults(&sparse->common);
    if (!sparse->values) {
        free(sparse);
        return NULL;
    }
    return sparse;
}

void sparse_free(struct sparse *sparse)
{
    if (!sparse)
        return;
    if (sparse->numeric)
        klu_free_numeric(&sparse->numeric, &sparse->common);
    free(sparse->values);
    free(sparse);
}

void sparse_begin(struct sparse *sparse) { sparse->fresh = true; }

static enum linear_result factor_anew(struct sparse *sparse)
{
    const struct sparse_plan *plan = sparse->plan;
    if (sparse->numeric)
        klu_free_numeric(&sparse->numeric, &sparse->common);
    sparse->numeric = klu_factor(plan->start, plan->row, sparse->values, plan->symbolic, &sparse->common);
    if (!sparse->numeric)
        return sparse->common.status == KLU_OUT_OF_MEMORY ? LINEAR_NO_MEMORY : LINEAR_SINGULAR;
    sparse->fresh = sparse->common.status != KLU_OK;
    return sparse->fresh ? LINEAR_SINGULAR : LINEAR_OK;
}

enum linear_result sparse_factor(struct sparse *sparse, const double *jacobian, double gamma)
{
    const struct sparse_plan *plan = sparse->plan;
    double *values = sparse->values;
    memset(values, 0, plan->n_entry * sizeof(double));
    for (size_t k = 0; k < plan->n_jacobian; k++)
        values[plan->place[k]] = -gamma * jacobian[k];
    for (size_t j = 0; j < plan->n; j++)
        values[plan->diagonal[j]] += 1;
    if (sparse->fresh || !sparse->numeric)
        return factor_anew(sparse);
    klu_symbolic *symbolic = plan->symbolic;
    if (!klu_refactor(plan->start, plan->row, values, symbolic, sparse->numeric, &sparse->common) ||
        sparse->common.status != KLU_OK)
        return factor_anew(sparse);
    /* Old pivots that are tiny now would cost digits: the same limit as SUNDIALS' own interface to KLU. */
    klu_rcond(symbolic, sparse->numeric, &sparse->common);
    if (sparse->common.rcond < cbrt(DBL_EPSILON) * cbrt(DBL_EPSILON))
        return factor_anew(sparse);
    return LINEAR_OK;
}

enum linear_result sparse_solve(struct sparse *sparse, double *b, size_t n_column)
{
    int n = (int)sparse->plan->n;
    if (!klu_solve(sparse->plan->symbolic, sparse->numeric, n, (int)n_column, b, &sparse->common))
        return LINEAR_SINGULAR;
    return LINEAR_OK;
}

void sparse_multiply(const struct sparse_plan *plan, const double *jacobian, const double *x, double *y,
                     size_t n_column)
{
    size_t n = plan->n;
    memset(y, 0, n * n_column * sizeof(double));
    for (size_t c = 0; c < n_column; c++, x += n, y += n)
        for (size_t j = 0; j < n; j++)
            for (int32_t k = plan->jacobian_start[j]; k < plan->jacobian_start[j + 1]; k++)
                y[plan->jacobian_row[k]] += jacobian[k] * x[j];
}

enum linear_result sparse_solve_transposed(struct sparse *sparse, double *b)
{
    int n = (int)sparse->plan->n;
    return klu_tsolve(sparse->plan->symbolic, sparse->numeric, n, 1, b, &sparse->common) ? LINEAR_OK : LINEAR_SINGULAR;
}

void sparse_multiply_transposed(const struct sparse_plan *plan, const double *jacobian, const double *x, double *y)
{
    for (size_t j = 0; j < plan->n; j++) {
        y[j] = 0;
        for (int32_t k = plan->jacobian_start[j]; k < plan->jacobian_start[j + 1]; k++)
            y[j] += jacobian[k] * x[plan->jacobian_row[k]];
    }
}
