/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics/observed.h"

#include "fit/objective/matrix.h"

#include <string.h>

/* Observed information below the square of this part of the expected information counts as none. */
static const double LEAST_LEFT = 0.1;

/* What one elimination works with: matrices of n own parameters, n_known known directions of
 * these, and m others. */
struct level {
    size_t n, m, n_known;
    const struct fit_spectrum *spectrum;
    const double *own;
    struct fit_excess excess;
    double *rows;     /* n_known x (n + m): of the known directions */
    double *follow;   /* n x m: how own parameters follow the others */
    double *coupling; /* n_known x m */
    double *factor, *scratch;
    uint32_t *order;
};

static bool make_level(struct level *level, struct arena *arena)
{
    size_t n = level->n, m = level->m, width = n + m;
    level->order = arena_calloc(arena, n + 1, sizeof *level->order);
    return level->order && ARENA_DOUBLES(arena, {&level->rows, n, width}, {&level->follow, n, m},
                         {&level->coupling, n, m}, {&level->factor, n, n},
                         {&level->scratch, 2 * n + 2 * width, n + width});
}

static double excess_at(const struct level *level, size_t c, size_t d)
{
    const struct fit_excess *excess = &level->excess;
    return excess->number[excess->index[c] + excess->index[d] * excess->ld];
}

/* The rows of the known directions are U'R, where R W = U for the basis W. */
static void take_known(struct level *level)
{
    const struct fit_spectrum *spectrum = level->spectrum;
    size_t n = level->n, width = n + level->m;
    for (size_t k = 0; k < spectrum->n_known; k++) {
        double *u = level->scratch;
        for (size_t i = 0; i < n; i++) {
            u[i] = 0;
            for (size_t c = i; c < n; c++)
                u[i] += level->own[i + c * n] * spectrum->basis[c + k * n];
        }
        for (size_t c = 0; c < width; c++)
            level->rows[k + c * n] = matrix_dot(n, u, level->own + c * n);
    }
    for (size_t d = 0; d < level->m; d++)
        for (size_t c = 0; c < n; c++) {
            double sum = 0;
            for (size_t k = 0; k < spectrum->n_known; k++)
                sum -= spectrum->basis[c + k * n] * level->rows[k + (n + d) * n];
            level->follow[c + d * n] = sum;
        }
}

/* W'(C_oo X + C_oa) for the excess C, where own parameters o follow the others a by X. */
static void take_coupling(struct level *level)
{
    const struct fit_spectrum *spectrum = level->spectrum;
    size_t n = level->n;
    double *by = level->scratch;
    for (size_t d = 0; d < level->m; d++) {
        for (size_t c = 0; c < n; c++) {
            by[c] = excess_at(level, c, n + d);
            for (size_t e = 0; e < n; e++)
                by[c] += excess_at(level, c, e) * level->follow[e + d * n];
        }
        for (size_t k = 0; k < level->n_known; k++)
            level->coupling[k + d * n] = matrix_dot(n, spectrum->basis + k * n, by);
    }
}

/* C_aa + X'C_oa + C_ao X + X'C_oo X: the excess in the others where own parameters follow them. */
static void take_left(const struct level *level, double *left)
{
    size_t n = level->n, m = level->m;
    for (size_t d = 0; d < m; d++)
        for (size_t e = 0; e <= d; e++) {
            double sum = excess_at(level, n + e, n + d);
            for (size_t c = 0; c < n; c++) {
                double by = excess_at(level, c, n + d);
                for (size_t f = 0; f < n; f++)
                    by += excess_at(level, c, f) * level->follow[f + d * n];
                sum += level->follow[c + e * n] * by +
                       level->follow[c + d * n] * excess_at(level, c, n + e);
            }
            left[e + d * m] = left[d + e * m] = sum;
        }
}

/* With I + W'CW = GG': the known rows become G'(own part) and G'(other part) + G^-1 coupling,
 * and the others lose coupling' (GG')^-1 coupling. */
