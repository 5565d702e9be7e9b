/* Where which linear solver pays: what one integrator step costs in linear algebra (a factorisation, a solve of
 * the state and one of the sensitivities) with our own LU, LAPACK and KLU, for sizes and densities. The rule in
 * src/ode/linear.c was read off this table. Usage: OPENBLAS_NUM_THREADS=1 bench_ode_crossover [columns]
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/linear.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_REPEAT = 9 };

struct pattern {
    int32_t *start, *row;
    size_t n_nonzero;
};

static uint64_t random_word(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* The diagonal and about per_column - 1 others in random rows: what a reaction network looks like. */
static struct pattern pattern_new(size_t n, size_t per_column)
{
    struct pattern pattern = {malloc((n + 1) * sizeof(int32_t)), malloc(n * n * sizeof(int32_t)), 0};
    char *used = malloc(n);
    uint64_t seed = 1;
    for (size_t j = 0; j < n; j++) {
        memset(used, 0, n);
        used[j] = 1;
        for (size_t k = 1; k < per_column; k++)
            used[random_word(&seed) % n] = 1;
        pattern.start[j] = (int32_t)pattern.n_nonzero;
        for (size_t i = 0; i < n; i++)
            if (used[i])
                pattern.row[pattern.n_nonzero++] = (int32_t)i;
    }
    pattern.start[n] = (int32_t)pattern.n_nonzero;
    free(used);
    return pattern;
}

static int dummy(const struct stiffit_point *at, double *out)
{
    (void)at, (void)out;
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double smallest(double a, double b) { return a < b ? a : b; }

/* Microseconds of one step's linear algebra; the smallest of several timings. */
static double cost(const struct pattern *pattern, size_t n, int kind, size_t n_column, double *fill)
{
    struct stiffit_model model = {.n_state = (uint32_t)n, .jacobian_sparse = dummy, .column_start = pattern->start,
                                  .row_index = pattern->row, .n_nonzero = (uint32_t)pattern->n_nonzero};
    struct error error = {0};
    struct linear_plan *plan = linear_plan_new(&model, kind, &error);
    struct linear *linear = plan ? linear_new(plan) : NULL;
    if (!linear) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    uint64_t seed = 5;
    *fill = linear_plan_fill(plan);
    double *jacobian = linear_jacobian(linear), *b = malloc(n * (n_column + 1) * sizeof *b), best = 1e9;
    for (size_t k = 0; kind != LINEAR_KLU && k < n * n; k++)
        jacobian[k] = 0;
    for (size_t j = 0; j < n; j++)
        for (int32_t k = pattern->start[j]; k < pattern->start[j + 1]; k++) {
            double value = (double)random_word(&seed) / 4294967296.0 - (pattern->row[k] == (int32_t)j ? 4 : 0);
            jacobian[kind == LINEAR_KLU ? (size_t)k : (size_t)pattern->row[k] + j * n] = value;
        }
    int inner = 1 + (int)(2e6 / ((double)n * (double)n * ((double)n + 4 * (double)n_column)));
    linear_begin(linear);
    linear_factor(linear, 0.1);
    for (int r = 0; r < N_REPEAT; r++) {
        double begin = now();
        for (int i = 0; i < inner; i++) {
            for (size_t k = 0; k < n * (n_column + 1); k++)
                b[k] = 1;
            linear_solve(linear, b, 1); /* Newton's iteration, with the factors of the step before */
            linear_factor(linear, 0.1);
            if (n_column)
                linear_solve(linear, b + n, n_column);
        }
        best = smallest(best, (now() - begin) * 1e6 / inner);
    }
    free(b);
    linear_free(linear);
    linear_plan_free(plan);
    return best;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 256};
    size_t n_column = argc > 1 ? (size_t)atoi(argv[1]) : 10;
    printf("microseconds a step, %zu columns\n%5s %10s %10s |  klu with about 3, 6, 12 entries a column "
           "(of the matrix, of its factors)\n", n_column, "n", "dense", "lapack");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        struct pattern full = pattern_new(n, n);
        double fill, dense = cost(&full, n, LINEAR_DENSE, n_column, &fill);
        printf("%5zu %10.2f %10.2f |", n, dense, cost(&full, n, LINEAR_LAPACK, n_column, &fill));
        for (size_t per_column = 3; per_column <= 12 && per_column <= n; per_column *= 2) {
            struct pattern sparse = pattern_new(n, per_column);
            double klu = cost(&sparse, n, LINEAR_KLU, n_column, &fill);
            printf("  %8.2f (%2.0f%%, fill %2.0f%%)", klu, 100.0 * (double)sparse.n_nonzero / (double)(n * n),
                   100 * fill);
            free(sparse.start);
            free(sparse.row);
        }
        printf("\n");
        free(full.start);
        free(full.row);
    }
    return 0;
}
