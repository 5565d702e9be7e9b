/* Chooses a model's linear solver; the interface common to all solvers; the two dense ones (our
 * own LU, LAPACK).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/linear.h"

#include "model/build/shared_object.h"
#include "ode/dense.h"
#include "ode/linear_solver.h"

#include <stdlib.h>
#include <string.h>

/* Microseconds of linear algebra in a step with 10 sensitivities (measured by
 * scripts/bench/bench_ode_crossover.c; AMD EPYC, OpenBLAS 0.3.21, KLU 1.3.8). KLU: random
 * patterns; fill is the number of entries of the factors over n^2. KLU's limits are in sparse.c.
 *
 *      n   dense  lapack    klu (fill)
 *      8    0.51    0.83    0.47 (53 %)
 *     16    1.32    2.07    0.96 (44 %)     1.52 (78 %)
 *     32    4.07    6.45    1.97 (27 %)     3.79 (58 %)     6.41 (84 %)
 *     64    16.5    19.8    4.33 (15 %)     14.9 (50 %)     29.2 (73 %)
 *     96    47.5    38.3    6.86 (11 %)     34.7 (44 %)     87.7 (70 %)
 *    128     109    74.4    12.6 (13 %)     81.6 (43 %)      183 (67 %)
 *    256     728     395    38.3  (9 %)      437 (36 %)     1225 (62 %) */
enum { LAPACK_FROM = 72 };

typedef void lapack_factor_function(const int *m, const int *n, double *a, const int *lda,
                                    int *pivot, int *info);
typedef void lapack_solve_function(const char *trans, const int *n, const int *nrhs,
                                   const double *a, const int *lda, const int *pivot, double *b,
                                   const int *ldb, int *info, size_t trans_length);
typedef void blas_multiply_function(const char *ta, const char *tb, const int *m, const int *n,
                                    const int *k, const double *alpha, const double *a,
                                    const int *lda, const double *b, const int *ldb,
                                    const double *beta, double *c, const int *ldc, size_t ta_length,
                                    size_t tb_length);

/* OpenBLAS, for a plan that uses it. */
struct lapack {
    void *library;
    lapack_factor_function *dgetrf;
    lapack_solve_function *dgetrs;
    blas_multiply_function *dgemm;
};

/* ISO C does not convert between object and function pointers; POSIX guarantees the same
 * representation. */
#define ASSIGN_FUNCTION(target, address) \
    do { \
        void *address_ = (address); \
        memcpy(&(target), &address_, sizeof address_); \
    } while (0)

static enum status lapack_plan(struct linear_plan *plan, const struct stiffit_model *abi,
                               struct error *error)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    struct lapack *lapack = plan->own = calloc(1, sizeof *lapack);
    (void)abi;
    if (!lapack)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the linear solver");
    for (size_t i = 0; i < sizeof names / sizeof *names && !lapack->library; i++)
        lapack->library = shared_object_open(names[i], error);
    if (!lapack->library)
        return error_context(error, "the linear solver lapack needs OpenBLAS");
    ASSIGN_FUNCTION(lapack->dgetrf, shared_object_symbol(lapack->library, "dgetrf_"));
    ASSIGN_FUNCTION(lapack->dgetrs, shared_object_symbol(lapack->library, "dgetrs_"));
    ASSIGN_FUNCTION(lapack->dgemm, shared_object_symbol(lapack->library, "dgemm_"));
    if (!lapack->dgetrf || !lapack->dgetrs || !lapack->dgemm)
        return error_set(error, STATUS_SYSTEM,
                         "libopenblas has no dgetrf, dgetrs or dgemm: use --linear-solver dense");
    return STATUS_OK;
}

static void lapack_plan_fini(struct linear_plan *plan)
{
    struct lapack *lapack = plan->own;
    if (lapack)
        shared_object_close(lapack->library);
    free(lapack);
}

static bool lapack_suits(const struct stiffit_model *abi) { return abi->n_state >= LAPACK_FROM; }

/* Allocates the factors and pivots of a dense M. */
static bool dense_new(struct linear *linear)
{
    const struct linear_plan *plan = linear->plan;
    linear->factors = calloc(plan->n_jacobian + 1, sizeof(double));
    linear->pivot = calloc(plan->n + 1, sizeof(int));
    return linear->factors && linear->pivot;
}

