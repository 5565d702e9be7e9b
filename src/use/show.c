/* One pass over a result: counts, groups of failures, the slowest fits, and the numbers for
 * medians and quartiles.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/show.h"

#include "fit/objective/goodness.h"
#include "use/fit_columns.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 4096 };
/* Quartiles need their numbers in memory: above this many, only every k-th fit is sampled. */
static const uint64_t max_number = 16000000;

/* Whether two messages differ only in numbers. */
static bool alike(const char *a, const char *b)
{
    while (*a && *b) {
        bool number_a = isdigit((unsigned char)*a), number_b = isdigit((unsigned char)*b);
        if (number_a != number_b || (!number_a && *a != *b))
            return false;
        if (!number_a) {
            a++;
            b++;
            continue;
        }
        a += strspn(a, "0123456789.eE+-");
        b += strspn(b, "0123456789.eE+-");
    }
    return !*a && !*b;
}

static int sign_of(double x, double length)
{
    return x >= SHOW_NAMED * length ? 1 : x <= -SHOW_NAMED * length ? -1 : 0;
}

static bool is_same(const double *sums, double n, const double *weight, size_t n_parameter)
{
    for (size_t j = 0; j < n_parameter; j++)
        if (sign_of(sums[j], n) != sign_of(weight[j], 1))
            return false;
    return true;
}

/* Adds one combination of a fit. */
static void add_combination(struct show_summary *summary, const struct result_info *info,
                            const char *id, const double *weight)
{
    struct show_flat *flat = NULL;
    if (!weight) {
        summary->n_other_flat++;
        return;
    }
    for (size_t i = 0; i < summary->n_flat && !flat; i++)
        if (is_same(summary->flat[i].weight, (double)summary->flat[i].fits.n, weight,
                    info->n_parameter))
            flat = &summary->flat[i];
    if (!flat && summary->n_flat == SHOW_N_FLAT) {
        summary->n_other_flat++;
        return;
    }
    if (!flat) {
        flat = &summary->flat[summary->n_flat];
        flat->weight = summary->weights + summary->n_flat++ * info->n_parameter;
    }
    for (size_t j = 0; j < info->n_parameter; j++)
        flat->weight[j] += weight[j];
    digest_add_example(&flat->fits, id);
}

static void add_flat(struct show_summary *summary, const struct result_info *info, const char *id,
                     const struct fit_record *record, double *scratch)
{
    if (!(record->n_flat > 0))
        return;
    summary->n_fit_flat++;
    for (int number = 1; number <= show_n_combination(info, record); number++)
        add_combination(summary, info, id,
                        show_combination(info, record, number, scratch) ? scratch : NULL);
}

static void add_to_group(struct show_summary *summary, const char *id, enum outcome outcome,
                         const char *message)
{
    struct show_group *group = NULL;
    for (size_t i = 0; i < summary->n_group && !group; i++)
        if (summary->group[i].outcome == outcome && alike(summary->group[i].message, message))
            group = &summary->group[i];
    if (!group) {
        if (summary->n_group == SHOW_N_GROUP) {
            summary->n_other++;
            return;
        }
        group = &summary->group[summary->n_group++];
        group->outcome = outcome;
        snprintf(group->message, sizeof group->message, "%s", message);
    }
    group->differs =
        group->differs || strncmp(group->message, message, sizeof group->message - 1) != 0;
    digest_add_example(&group->fits, id);
}

static void add_slow(struct show_summary *summary, const char *id, const struct fit_record *record)
{
    size_t place = summary->n_slow;
    while (place > 0 && summary->slow[place - 1].seconds < record->seconds)
        place--;
    if (place >= SHOW_N_SLOWEST || !(record->seconds > 0))
        return;
    if (summary->n_slow < SHOW_N_SLOWEST)
        summary->n_slow++;
    memmove(&summary->slow[place + 1], &summary->slow[place],
            (summary->n_slow - place - 1) * sizeof *summary->slow);
    struct show_slow *slow = &summary->slow[place];
    snprintf(slow->id, sizeof slow->id, "%s", id);
    slow->seconds = record->seconds;
    slow->n_evaluation = record->n_evaluation;
    slow->n_step = record->n_step;
    slow->outcome = (enum outcome)record->outcome;
}

