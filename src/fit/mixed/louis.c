/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/louis.h"

#include "fit/objective/matrix.h"

#include <string.h>

void louis_init(struct louis *louis, const double *factor)
{
    size_t r = louis->r;
    memset(louis->inverse, 0, r * r * sizeof *louis->inverse);
    for (size_t c = 0; c < r; c++)
        for (size_t a = c; a < r; a++) {
            double sum = a == c, diagonal = factor[a + a * r];
            for (size_t e = c; e < a; e++)
                sum -= factor[a + e * r] * louis->inverse[e + c * r];
            louis->inverse[a + c * r] = sum / (diagonal != 0 ? diagonal : 1);
        }
}

/* (L^-T b)_a: the derivative by mean a. */
static double by_mean(const struct louis *louis, size_t a, const double *b)
{
    return matrix_dot(louis->r, louis->inverse + a * louis->r, b);
}

void louis_score(const struct louis *louis, const double *b, double *score)
{
    size_t r = louis->r;
    for (size_t a = 0; a < r; a++)
        score[a] = by_mean(louis, a, b);
    for (size_t k = 0; k < louis->n_entry; k++) {
        size_t a = louis->row[k], c = louis->column[k];
        score[r + k] = score[a] * b[c] - (a == c ? louis->inverse[a + a * r] : 0);
    }
}

/* For z = L^-T b, d z_a / d L_ef is -(L^-1)_fa z_e - covariance^-1_ae b_f, and d b_c / d L_ef is
 * -(L^-1)_ce b_f. */
double louis_information(const struct louis *louis, size_t i, size_t j, const double *first,
                         const double *second)
{
    size_t r = louis->r, a = i < r ? i : louis->row[i - r], e = j < r ? j : louis->row[j - r];
    const double *inverse = louis->inverse;
    double both = matrix_dot(r, inverse + a * r, inverse + e * r); /* of the covariance's inverse */
    if (i >= r && j < r)
        return louis_information(louis, j, i, first, second);
    if (j < r)
        return both;
    size_t f = louis->column[j - r];
    if (i < r)
        return inverse[f + a * r] * by_mean(louis, e, first) + both * first[f];
    size_t c = louis->column[i - r];
    return inverse[f + a * r] * by_mean(louis, e, second + c * r) + both * second[f + c * r]
           + inverse[c + e * r] * by_mean(louis, a, second + f * r)
           - (i == j && a == c ? inverse[a + a * r] * inverse[a + a * r] : 0);
}