static void apply(struct level *level, double *left)
{
    size_t n = level->n, m = level->m, n_known = level->n_known;
    for (size_t c = 0; c < n + m; c++)
        for (size_t k = 0; k < n_known; k++) {
            double sum = 0;
            for (size_t l = k; l < n_known; l++)
                sum += level->factor[l + k * n_known] * level->rows[l + c * n];
            level->rows[k + c * n] = sum;
        }
    for (size_t d = 0; d < m; d++) {
        double *solved = level->coupling + d * n;
        matrix_solve_lower(n_known, level->factor, solved);
        for (size_t k = 0; k < n_known; k++)
            level->rows[k + (n + d) * n] += solved[k];
    }
    for (size_t d = 0; d < m; d++)
        for (size_t e = 0; e < m; e++)
            left[e + d * m] -=
                matrix_dot(n_known, level->coupling + e * n, level->coupling + d * n);
}

/* The new rows, and the old ones without their known directions, as a triangle: the first n rows
 * of it. */
static void put_rows(struct level *level, const double *known, double *own)
{
    size_t n = level->n, width = n + level->m, n_known = level->n_known, n_row = n_known + n;
    double *a = level->scratch, *b = a + n_row * width, *r = b + n_row, *q = r + width * width;
    memset(b, 0, n_row * sizeof *b);
    for (size_t c = 0; c < width; c++) {
        memcpy(a + c * n_row, level->rows + c * n, n_known * sizeof *a);
        memcpy(a + c * n_row + n_known, own + c * n, n * sizeof *a);
    }
    for (size_t k = 0; k < n_known; k++)
        for (size_t i = 0; i < n; i++) {
            double u = 0;
            for (size_t c = i; c < n; c++)
                u += own[i + c * n] * level->spectrum->basis[c + k * n];
            for (size_t c = 0; c < width; c++)
                a[n_known + i + c * n_row] -= u * known[k + c * n];
        }
    matrix_triangle(n_row, width, a, b, r, q);
    for (size_t c = 0; c < width; c++)
        memcpy(own + c * n, r + c * width, n * sizeof *own);
}

/* The lower factor G of I + W'CW for the excess C and the basis W, in whose metric the information
 * is I. False: it is not definite enough. */
static bool find_factor(struct level *level)
{
    size_t n = level->n, n_known = level->n_known;
    const double *w = level->spectrum->basis;
    double *product = level->scratch, *matrix = product + n;
    for (size_t k = 0; k < n_known; k++) {
        level->order[k] = (uint32_t)k;
        memset(product, 0, n * sizeof *product);
        for (size_t d = 0; d < n; d++)
            for (size_t c = 0; c < n; c++)
                product[c] += excess_at(level, c, d) * w[d + k * n];
        for (size_t l = 0; l < n_known; l++) {
            double sum = k == l;
            for (size_t c = 0; c < n; c++)
                sum += w[c + l * n] * product[c];
            matrix[l + k * n_known] = sum;
        }
    }
    bool is_definite = matrix_factor(n_known, matrix, n_known, level->order, level->factor);
    for (size_t k = 0; is_definite && k < n_known; k++)
        is_definite = level->factor[k + k * n_known] > LEAST_LEFT;
    return is_definite;
}

bool fit_observe(const struct fit_spectrum *spectrum, size_t m, double *own,
                 struct fit_excess excess, double *left, bool *is_definite, struct arena *arena)
{
    size_t n = spectrum->n, width = n + m;
    struct level level = {.n = n, .m = m, .n_known = spectrum->n_known, .spectrum = spectrum,
                          .own = own, .excess = excess};
    double *known;
    if (!make_level(&level, arena) || !ARENA_DOUBLES(arena, {&known, n, width}))
        return false;
    take_known(&level);
    memcpy(known, level.rows, n * width * sizeof *known);
    *is_definite = find_factor(&level);
    if (!*is_definite)
        return true;
    take_coupling(&level);
    take_left(&level, left);
    apply(&level, left);
    if (level.n_known > 0)
        put_rows(&level, known, own);
    return true;
}
