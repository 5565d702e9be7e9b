/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/pilot.h"

#include <math.h>
#include <stdlib.h>

uint64_t fit_pilot_dataset(uint64_t n, uint64_t n_pilot, uint64_t k)
{
    return (uint64_t)((unsigned __int128)(2 * k + 1) * n / (2 * n_pilot));
}

uint64_t fit_pilot_number(uint64_t n, uint64_t n_pilot, uint64_t dataset)
{
    if (n_pilot == 0)
        return 0;
    uint64_t k = (uint64_t)((unsigned __int128)dataset * n_pilot / n);
    return fit_pilot_dataset(n, n_pilot, k) == dataset ? k : n_pilot;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double fit_pilot_median(double *number, size_t n)
{
    qsort(number, n, sizeof *number, compare);
    if (n == 0)
        return NAN;
    return n % 2 ? number[n / 2] : 0.5 * (number[n / 2 - 1] + number[n / 2]);
}

size_t fit_pilot_medians(size_t n_parameter, size_t n_pilot, const double *found, double *median)
{
    size_t least = n_pilot;
    for (size_t k = 0; k < n_parameter; k++) {
        double number[FIT_PILOT_MOST];
        size_t n = 0;
        for (size_t i = 0; i < n_pilot; i++)
            if (isfinite(found[k + i * n_parameter]))
                number[n++] = found[k + i * n_parameter];
        median[k] = fit_pilot_median(number, n);
        least = n < least ? n : least;
    }
    return least;
}
