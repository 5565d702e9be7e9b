/* Order statistics of replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/interval.h"

#include <math.h>
#include <stdlib.h>

/* More replicates without a standard error than this part, and those that are left are no fair sample. */
static const double MOST_WITHOUT_ERROR = 0.1;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fit_interval_quantile(const double *sorted, size_t n, double p)
{
    double place = p * (double)(n + 1), whole = floor(place);
    /* (n + 1) p is meant to be whole where it is so on paper: 0.025 * 40. */
    if (fabs(place - rint(place)) < 1e-9 * place)
        place = whole = rint(place);
    if (!(place >= 1) || !(place <= (double)n))
        return NAN;
    size_t i = (size_t)whole;
    double part = place - whole;
    return part > 0 ? sorted[i - 1] + part * (sorted[i] - sorted[i - 1]) : sorted[i - 1];
}

struct fit_interval fit_interval_percentile(double *estimate, size_t n, double confidence)
{
    double tail = 0.5 - 0.5 * confidence;
    qsort(estimate, n, sizeof *estimate, compare);
    return (struct fit_interval){fit_interval_quantile(estimate, n, tail), fit_interval_quantile(estimate, n, 1 - tail)};
}

struct fit_interval fit_interval_studentised(double estimate, double error, const double *estimates, const double *errors,
                                             size_t n, double confidence, double *scratch)
{
    double tail = 0.5 - 0.5 * confidence;
    size_t n_known = 0;
    for (size_t b = 0; b < n; b++) {
        double t = (estimates[b] - estimate) / errors[b];
        if (isfinite(t))
            scratch[n_known++] = t;
    }
    if (!isfinite(error) || (double)(n - n_known) > MOST_WITHOUT_ERROR * (double)n)
        return (struct fit_interval){NAN, NAN};
    qsort(scratch, n_known, sizeof *scratch, compare);
    return (struct fit_interval){estimate - error * fit_interval_quantile(scratch, n_known, 1 - tail),
                                 estimate - error * fit_interval_quantile(scratch, n_known, tail)};
}

double fit_interval_deviation(const double *numbers, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += (numbers[i] - mean) / (double)(i + 1);
    for (size_t i = 0; i < n; i++)
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}