/* `capacity` numbers per column: the parameters, the objective, reduced chi-square, R squared,
 * and the parameters' relative standard errors. */
struct sample {
    double *number;
    uint64_t capacity, n, every;
};
enum { N_SINGLE = 3 };

static void add_to_sample(struct sample *sample, const struct fit_record *record,
                          size_t n_parameter)
{
    double *row = sample->number + sample->n;
    for (size_t j = 0; j < n_parameter; j++) {
        row[j * sample->capacity] = record->parameter[j];
        row[(n_parameter + N_SINGLE + j) * sample->capacity] =
            record->standard_error[j] / fabs(record->parameter[j]);
    }
    bool by_chi_square = fit_is_judged_by_chi_square(record);
    row[n_parameter * sample->capacity] = record->objective;
    row[(n_parameter + 1) * sample->capacity] = by_chi_square ? record->reduced_chi_square : NAN;
    row[(n_parameter + 2) * sample->capacity] = by_chi_square ? NAN : record->r_squared;
    sample->n++;
}

/* Adds a fit's starts, profiles and replicates. */
static void add_refits(struct show_summary *summary, const struct result_info *info, const char *id,
                     const struct fit_record *record)
{
    struct show_refits *refits = &summary->refits;
    const uint8_t *const limit[] = {record->profile_lower_status, record->profile_upper_status};
    if (record->n_same_optimum == 1)
        digest_add_example(isnan(record->other_least) ? &refits->only : &refits->alone, id);
    else if (record->n_same_optimum > 1 && isnan(record->other_least))
        refits->n_same++;
    else if (record->n_same_optimum > 1)
        refits->n_some++;
    for (size_t j = 0; j < info->n_parameter; j++)
        for (int side = 0; side < 2; side++)
            if (limit[side] && limit[side][j] < N_LIMIT) {
                summary->parameter[j].n_limit[side][limit[side][j]]++;
                refits->has_profile = refits->has_profile || limit[side][j] != LIMIT_none;
            }
    if (record->n_bootstrap < 0)
        return;
    if (refits->n_bootstrap == 0 || record->n_bootstrap < refits->least)
        refits->least = record->n_bootstrap;
    refits->most = record->n_bootstrap > refits->most ? record->n_bootstrap : refits->most;
    refits->n_bootstrap++;
    for (size_t j = 0; j < info->n_parameter && record->bootstrap_error; j++) {
        double ratio = record->bootstrap_error[j] / record->standard_error[j];
        if (ratio > 0 && isfinite(ratio)) {
            summary->parameter[j].log_ratio += log(ratio);
            summary->parameter[j].n_ratio++;
        }
    }
}

static void add_success(struct show_summary *summary, const struct result_info *info,
                        const char *id, const struct fit_record *record, double *scratch)
{
    summary->n_success++;
    summary->by_stop[record->stop < N_STOP ? record->stop : 0]++;
    for (size_t j = 0; j < info->n_parameter; j++) {
        summary->parameter[j].n_at_lower += record->at_bound[j] < 0;
        summary->parameter[j].n_at_upper += record->at_bound[j] > 0;
        summary->parameter[j].n_lack[record->lack[j] < N_LACK ? record->lack[j] : 0]++;
    }
    add_flat(summary, info, id, record, scratch);
    add_refits(summary, info, id, record);
}

static void add_fit(struct show_summary *summary, struct sample *sample,
                    const struct result_info *info, uint64_t row, const char *id,
                    const char *message, const struct fit_record *record, double *scratch)
{
    enum outcome outcome =
        record->outcome < N_OUTCOME ? (enum outcome)record->outcome : OUTCOME_not_run;
    digest_add(&summary->digest, id, record, info->n_parameter);
    add_slow(summary, id, record);
    if (!outcome_is_success(outcome)) {
        add_to_group(summary, id, outcome, message);
        return;
    }
    add_success(summary, info, id, record, scratch);
    if (row % sample->every == 0 && sample->n < sample->capacity)
        add_to_sample(sample, record, info->n_parameter);
}

