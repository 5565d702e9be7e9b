/* One pass over a result: counts, groups of failures, the slowest fits, quartiles.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 4096 };
/* Quartiles need their numbers in memory: beyond so many, every k-th fit is taken. */
static const uint64_t max_number = 16000000;

/* Whether two messages differ in numbers only. */
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

static void add_to_group(struct show_summary *summary, const char *id, enum outcome outcome, const char *message)
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
    if (group->n < SHOW_N_EXAMPLE)
        snprintf(group->example[group->n], SHOW_ID_LENGTH, "%s", id);
    group->n++;
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
    memmove(&summary->slow[place + 1], &summary->slow[place], (summary->n_slow - place - 1) * sizeof *summary->slow);
    struct show_slow *slow = &summary->slow[place];
    snprintf(slow->id, sizeof slow->id, "%s", id);
    slow->seconds = record->seconds;
    slow->n_evaluation = record->n_evaluation;
    slow->n_step = record->n_step;
    slow->outcome = (enum outcome)record->outcome;
}

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

static void spread_of(double *numbers, uint64_t n, struct show_spread *spread)
{
    spread->min = spread->q25 = spread->median = spread->q75 = spread->max = NAN;
    if (n == 0)
        return;
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    spread->min = numbers[0];
    spread->q25 = quantile(numbers, n, 0.25);
    spread->median = quantile(numbers, n, 0.5);
    spread->q75 = quantile(numbers, n, 0.75);
    spread->max = numbers[n - 1];
}

struct sample {
    double *number; /* column after column: n_parameter + 1 (the objective) of `capacity` */
    uint64_t capacity, n, every;
};

static void add_to_sample(struct sample *sample, const struct fit_record *record, size_t n_parameter)
{
    for (size_t j = 0; j < n_parameter; j++)
        sample->number[j * sample->capacity + sample->n] = record->parameter[j];
    sample->number[n_parameter * sample->capacity + sample->n] = record->objective;
    sample->n++;
}

static void add_fit(struct show_summary *summary, struct sample *sample, size_t n_parameter, uint64_t row, const char *id,
                    const char *message, const struct fit_record *record)
{
    enum outcome outcome = record->outcome < N_OUTCOME ? (enum outcome)record->outcome : OUTCOME_not_run;
    summary->by_outcome[outcome]++;
    summary->seconds += record->seconds;
    for (int bit = 0; bit < 32; bit++)
        summary->by_note[bit] += record->notes >> bit & 1;
    add_slow(summary, id, record);
    if (!outcome_is_success(outcome)) {
        add_to_group(summary, id, outcome, message);
        return;
    }
    summary->n_success++;
    for (size_t j = 0; j < n_parameter; j++) {
        summary->parameter[j].n_at_lower += record->at_bound[j] < 0;
        summary->parameter[j].n_at_upper += record->at_bound[j] > 0;
    }
    if (row % sample->every == 0 && sample->n < sample->capacity)
        add_to_sample(sample, record, n_parameter);
}

enum status show_summarise(struct result *result, struct show_summary *summary, struct error *error)
{
    const struct result_info *info = result_info(result);
    size_t n_parameter = info->n_parameter;
    struct sample sample = {.every = 1};
    struct result_block block = {0};
    enum status status = STATUS_OK;
    memset(summary, 0, sizeof *summary);
    while (info->n_fit / sample.every > max_number / (n_parameter + 1))
        sample.every++;
    sample.capacity = info->n_fit / sample.every + 1;
    summary->n_fit = info->n_fit;
    summary->parameter = calloc(n_parameter + 1, sizeof *summary->parameter);
    sample.number = malloc(sample.capacity * (n_parameter + 1) * sizeof(double));
    if (!summary->parameter || !sample.number) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %llu fits", (unsigned long long)info->n_fit);
        goto done;
    }
    for (uint64_t first = 0; first < info->n_fit; first += block.n) {
        if ((status = result_read(result, &block, first, ROWS_AT_ONCE, error)) || block.n == 0)
            break;
        for (size_t i = 0; i < block.n; i++)
            add_fit(summary, &sample, n_parameter, first + i, block.id[i], block.reason[i], &block.record[i]);
    }
    summary->n_sampled = sample.n;
    for (size_t j = 0; !status && j <= n_parameter; j++)
        spread_of(sample.number + j * sample.capacity, sample.n,
                  j < n_parameter ? &summary->parameter[j] : &summary->objective);
done:
    result_block_fini(&block);
    free(sample.number);
    return status;
}

void show_summary_fini(struct show_summary *summary)
{
    free(summary->parameter);
    summary->parameter = NULL;
}