static void put_matrix(struct linear *linear, double gamma)
{
    size_t n = linear->plan->n;
    const double *restrict jacobian = linear->jacobian;
    double *restrict factors = linear->factors;
    for (size_t i = 0; i < n * n; i++)
        factors[i] = -gamma * jacobian[i];
    for (size_t i = 0; i < n; i++)
        factors[i + i * n] += 1;
}

static enum linear_result own_factor(struct linear *linear, double gamma)
{
    put_matrix(linear, gamma);
    return dense_factor(linear->factors, linear->plan->n, linear->pivot) ? LINEAR_OK
                                                                         : LINEAR_SINGULAR;
}

static enum linear_result own_solve(struct linear *linear, double *b, size_t n_column)
{
    dense_solve(linear->factors, linear->plan->n, linear->pivot, b, n_column);
    return LINEAR_OK;
}

static enum linear_result own_solve_transposed(const struct linear *linear, const double *factors,
                                               const int *pivot, double *b)
{
    dense_solve_transposed(factors, linear->plan->n, pivot, b);
    return LINEAR_OK;
}

static void own_multiply(const struct linear *linear, const double *x, double *y, size_t n_column)
{
    dense_multiply(linear->jacobian, linear->plan->n, x, y, n_column);
}

static void own_multiply_transposed(const struct linear *linear, const double *x, double *y)
{
    size_t n = linear->plan->n;
    dense_multiply_transposed(linear->jacobian, n, n, x, y);
}

static enum linear_result lapack_factor(struct linear *linear, double gamma)
{
    const struct lapack *lapack = linear->plan->own;
    int size = (int)linear->plan->n, info = 0;
    put_matrix(linear, gamma);
    lapack->dgetrf(&size, &size, linear->factors, &size, linear->pivot, &info);
    return info == 0 ? LINEAR_OK : LINEAR_SINGULAR;
}

static enum linear_result lapack_solve(struct linear *linear, double *b, size_t n_column)
{
    const struct lapack *lapack = linear->plan->own;
    int size = (int)linear->plan->n, columns = (int)n_column, info = 0;
    lapack->dgetrs("N", &size, &columns, linear->factors, &size, linear->pivot, b, &size, &info, 1);
    return info == 0 ? LINEAR_OK : LINEAR_SINGULAR;
}

static enum linear_result lapack_solve_transposed(const struct linear *linear,
                                                  const double *factors, const int *pivot,
                                                  double *b)
{
    const struct lapack *lapack = linear->plan->own;
    int size = (int)linear->plan->n, one = 1, info = 0;
    lapack->dgetrs("T", &size, &one, factors, &size, pivot, b, &size, &info, 1);
    return info == 0 ? LINEAR_OK : LINEAR_SINGULAR;
}

static void lapack_multiply(const struct linear *linear, const double *x, double *y,
                            size_t n_column)
{
    const struct lapack *lapack = linear->plan->own;
    int size = (int)linear->plan->n, columns = (int)n_column;
    const double one = 1, zero = 0;
    lapack->dgemm("N", "N", &size, &columns, &size, &one, linear->jacobian, &size, x, &size, &zero,
                  y, &size, 1, 1);
}

const struct linear_solver dense_solver = {.new = dense_new,
                                           .factor = own_factor, .solve = own_solve,
                                           .solve_transposed = own_solve_transposed,
                                           .multiply = own_multiply,
                                           .multiply_transposed = own_multiply_transposed};

const struct linear_solver lapack_solver = {.suits = lapack_suits,
                                            .plan = lapack_plan, .plan_fini = lapack_plan_fini,
                                            .new = dense_new, .factor = lapack_factor,
                                            .solve = lapack_solve,
                                            .solve_transposed = lapack_solve_transposed,
                                            .multiply = lapack_multiply,
                                            .multiply_transposed = own_multiply_transposed};

#define ROW(id, word, row) [LINEAR_##id] = &(row),
#define WORD(id, word, row) [LINEAR_##id] = word,
static const struct linear_solver *const solvers[N_LINEAR_SOLVER] = {LINEAR_SOLVER_LIST(ROW)};
const char *const linear_solver_word[] = {[LINEAR_AUTO] = "auto", LINEAR_SOLVER_LIST(WORD) NULL};