/* Quartiles and a small histogram. With at least this many numbers, the outermost hundredths are
 * cut off the histogram if they would take most of its axis; then likewise numbers that lie more
 * than so many distances of the quartiles beyond these, of which there may be any number. */
enum { CUT_FROM = 100, FENCE_FROM = 5 };
/* numbers that differ by less have one bin */
static const double SAME = 1e-4;
static const double CUT_PART = 0.01, CUT_AXIS = 3, FENCE = 3;

/* Sorts the numbers. */
static double median_of(double *numbers, uint64_t n)
{
    if (n == 0)
        return NAN;
    digest_sort(numbers, n);
    return digest_sorted_quantile(numbers, n, 0.5);
}

static double on_axis(const struct show_spread *spread, double x)
{
    return spread->is_log ? log(x) : x;
}

/* The axis ends at the outermost numbers within the fences, which are Tukey's (1977), if what is
 * beyond would take most of it. */
static void cut_at_fences(struct show_spread *spread, const double *sorted, uint64_t n)
{
    double q25 = on_axis(spread, spread->q25), q75 = on_axis(spread, spread->q75),
           low = q25 - FENCE * (q75 - q25), high = q75 + FENCE * (q75 - q25);
    uint64_t first = 0, last = n - 1;
    while (first < last && on_axis(spread, sorted[first]) < low)
        first++;
    while (last > first && on_axis(spread, sorted[last]) > high)
        last--;
    double kept = on_axis(spread, sorted[last]) - on_axis(spread, sorted[first]);
    if (kept > 0 &&
        on_axis(spread, spread->high) - on_axis(spread, spread->low) > CUT_AXIS * kept) {
        spread->is_cut = true;
        spread->low = sorted[first];
        spread->high = sorted[last];
    }
}

/* To the digits that reports show. */
static bool is_alike(double a, double b) { return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b)); }

int show_bin(const struct show_spread *spread, double value)
{
    double from = on_axis(spread, spread->low), width = on_axis(spread, spread->high) - from;
    if (!(width > 0))
        return is_alike(value, spread->low) ? SHOW_N_BIN / 2 : -1;
    if (!(value >= spread->low && value <= spread->high))
        return -1;
    int bin = (int)((on_axis(spread, value) - from) / width * SHOW_N_BIN);
    return bin < SHOW_N_BIN ? bin : SHOW_N_BIN - 1;
}

static void fill_bins(struct show_spread *spread, const double *sorted, uint64_t n)
{
    spread->low = spread->min;
    spread->high = spread->max;
    if (n >= CUT_FROM) {
        double low = digest_sorted_quantile(sorted, n, CUT_PART),
               high = digest_sorted_quantile(sorted, n, 1 - CUT_PART);
        double whole = on_axis(spread, spread->max) - on_axis(spread, spread->min);
        spread->is_cut =
            whole > CUT_AXIS * (on_axis(spread, high) - on_axis(spread, low)) && high > low;
        if (spread->is_cut) {
            spread->low = low;
            spread->high = high;
        }
    }
    if (n >= FENCE_FROM)
        cut_at_fences(spread, sorted, n);
    if (is_alike(spread->low, spread->high))
        spread->low = spread->high = spread->median;
    for (uint64_t i = 0; i < n; i++) {
        int bin = show_bin(spread, sorted[i]);
        if (bin >= 0)
            spread->bin[bin]++;
    }
}

void show_fill_spread(struct show_spread *spread, double *numbers, uint64_t n, bool is_log)
{
    uint64_t n_finite = 0;
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            numbers[n_finite++] = numbers[i];
    spread->min = spread->q25 = spread->median = spread->q75 = spread->max = spread->low =
        spread->high = NAN;
    if (n_finite == 0)
        return;
    digest_sort(numbers, n_finite);
    spread->min = numbers[0];
    spread->q25 = digest_sorted_quantile(numbers, n_finite, 0.25);
    spread->median = digest_sorted_quantile(numbers, n_finite, 0.5);
    spread->q75 = digest_sorted_quantile(numbers, n_finite, 0.75);
    spread->max = numbers[n_finite - 1];
    spread->is_log = is_log && spread->min > 0;
    fill_bins(spread, numbers, n_finite);
}

