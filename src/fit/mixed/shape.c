/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/shape.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* Moments are believed if the centre is within FAR of the mode in each direction, and deviations
 * between 1/FAR and FAR, in units of the curvature's. SAFE: the largest relative change of du/dt
 * by the skewness. */
static const double FAR = 3, SAFE = 0.5;

struct shape shape_at(size_t r, double *numbers)
{
    return (struct shape){.centre = numbers, .factor = numbers + r, .skew = numbers + r + r * r};
}

void shape_reset(const struct shape *shape, size_t r)
{
    memset(shape->centre, 0, shape_size(r) * sizeof *shape->centre);
    for (size_t a = 0; a < r && r <= SHAPE_MOST; a++)
        shape->factor[a + a * r] = 1;
}

/* Third moments about zero, to those about the mean of variables with unit variances. `second`:
 * the covariance. */
static void whiten(const struct shape *shape, size_t r, const double *second, const double *third)
{
    double turned[SHAPE_MOST * SHAPE_MOST * SHAPE_MOST];
    const double *mean = shape->centre;
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b < r; b++)
            for (size_t c = 0; c < r; c++)
                shape->skew[a + (b + c * r) * r] =
                    third[a + (b + c * r) * r] - mean[a] * mean[b] * mean[c] -
                    mean[a] * second[b + c * r] - mean[b] * second[a + c * r] -
                    mean[c] * second[a + b * r];
    for (int turn = 0; turn < 3; turn++) { /* each time the first index is done,
                                          and becomes the last */
        for (size_t k = 0; k < r * r; k++) {
            matrix_solve_lower(r, shape->factor, shape->skew + k * r);
            for (size_t a = 0; a < r; a++)
                turned[k + a * r * r] = shape->skew[a + k * r];
        }
        memcpy(shape->skew, turned, r * r * r * sizeof *turned);
    }
}

void shape_fit(const struct shape *shape, size_t r, const struct shape_moments *moments,
               const uint32_t *index)
{
    double weight = *moments->weight, *mean = moments->first, *second = moments->second;
    bool is_good = weight > 0;
    for (size_t a = 0; a < r; a++) {
        shape->centre[a] = mean[a] / weight;
        is_good = is_good && fabs(shape->centre[a]) <= FAR;
    }
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b < r; b++)
            second[b + a * r] = second[b + a * r] / weight - shape->centre[a] * shape->centre[b];
    memset(shape->factor, 0, r * r * sizeof *shape->factor);
    is_good = is_good && matrix_factor(r, second, r, index, shape->factor);
    for (size_t a = 0; a < r && is_good; a++) {
        double deviation = shape->factor[a + a * r];
        is_good = deviation <= FAR && deviation >= 1 / FAR;
    }
    if (!is_good) {
        shape_reset(shape, r);
        return;
    }
    for (size_t k = 0; k < r * r * r; k++)
        moments->third[k] /= weight;
    whiten(shape, r, second, moments->third);
}

/* I + part M t / 3: du/dt before the factor. */
static void differentiate(const struct shape *shape, size_t r, double part, const double *t,
                          double *by)
{
    for (size_t k = 0; k < r * r; k++)
        by[k] = part / 3 * matrix_dot(r, shape->skew + k * r, t);
    for (size_t a = 0; a < r; a++)
        by[a + a * r] += 1;
}

double shape_part(const struct shape *shape, size_t r, double reach)
{
    double most = 0, by[SHAPE_MOST * SHAPE_MOST] = {0}, corner[SHAPE_MOST];
    for (unsigned k = 0; r <= SHAPE_MOST && k < 1u << r; k++) { /* the change is convex in t */
        for (size_t a = 0; a < r; a++)
            corner[a] = k >> a & 1 ? reach : -reach;
        differentiate(shape, r, 1, corner, by);
        for (size_t a = 0; a < r; a++)
            by[a + a * r] -= 1;
        most = fmax(most, sqrt(matrix_squares(r * r, by)));
    }
    return most > SAFE ? SAFE / most : 1;
}

/* Adds the part of the skewness to t. Returns the logarithm of the determinant. */
static double bend(const struct shape *shape, size_t r, double part, const double *t, double *bent)
{
    double by[SHAPE_MOST * SHAPE_MOST], factor[SHAPE_MOST * SHAPE_MOST] = {0}, determinant = 1;
    uint32_t index[SHAPE_MOST];
    differentiate(shape, r, part, t, by);
    for (uint32_t a = 0; a < r; a++) {
        double sum = 0;
        index[a] = a;
        for (size_t b = 0; b < r; b++)
            sum +=
                (by[a + b * r] - (a == b)) * t[b] / 2 - part / 6 * shape->skew[a + (b + b * r) * r];
        bent[a] = t[a] + sum;
    }
    matrix_factor(r, by, r, index, factor);
    for (size_t a = 0; a < r; a++)
        determinant *= factor[a + a * r];
    return 2 * log(determinant);
}

double shape_map(const struct shape *shape, size_t r, double part, const double *t, double *u)
{
    double bent[SHAPE_MOST], logarithm = 0.5 * matrix_squares(r, t), determinant = 1;
    if (r > SHAPE_MOST) {
        memcpy(u, t, r * sizeof *u);
        return 0;
    }
    logarithm += bend(shape, r, part, t, bent);
    for (size_t a = 0; a < r; a++) {
        u[a] = shape->centre[a];
        for (size_t b = 0; b <= a; b++)
            u[a] += shape->factor[a + b * r] * bent[b];
        determinant *= shape->factor[a + a * r];
    }
    return logarithm + log(determinant) - 0.5 * matrix_squares(r, u);
}
