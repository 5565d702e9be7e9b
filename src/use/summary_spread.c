/* How numbers are spread: quartiles and a small histogram.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/summary.h"

#include <math.h>
#include <stdlib.h>

/* From so many numbers on, the outermost hundredths may be left out of a histogram; and are, if they would take most of its
 * axis. */
enum { CUT_FROM = 100 };
static const double CUT_PART = 0.01, CUT_AXIS = 3;

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Linear interpolation between order statistics: R's type 7, NumPy's default. */
static double quantile(const double *sorted, uint64_t n, double share)
{
    double place = share * (double)(n - 1);
    uint64_t low = (uint64_t)place;
    double weight = place - (double)low;
    return weight > 0 ? sorted[low] + weight * (sorted[low + 1] - sorted[low]) : sorted[low];
}

double show_median(double *numbers, uint64_t n)
{
    if (n == 0)
        return NAN;
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    return quantile(numbers, n, 0.5);
}

static double on_axis(const struct show_spread *spread, double x) { return spread->is_log ? log(x) : x; }

static void fill_bins(struct show_spread *spread, const double *sorted, uint64_t n)
{
    spread->low = spread->min;
    spread->high = spread->max;
    if (n >= CUT_FROM) {
        double low = quantile(sorted, n, CUT_PART), high = quantile(sorted, n, 1 - CUT_PART);
        double whole = on_axis(spread, spread->max) - on_axis(spread, spread->min);
        spread->is_cut = whole > CUT_AXIS * (on_axis(spread, high) - on_axis(spread, low)) && high > low;
        if (spread->is_cut) {
            spread->low = low;
            spread->high = high;
        }
    }
    double from = on_axis(spread, spread->low), width = on_axis(spread, spread->high) - from;
    for (uint64_t i = 0; i < n; i++) {
        if (sorted[i] < spread->low || sorted[i] > spread->high)
            continue;
        double place = width > 0 ? (on_axis(spread, sorted[i]) - from) / width : 0.5;
        int bin = (int)(place * SHOW_N_BIN);
        spread->bin[bin < SHOW_N_BIN ? bin : SHOW_N_BIN - 1]++;
    }
}

void show_spread_fill(struct show_spread *spread, double *numbers, uint64_t n, bool is_log)
{
    uint64_t n_finite = 0;
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            numbers[n_finite++] = numbers[i];
    spread->min = spread->q25 = spread->median = spread->q75 = spread->max = spread->low = spread->high = NAN;
    if (n_finite == 0)
        return;
    qsort(numbers, n_finite, sizeof *numbers, compare_numbers);
    spread->min = numbers[0];
    spread->q25 = quantile(numbers, n_finite, 0.25);
    spread->median = quantile(numbers, n_finite, 0.5);
    spread->q75 = quantile(numbers, n_finite, 0.75);
    spread->max = numbers[n_finite - 1];
    spread->is_log = is_log && spread->min > 0;
    fill_bins(spread, numbers, n_finite);
}