static void plan_reset(struct linear_plan *plan, int kind)
{
    if (solvers[plan->kind]->plan_fini)
        solvers[plan->kind]->plan_fini(plan);
    plan->kind = (enum linear_solver_kind)kind;
    plan->own = NULL;
    plan->fill = 1;
    plan->n_jacobian = plan->n * plan->n;
}

static enum status choose(struct linear_plan *plan, const struct stiffit_model *abi, int requested,
                          struct error *error)
{
    for (int kind = N_LINEAR_SOLVER - 1; plan->n > 0 && kind > LINEAR_DENSE; kind--) {
        const struct linear_solver *solver = solvers[kind];
        if (requested != LINEAR_AUTO ? requested != kind : !solver->suits || !solver->suits(abi))
            continue;
        plan_reset(plan, kind);
        enum status status = solver->plan ? solver->plan(plan, abi, error) : STATUS_OK;
        bool pays = status == STATUS_OK && (!solver->pays || solver->pays(plan));
        if (requested == kind || pays || (status != STATUS_OK && status != STATUS_SYSTEM))
            return status;
    }
    plan_reset(plan, LINEAR_DENSE); /* also resets a plan whose library is missing */
    return STATUS_OK;
}

struct linear_plan *linear_plan_new(const struct stiffit_model *abi, int requested,
                                    struct error *error)
{
    struct linear_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        error_set(error, STATUS_NO_MEMORY, "no memory for the linear solver");
        return NULL;
    }
    plan->kind = LINEAR_DENSE;
    plan->n = abi->n_state;
    if (choose(plan, abi, requested, error) == STATUS_OK)
        return plan;
    linear_plan_free(plan);
    return NULL;
}

void linear_plan_free(struct linear_plan *plan)
{
    if (plan)
        plan_reset(plan, LINEAR_DENSE);
    free(plan);
}

bool linear_plan_is_sparse(const struct linear_plan *plan)
{
    return solvers[plan->kind]->is_sparse;
}

double linear_plan_fill(const struct linear_plan *plan) { return plan->fill; }

enum linear_solver_kind linear_plan_kind(const struct linear_plan *plan) { return plan->kind; }

struct linear *linear_new(const struct linear_plan *plan)
{
    struct linear *linear = calloc(1, sizeof *linear);
    if (!linear)
        return NULL;
    linear->plan = plan;
    linear->solver = solvers[plan->kind];
    linear->jacobian = calloc(plan->n_jacobian + 1, sizeof(double));
    if (linear->jacobian && linear->solver->new(linear))
        return linear;
    linear_free(linear);
    return NULL;
}

void linear_free(struct linear *linear)
{
    if (!linear)
        return;
    if (linear->solver->fini)
        linear->solver->fini(linear);
    free(linear->jacobian);
    free(linear->factors);
    free(linear->pivot);
    free(linear);
}

void linear_begin(struct linear *linear)
{
    if (linear->solver->begin)
        linear->solver->begin(linear);
}

double *linear_jacobian(struct linear *linear) { return linear->jacobian; }

enum linear_result linear_factor(struct linear *linear, double gamma)
{
    return linear->solver->factor(linear, gamma);
}

enum linear_result linear_solve(struct linear *linear, double *b, size_t n_column)
{
    return linear->solver->solve(linear, b, n_column);
}

enum linear_result linear_solve_transposed(struct linear *linear, double *b)
{
    return linear->solver->solve_transposed(linear, linear->factors, linear->pivot, b);
}

size_t linear_kept_length(const struct linear *linear)
{
    size_t n = linear->plan->n;
    return linear->factors ? n * n + n : 0; /* a pivot takes the place of a double */
}

void linear_keep(const struct linear *linear, double *kept)
{
    size_t n = linear->plan->n;
    memcpy(kept, linear->factors, n * n * sizeof(double));
    memcpy(kept + n * n, linear->pivot, n * sizeof(int));
}

enum linear_result linear_solve_transposed_kept(const struct linear *linear, const double *kept,
                                                double *b)
{
    size_t n = linear->plan->n;
    return linear->solver->solve_transposed(linear, kept, (const int *)(const void *)(kept + n * n),
                                            b);
}

void linear_multiply(struct linear *linear, const double *x, double *y, size_t n_column)
{
    linear->solver->multiply(linear, x, y, n_column);
}

void linear_multiply_transposed(struct linear *linear, const double *x, double *y)
{
    linear->solver->multiply_transposed(linear, x, y);
}
