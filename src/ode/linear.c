/* Which linear solver a model gets, and the one interface to all three.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/linear.h"

#include "model/shared_object.h"
#include "ode/dense.h"
#include "ode/sparse.h"

#include <stdlib.h>
#include <string.h>

/* Microseconds of linear algebra in a step with 10 sensitivities (scripts/bench/bench_ode_crossover.c measures
 * them again; AMD EPYC, OpenBLAS 0.3.21, KLU 1.3.8), KLU for random patterns with these entries of its factors
 * over n^2:
 *
 *      n   dense  lapack    klu (fill)
 *      8    0.51    0.83    0.47 (53 %)
 *     16    1.32    2.07    0.96 (44 %)     1.52 (78 %)
 *     32    4.07    6.45    1.97 (27 %)     3.79 (58 %)     6.41 (84 %)
 *     64    16.5    19.8    4.33 (15 %)     14.9 (50 %)     29.2 (73 %)
 *     96    47.5    38.3    6.86 (11 %)     34.7 (44 %)     87.7 (70 %)
 *    128     109    74.4    12.6 (13 %)     81.6 (43 %)      183 (67 %)
 *    256     728     395    38.3  (9 %)      437 (36 %)     1225 (62 %)
 */
enum { LAPACK_FROM = 72, KLU_FROM = 10, KLU_LARGE = 96 };
#define KLU_FILL 0.5
#define KLU_FILL_LARGE 0.3

typedef void lapack_factor_function(const int *m, const int *n, double *a, const int *lda, int *pivot, int *info);
typedef void lapack_solve_function(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
                                   const int *pivot, double *b, const int *ldb, int *info, size_t trans_length);
typedef void blas_multiply_function(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                                    const double *alpha, const double *a, const int *lda, const double *b,
                                    const int *ldb, const double *beta, double *c, const int *ldc, size_t ta_length,
                                    size_t tb_length);

struct linear_plan {
    enum linear_solver_kind kind;
    size_t n, n_jacobian;
    struct sparse_plan *sparse;
    void *library;
    lapack_factor_function *dgetrf;
    lapack_solve_function *dgetrs;
    blas_multiply_function *dgemm;
};

struct linear {
    const struct linear_plan *plan;
    double *jacobian, *factors;
    int *pivot;
    struct sparse *sparse;
};

/* ISO C has no conversion between the two kinds of pointers; POSIX says that they look the same. */
#define ASSIGN_FUNCTION(target, address) \
    do { \
        void *address_ = (address); \
        memcpy(&(target), &address_, sizeof address_); \
    } while (0)

static enum status load_lapack(struct linear_plan *plan, struct error *error)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !plan->library; i++)
        plan->library = shared_object_open(names[i], error);
    if (!plan->library)
        return error_context(error, "the linear solver lapack needs OpenBLAS");
    ASSIGN_FUNCTION(plan->dgetrf, shared_object_symbol(plan->library, "dgetrf_"));
    ASSIGN_FUNCTION(plan->dgetrs, shared_object_symbol(plan->library, "dgetrs_"));
    ASSIGN_FUNCTION(plan->dgemm, shared_object_symbol(plan->library, "dgemm_"));
    if (!plan->dgetrf || !plan->dgetrs || !plan->dgemm)
        return error_set(error, STATUS_SYSTEM, "libopenblas has no dgetrf, dgetrs or dgemm: use --linear-solver dense");
    return STATUS_OK;
}

static bool klu_pays(const struct linear_plan *plan)
{
    return plan->n >= KLU_FROM && linear_plan_fill(plan) <= (plan->n < KLU_LARGE ? KLU_FILL : KLU_FILL_LARGE);
}

static enum status choose(struct linear_plan *plan, const struct stiffit_model *abi, int requested, struct error *error)
{
    plan->n = abi->n_state;
    plan->n_jacobian = plan->n * plan->n;
    if (plan->n == 0)
        return STATUS_OK;
    if (requested == LINEAR_KLU && !abi->jacobian_sparse)
        return error_set(error, STATUS_BAD_MODEL, "the linear solver klu needs a model with a sparse Jacobian, and "
                                                  "this one has none: use --linear-solver auto");
    if (abi->jacobian_sparse && (requested == LINEAR_KLU || (requested == LINEAR_AUTO && plan->n >= KLU_FROM))) {
        plan->sparse = sparse_plan_new(abi, error);
        if (!plan->sparse)
            return error ? error->status : STATUS_NO_MEMORY;
        if (requested == LINEAR_KLU || klu_pays(plan)) {
            plan->kind = LINEAR_KLU;
            plan->n_jacobian = abi->n_nonzero;
            return STATUS_OK;
        }
        sparse_plan_free(plan->sparse);
        plan->sparse = NULL;
    }
    if (requested == LINEAR_LAPACK || (requested == LINEAR_AUTO && plan->n >= LAPACK_FROM)) {
        struct error ignored;
        enum status status = load_lapack(plan, requested == LINEAR_LAPACK ? error : &ignored);
        if (status == STATUS_OK)
            plan->kind = LINEAR_LAPACK;
        else if (requested == LINEAR_LAPACK)
            return status;
    }
    return STATUS_OK;
}

struct linear_plan *linear_plan_new(const struct stiffit_model *abi, int requested, struct error *error)
{
    struct linear_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        error_set(error, STATUS_NO_MEMORY, "no memory for the linear solver");
        return NULL;
    }
    plan->kind = LINEAR_DENSE;
    if (choose(plan, abi, requested, error) == STATUS_OK)
        return plan;
    linear_plan_free(plan);
    return NULL;
}

void linear_plan_free(struct linear_plan *plan)
{
    if (!plan)
        return;
    sparse_plan_free(plan->sparse);
    shared_object_close(plan->library);
    free(plan);
}

