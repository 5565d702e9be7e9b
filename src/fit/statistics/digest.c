/* Counts fits, and says what the counts mean.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics/digest.h"

#include "fit/objective/goodness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void digest_facts(struct view *view, const struct digest *digest)
{
    VIEW_FACTS(
        view,
        fact_told("rows of /fits", fact_count("fits", "fits", 0, digest->n_fit)),
        fact_told("fits without a success",
                  fact_count("failed", "failed fits", 0, digest_n_failed(digest))),
        fact_told("successful fits that do not describe their data, or whose free parameters are "
                  "all at bounds",
                  fact_count("doubtful", "doubtful fits", 0, digest->n_doubtful)),
        fact_told("converged fits with a parameter that a bound holds",
                  fact_count("at_bound", "fits at bounds", 0, digest->n_at_bound)),
        fact_told("measurements that have no standard deviation, their own or the model's",
                  fact_count("without_sigma", "measurements without a sigma", 0,
                             digest->n_no_sigma)),
        fact_meant("evaluations of the model, of all fits",
                   fact_count("evaluations", "evaluations", 0, digest->n_evaluation)),
        fact_meant("half of the fits need no more",
                   fact_number("evaluations_median", "evaluations in the median fit", 0, 0,
                               digest_median(&digest->evaluations))),
        fact_meant("steps of the integrator, of all fits",
                   fact_count("steps", "integrator steps", 0, digest->n_step)),
        {"seconds", "workers' time", "s", "time that workers spent on all fits",
         .value = digest->seconds});
}

uint64_t digest_n_failed(const struct digest *digest)
{
    uint64_t n = 0;
    for (int i = 0; i < N_OUTCOME; i++)
        if (!outcome_is_success((enum outcome)i))
            n += digest->by_outcome[i];
    return n;
}

static void add_spread(struct digest_spread *spread, double x)
{
    if (isnan(x))
        return;
    double paths = (log10(fmax(x, 1e-300)) - DIGEST_FIRST) * DIGEST_PER_DECADE;
    spread->least = spread->n ? fmin(spread->least, x) : x;
    spread->most = spread->n ? fmax(spread->most, x) : x;
    if (spread->n < DIGEST_N_EXACT)
        spread->first[spread->n] = x;
    spread->bin[(int)fmin(fmax(paths, 0), DIGEST_N_BIN - 1)]++;
    spread->n++;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void digest_sort(double *number, size_t n)
{
    qsort(number, n, sizeof *number, compare);
}

double digest_sorted_quantile(const double *sorted, size_t n, double share)
{
    double place = share * (double)(n - 1);
    size_t low = (size_t)place;
    double weight = place - (double)low;
    return weight > 0 ? sorted[low] + weight * (sorted[low + 1] - sorted[low]) : sorted[low];
}

static double exact_quantile(const struct digest_spread *spread, double share)
{
    double sorted[DIGEST_N_EXACT];
    memcpy(sorted, spread->first, (size_t)spread->n * sizeof *sorted);
    digest_sort(sorted, (size_t)spread->n);
    return digest_sorted_quantile(sorted, (size_t)spread->n, share);
}

double digest_quantile(const struct digest_spread *spread, double share)
{
    double before = 0, wanted = share * (double)spread->n;
    if (spread->n > 0 && spread->n <= DIGEST_N_EXACT)
        return exact_quantile(spread, share);
    for (int i = 0; i < DIGEST_N_BIN && spread->n > 0; i++) {
        double n = (double)spread->bin[i];
        if (n > 0 && before + n >= wanted) {
            double place = DIGEST_FIRST + (i + (wanted - before) / n) / DIGEST_PER_DECADE;
            return fmin(fmax(pow(10, place), spread->least), spread->most);
        }
        before += n;
    }
    return NAN;
}

static void add_count(struct digest_counts *counts, int64_t number)
{
    if (number < 0)
        return;
    counts->n++;
    if (number < DIGEST_N_SMALL)
        counts->small[number]++;
    else
        add_spread(&counts->large, (double)number);
}

/* Order statistic number k, from 0. */
static double order_statistic(const struct digest_counts *counts, uint64_t k)
{
    uint64_t before = 0;
    for (int number = 0; number < DIGEST_N_SMALL; number++)
        if ((before += counts->small[number]) > k)
            return number;
    return digest_quantile(&counts->large,
                           ((double)(k - before) + 0.5) / (double)counts->large.n);
}

double digest_median(const struct digest_counts *counts)
{
    if (counts->n == 0)
        return NAN;
    uint64_t low = (counts->n - 1) / 2, high = counts->n / 2;
    return 0.5 * (order_statistic(counts, low) + order_statistic(counts, high));
}

void digest_add_example(struct digest_examples *examples, const char *id)
{
    if (examples->n < DIGEST_N_EXAMPLE)
        snprintf(examples->id[examples->n], DIGEST_ID, "%s", id);
    examples->n++;
}

static void add_success(struct digest *digest, const struct fit_record *record, size_t n_parameter)
{
    bool is_held = false;
    for (size_t j = 0; j < n_parameter && record->at_bound; j++)
        is_held = is_held || (record->at_bound[j] != 0 && record->outcome == OUTCOME_converged);
    digest->n_at_bound += is_held;
    digest->n_doubtful += (record->notes & NOTE_DOUBTFUL) != 0;
    digest->n_known += !(record->notes & NOTE_no_model_sigma);
    if (fit_has_reduced(record))
        add_spread(&digest->reduced, record->reduced_chi_square);
    else if (!fit_is_judged_by_chi_square(record))
        add_spread(&digest->unexplained, 1 - record->r_squared);
}

void digest_add(struct digest *digest, const char *id, const struct fit_record *record,
                size_t n_parameter)
{
    unsigned outcome = record->outcome < N_OUTCOME ? record->outcome : OUTCOME_not_run;
    digest->by_outcome[outcome]++;
    digest->n_fit++;
    if (outcome_is_success((enum outcome)outcome))
        add_success(digest, record, n_parameter);
    else
        digest_add_example(&digest->failed[outcome], id);
    for (int bit = 0; bit < DIGEST_N_NOTE; bit++)
        if (record->notes >> bit & 1)
            digest_add_example(&digest->noted[bit], id);
    digest->n_no_sigma += record->n_no_sigma > 0 ? (uint64_t)record->n_no_sigma : 0;
    add_count(&digest->evaluations, record->n_evaluation);
    digest->n_evaluation += record->n_evaluation > 0 ? (uint64_t)record->n_evaluation : 0;
    digest->n_step += record->n_step > 0 ? (uint64_t)record->n_step : 0;
    digest->seconds += isnan(record->seconds) ? 0 : record->seconds;
}
