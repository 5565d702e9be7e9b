/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/mixed/hills.h"

#include <math.h>

/* Hills are alike if their centres are by no more than so many of their standard deviations. */
static const double ALIKE = 0.5;

struct hill hills_at(size_t r, double *numbers, size_t i)
{
    double *first = numbers + hills_size(r, i);
    return (struct hill){.f = first, .centre = first + 1, .factor = first + 1 + r};
}

/* Half the squared distance of b from a hill's centre, in its standard deviations. */
static double rise_of(size_t r, const struct hill *hill, const double *b)
{
    double sum = 0;
    for (size_t c = 0; c < r; c++) { /* G'(b - centre) */
        double whitened = 0;
        for (size_t a = c; a < r; a++)
            whitened += hill->factor[a + c * r] * (b[a] - hill->centre[a]);
        sum += 0.5 * whitened * whitened;
    }
    return sum;
}

double hills_height(size_t r, double *numbers, size_t n, const double *b)
{
    double height[HILLS_MOST], lowest = INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hill hill = hills_at(r, numbers, i);
        height[i] = *hill.f + rise_of(r, &hill, b);
        lowest = fmin(lowest, height[i]);
    }
    for (size_t i = 0; i < n; i++)
        sum += exp(lowest - height[i]);
    return lowest - log(sum);
}

double hills_part(size_t r, double *numbers, size_t n, size_t i, const double *b)
{
    const struct hill hill = hills_at(r, numbers, i);
    return n > 1 ? hills_height(r, numbers, n, b) - *hill.f - rise_of(r, &hill, b) : 0;
}

bool hills_are_alike(size_t r, double *numbers, double *others, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct hill hill = hills_at(r, numbers, i), other = hills_at(r, others, i);
        if (rise_of(r, &hill, other.centre) > 0.5 * ALIKE * ALIKE)
            return false;
    }
    return true;
}