double linear_plan_fill(const struct linear_plan *plan)
{
    double n = (double)plan->n;
    return plan->sparse ? (double)sparse_plan_n_factor(plan->sparse) / (n * n) : 1;
}

enum linear_solver_kind linear_plan_kind(const struct linear_plan *plan) { return plan->kind; }

struct linear *linear_new(const struct linear_plan *plan)
{
    struct linear *linear = calloc(1, sizeof *linear);
    if (!linear)
        return NULL;
    linear->plan = plan;
    linear->jacobian = calloc(plan->n_jacobian + 1, sizeof(double));
    bool complete = linear->jacobian;
    if (plan->kind == LINEAR_KLU) {
        linear->sparse = sparse_new(plan->sparse);
        complete = complete && linear->sparse;
    } else {
        linear->factors = calloc(plan->n_jacobian + 1, sizeof(double));
        linear->pivot = calloc(plan->n + 1, sizeof(int));
        complete = complete && linear->factors && linear->pivot;
    }
    if (complete)
        return linear;
    linear_free(linear);
    return NULL;
}

void linear_free(struct linear *linear)
{
    if (!linear)
        return;
    free(linear->jacobian);
    free(linear->factors);
    free(linear->pivot);
    sparse_free(linear->sparse);
    free(linear);
}

void linear_begin(struct linear *linear)
{
    if (linear->sparse)
        sparse_begin(linear->sparse);
}

double *linear_jacobian(struct linear *linear) { return linear->jacobian; }

enum linear_result linear_factor(struct linear *linear, double gamma)
{
    const struct linear_plan *plan = linear->plan;
    size_t n = plan->n;
    if (plan->kind == LINEAR_KLU)
        return sparse_factor(linear->sparse, linear->jacobian, gamma);
    const double *restrict jacobian = linear->jacobian;
    double *restrict factors = linear->factors;
    for (size_t i = 0; i < n * n; i++)
        factors[i] = -gamma * jacobian[i];
    for (size_t i = 0; i < n; i++)
        factors[i + i * n] += 1;
    if (plan->kind == LINEAR_DENSE)
        return dense_factor(factors, n, linear->pivot) ? LINEAR_OK : LINEAR_SINGULAR;
    int size = (int)n, info = 0;
    plan->dgetrf(&size, &size, factors, &size, linear->pivot, &info);
    return info == 0 ? LINEAR_OK : LINEAR_SINGULAR;
}

enum linear_result linear_solve(struct linear *linear, double *b, size_t n_column)
{
    const struct linear_plan *plan = linear->plan;
    if (plan->kind == LINEAR_KLU)
        return sparse_solve(linear->sparse, b, n_column);
    if (plan->kind == LINEAR_DENSE) {
        dense_solve(linear->factors, plan->n, linear->pivot, b, n_column);
        return LINEAR_OK;
    }
    int size = (int)plan->n, columns = (int)n_column, info = 0;
    plan->dgetrs("N", &size, &columns, linear->factors, &size, linear->pivot, b, &size, &info, 1);
    return info == 0 ? LINEAR_OK : LINEAR_SINGULAR;
}

static enum linear_result solve_transposed(const struct linear_plan *plan, const double *factors, const int *pivot,
                                           double *b)
{
    if (plan->kind == LINEAR_DENSE) {
        dense_solve_transposed(factors, plan->n, pivot, b);
        return LINEAR_OK;
    }
    int size = (int)plan->n, one = 1, info = 0;
    plan->dgetrs("T", &size, &one, factors, &size, pivot, b, &size, &info, 1);
    return info == 0 ? LINEAR_OK : LINEAR_SINGULAR;
}

enum linear_result linear_solve_transposed(struct linear *linear, double *b)
{
    if (linear->plan->kind == LINEAR_KLU)
        return sparse_solve_transposed(linear->sparse, b);
    return solve_transposed(linear->plan, linear->factors, linear->pivot, b);
}

size_t linear_kept_length(const struct linear *linear)
{
    size_t n = linear->plan->n;
    return linear->plan->kind == LINEAR_KLU ? 0 : n * n + n; /* a pivot in the place of a double */
}

void linear_keep(const struct linear *linear, double *kept)
{
    size_t n = linear->plan->n;
    memcpy(kept, linear->factors, n * n * sizeof(double));
    memcpy(kept + n * n, linear->pivot, n * sizeof(int));
}

enum linear_result linear_solve_transposed_kept(const struct linear *linear, const double *kept, double *b)
{
    size_t n = linear->plan->n;
    return solve_transposed(linear->plan, kept, (const int *)(const void *)(kept + n * n), b);
}

void linear_multiply(struct linear *linear, const double *x, double *y, size_t n_column)
{
    const struct linear_plan *plan = linear->plan;
    if (plan->kind == LINEAR_KLU) {
        sparse_multiply(plan->sparse, linear->jacobian, x, y, n_column);
    } else if (plan->kind == LINEAR_DENSE) {
        dense_multiply(linear->jacobian, plan->n, x, y, n_column);
    } else {
        int size = (int)plan->n, columns = (int)n_column;
        const double one = 1, zero = 0;
        plan->dgemm("N", "N", &size, &columns, &size, &one, linear->jacobian, &size, x, &size, &zero, y, &size, 1, 1);
    }
}

void linear_multiply_transposed(struct linear *linear, const double *x, double *y)
{
    const struct linear_plan *plan = linear->plan;
    if (plan->kind == LINEAR_KLU)
        sparse_multiply_transposed(plan->sparse, linear->jacobian, x, y);
    else
        dense_multiply_transposed(linear->jacobian, plan->n, plan->n, x, y);
}
