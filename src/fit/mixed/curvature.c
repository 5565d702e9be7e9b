/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/curvature.h"

#include "base/memory.h"
#include "fit/mixed/pass.h"
#include "fit/objective/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With so many datasets for each estimate their gradients' outer products are the curvature. */
static const double MANY = 10;
/* A standard deviation where its curvature is believed, in parts of the first one. */
static const double SMALL = 0.05;

enum asked mixed_begin_curvature(struct mixed *mixed)
{
    bool are_many = mixed->progress.phase == MIXED_EXACT
                    && (double)mixed->joint->part.n_all >= MANY * (double)mixed->m;
    if (are_many && !mixed_products(mixed, mixed->curvature))
        return joint_end_short(mixed->joint);
    for (size_t k = 0; are_many && k < mixed->m; k++)
        mixed->curvature[k + k * mixed->m] += mixed->prior_curvature[k];
    if (!are_many)
        mixed_unpack(mixed->m, mixed->sum + 1 + mixed->m, mixed->curvature);
    return ASKED_OK;
}

/* The diagonal entry in the column of the factor's entry k. */
static double diagonal_above(const struct mixed *mixed, size_t k)
{
    const double *entry = mixed->point.theta + mixed->progress.s;
    size_t column = mixed->column[k - mixed->progress.s], j = 0;
    while (mixed->row[j] != column || mixed->column[j] != column)
        j++;
    return entry[j];
}

/* The least curvature of estimate k. That by a standard deviation L, or by what is below it in its
 * column, vanishes where this is 0, and the expected information, 2 (M L / (1 + M L^2))^2 with the
 * information M of the mean in each dataset, says nothing there: it is that of a small one. */
static double least_curvature(const struct mixed *mixed, size_t k)
{
    size_t s = mixed->progress.s, m = mixed->m;
    if (k < s)
        return 0;
    size_t a = mixed->row[k - s], mean = mixed->random[a];
    double by_mean = mixed->curvature[mean + mean * m], n = mixed->n_dataset;
    double small = SMALL * mixed_first_deviation(mixed, mixed->point.theta, a);
    if (diagonal_above(mixed, k) >= small)
        return 0;
    double by_one = by_mean / n * small / (1 + by_mean / n * small * small);
    return 2 * n * by_one * by_one;
}

/* The triangle of the curvature, of which a part is added to the diagonal until it has one. */
bool mixed_factor_curvature(const struct mixed *mixed, double *triangle)
{
    size_t m = mixed->m;
    uint32_t *index = memory_alloc((m + 1) * sizeof *index);
    double *lower = memory_alloc((m * m + 1) * sizeof *lower),
           *matrix = memory_alloc((m * m + 1) * sizeof *matrix);
    bool is_good = false;
    for (double part = 0; index && lower && matrix && !is_good && part < 1e3;
         part = part > 0 ? 10 * part : 1e-10) {
        memcpy(matrix, mixed->curvature, m * m * sizeof *matrix);
        for (uint32_t k = 0; k < m; k++) {
            double *entry = &matrix[k + k * m];
            index[k] = k;
            *entry = fmax(fabs(*entry), least_curvature(mixed, k)) * (1 + part);
            *entry = *entry > 0 ? *entry : 1e-8;
        }
        is_good = matrix_factor(m, matrix, m, index, lower);
    }
    for (size_t c = 0; c < m && is_good; c++)
        for (size_t d = 0; d < m; d++)
            triangle[c + d * m] = d >= c ? lower[d + c * m] : 0;
    free(index);
    free(lower);
    free(matrix);
    return is_good;
}

/* BFGS's correction for the latest step, damped as Powell (1978) does to keep the curvature
 * positive. */
void mixed_improve_curvature(struct mixed *mixed)
{
    size_t m = mixed->m;
    double *b = mixed->curvature, *moved = memory_alloc((3 * m + 1) * sizeof *moved);
    double *change = moved + m, *by = change + m, sy = 0, sbs = 0;
    for (size_t k = 0; moved && k < m; k++)
        moved[k] = mixed->trial[k] - mixed->point.theta[k];
    for (size_t k = 0; moved && k < m; k++) {
        change[k] = mixed->slope[k] - mixed->point.gradient[k];
        by[k] = matrix_dot(m, b + k * m, moved);
        sy += moved[k] * change[k];
        sbs += moved[k] * by[k];
    }
    double part = sy < 0.2 * sbs ? 0.8 * sbs / (sbs - sy) : 1;
    sy = part * sy + (1 - part) * sbs;
    for (size_t c = 0; moved && sbs > 0 && sy > 0 && c < m; c++)
        for (size_t d = 0; d < m; d++) {
            double yc = part * change[c] + (1 - part) * by[c];
            double yd = part * change[d] + (1 - part) * by[d];
            b[d + c * m] += yc * yd / sy - by[c] * by[d] / sbs;
        }
    free(moved);
}