/* Largest group first; equal ones in order of appearance. */
static void sort_groups(struct show_summary *summary)
{
    for (size_t i = 1; i < summary->n_group; i++) {
        struct show_group group = summary->group[i];
        size_t place = i;
        for (; place > 0 && summary->group[place - 1].fits.n < group.fits.n; place--)
            summary->group[place] = summary->group[place - 1];
        summary->group[place] = group;
    }
}

static void fill_spreads(struct show_summary *summary, const struct sample *sample,
                         const struct result_info *info)
{
    size_t n_parameter = info->n_parameter;
    summary->n_sampled = sample->n;
    for (size_t j = 0; j < n_parameter; j++) {
        bool is_log = info->parameter_scale && strncmp(info->parameter_scale[j], "log", 3) == 0;
        show_fill_spread(&summary->parameter[j], sample->number + j * sample->capacity, sample->n,
                         is_log);
        double *errors = sample->number + (n_parameter + N_SINGLE + j) * sample->capacity;
        uint64_t n = 0;
        for (uint64_t i = 0; i < sample->n; i++)
            if (isfinite(errors[i]))
                errors[n++] = errors[i];
        summary->parameter[j].error = median_of(errors, n);
    }
    struct show_spread *const single[N_SINGLE] = {&summary->objective, &summary->reduced,
                                                  &summary->r_squared};
    for (size_t k = 0; k < N_SINGLE; k++)
        show_fill_spread(single[k], sample->number + (n_parameter + k) * sample->capacity,
                         sample->n, k < 2);
}

enum status show_summarise(struct result *result, const struct row_words *rows,
                           struct show_summary *summary, struct error *error)
{
    const struct result_info *info = result_info(result);
    size_t n_parameter = info->n_parameter;
    struct sample sample = {.every = 1};
    struct result_block block = {0};
    struct row_filter filter;
    memset(summary, 0, sizeof *summary);
    enum status status = row_filter_init(&filter, rows, result, error);
    while (info->n_fit / sample.every > max_number / (2 * n_parameter + N_SINGLE))
        sample.every++;
    sample.capacity = info->n_fit / sample.every + 1;
    summary->parameter = calloc(n_parameter + 1, sizeof *summary->parameter);
    summary->weights = calloc((SHOW_N_FLAT + 1) * (n_parameter + 1), sizeof *summary->weights);
    sample.number = malloc(sample.capacity * (2 * n_parameter + N_SINGLE) * sizeof(double));
    if (!status && (!summary->parameter || !summary->weights || !sample.number))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %llu fits",
                           (unsigned long long)info->n_fit);
    result_ignore(result, FIT_COLUMN_COVARIANCE); /* by far the largest, and not shown */
    while (!status && result_next(result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++)
            if (row_filter_takes(&filter, block.id[i], &block.record[i]))
                add_fit(summary, &sample, info, block.first + i, block.id[i], block.reason[i],
                        &block.record[i], summary->weights + SHOW_N_FLAT * n_parameter);
    sort_groups(summary);
    if (!status)
        fill_spreads(summary, &sample, info);
    row_filter_fini(&filter);
    result_block_fini(&block);
    free(sample.number);
    return status;
}

void show_summary_fini(struct show_summary *summary)
{
    free(summary->parameter);
    free(summary->weights);
    summary->parameter = NULL;
    summary->weights = NULL;
}

bool show_correlation(const struct result_info *info, const struct fit_record *record,
                      double *correlation)
{
    size_t n = info->n_parameter;
    bool any = false;
    for (size_t c = 0; c < n && record->covariance; c++)
        for (size_t d = 0; d < n; d++) {
            correlation[d + c * n] = fit_correlation(record, n, c, d);
            any = any || isfinite(correlation[d + c * n]);
        }
    return any;
}

double show_error_ratio(const struct show_spread *spread)
{
    return spread->n_ratio ? exp(spread->log_ratio / (double)spread->n_ratio) : (double)NAN;
}

const char *show_selection(const struct result_info *info)
{
    const char *selection = provenance_fact(&info->provenance, "selection");
    const char *merged = provenance_fact(&info->provenance, "merged");
    if (info->n_fit == info->identity.n_dataset)
        return NULL;
    return selection ? selection : merged ? merged : info->identity.selection;
}
