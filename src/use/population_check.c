/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/population_check.h"

#include "fit/distribution.h"
#include "use/population_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Replicates of each dataset. Only every so many datasets are used if there are more numbers than
 * MOST, or more datasets than MOST_DATASETS; or more than FEW that take MOST_STEPS of the
 * integrator, about 20 s. */
enum { N_REPLICATE = 200, MOST = 10000000 };
enum { MOST_DATASETS = 1000, FEW = 50, MOST_STEPS = 40000000 };

const double check_share[CHECK_N_QUANTILE] = {0.05, 0.5, 0.95};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the check of a population");
}

static int compare_points(const void *left, const void *right)
{
    const struct check_point *a = left, *b = right;
    if (a->observable != b->observable)
        return a->observable < b->observable ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of n sorted numbers, linear between them, as NumPy's; NaN: there are none. */
static double quantile(const double *sorted, size_t n, double share)
{
    double place = share * (double)(n - 1);
    size_t low = n ? (size_t)place : 0;
    if (n == 0)
        return NAN;
    return low + 1 < n ? sorted[low] + (place - (double)low) * (sorted[low + 1] - sorted[low])
                       : sorted[n - 1];
}

/* Drops NaN and sorts; returns how many are left. */
static size_t sort_numbers(double *number, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(number[i]))
            number[kept++] = number[i];
    qsort(number, kept, sizeof *number, compare_numbers);
    return kept;
}

/* Room for another dataset, with n points. */
static bool reserve(struct population_check *check, size_t *room, size_t n)
{
    size_t each = check->n_covariate + check->r;
    double *dataset =
        realloc(check->dataset, ((check->n_dataset + 1) * each + 1) * sizeof *dataset);
    if (!dataset)
        return false;
    check->dataset = dataset;
    if (check->n_point + n <= *room)
        return true;
    size_t more = 2 * (check->n_point + n);
    struct check_point *point = realloc(check->point, more * sizeof *point);
    if (point)
        check->point = point;
    double *replicate = realloc(check->replicate, more * check->n_replicate * sizeof *replicate);
    if (replicate)
        check->replicate = replicate;
    *room = point && replicate ? more : *room;
    return point && replicate;
}

/* A predictive distribution's median, and the measurement's rank in it, with ties halved. */
static void judge(const struct population_check *check, struct check_point *point, double *scratch)
{
    const double *of = check->replicate + point->row * check->n_replicate;
    double below = 0;
    memcpy(scratch, of, check->n_replicate * sizeof *scratch);
    size_t n = sort_numbers(scratch, check->n_replicate);
    for (size_t k = 0; k < n; k++)
        below += scratch[k] < point->value ? 1 : 0.5 * (scratch[k] == point->value);
    point->middle = quantile(scratch, n, 0.5);
    point->score = distribution_normal_quantile((below + 0.5) / ((double)n + 1));
}

static void take_parameters(struct population_check *check, const struct population_draw *draw,
                            const struct fitted_dataset *data)
{
    size_t n = check->n_covariate + check->r;
    double *to = check->dataset + check->n_dataset * n;
    memcpy(to, data->block->covariate + data->first * check->n_covariate,
           check->n_covariate * sizeof *to);
    for (size_t i = 0; i < check->r; i++)
        to[check->n_covariate + i] =
            data->p ? data->record->parameter[draw->random[i]] : (double)NAN;
}

/* Predictions of both kinds, and all replicates, of a dataset's measurements. */
static void take_dataset(struct population_check *check, struct population_draw *draw,
                         const struct fitted_dataset *data)
{
    const struct problem_block *block = data->block;
    size_t first = block->row[data->first], n = block->row[data->end] - first;
    size_t at = check->n_point;
    const struct measurements measured = measurements_from(&block->measured, first);
    struct check_point *point = check->point + at;
    take_parameters(check, draw, data);
    population_draw_predict(draw, data, draw->start);
    for (size_t i = 0; i < n; i++)
        point[i] = (struct check_point){.observable = measured.observable[i],
                                        .time = measured.time[i], .value = measured.value[i],
                                        .typical = draw->prediction[i], .individual = NAN,
                                        .row = at + i};
    if (data->p)
        population_draw_predict(draw, data, data->record->parameter);
    for (size_t i = 0; i < n && data->p; i++)
        point[i].individual = draw->prediction[i];
    for (size_t k = 0; k < check->n_replicate; k++) {
        population_draw_replicate(draw, data, k + 1);
        for (size_t i = 0; i < n; i++)
            check->replicate[(at + i) * check->n_replicate + k] = draw->value[i];
    }
    check->n_point += n;
    check->n_dataset++;
}

/* Every how many datasets are used; the record is of the first one. */
static uint64_t choose_each(const struct problem_info *info, const struct fit_record *record)
{
    double steps = record->n_evaluation > 0
                       ? (double)record->n_step / (double)record->n_evaluation : 0;
    double most = fmax(FEW, fmin(MOST_DATASETS, MOST_STEPS / (N_REPLICATE * fmax(steps, 1))));
    uint64_t by_numbers = info->n_measurement * N_REPLICATE / MOST + 1;
    uint64_t by_datasets = (uint64_t)ceil((double)info->n_dataset / floor(most));
    return by_numbers > by_datasets ? by_numbers : by_datasets;
}

static enum status take_all(struct population_check *check, struct population_draw *draw,
                            struct error *error)
{
    struct fitted *fitted = draw->fitted;
    const struct problem_info *info = problem_info(fitted->problem);
    uint64_t each = 1;
    struct fitted_dataset data;
    enum status status = STATUS_OK;
    size_t room = 0;
    bool more;
    for (uint64_t d = 0; !status; d++) {
        status = fitted_next(fitted, &data, &more, error);
        if (status || !more)
            break;
        if (d == 0)
            each = choose_each(info, data.record);
        if (data.fault || d % each)
            continue;
        status = population_draw_dataset(draw, &data, error);
        const size_t *row = data.block->row;
        if (!status && !reserve(check, &room, row[data.end] - row[data.first]))
            status = no_memory(error);
        if (!status)
            take_dataset(check, draw, &data);
    }
    return status;
}

/* The quantiles of a bin's measurements, and of their replicates. */
static void fill_bin(const struct population_check *check, struct check_bin *bin,
                     const struct check_point *point, double *scratch)
{
    size_t n_replicate = check->n_replicate, n = 0;
    double *of = scratch + bin->n; /* CHECK_N_QUANTILE x n_replicate */
    for (size_t i = 0; i < bin->n; i++)
        scratch[n++] = point[i].value;
    n = sort_numbers(scratch, n);
    for (int q = 0; q < CHECK_N_QUANTILE; q++)
        bin->data[q] = quantile(scratch, n, check_share[q]);
    for (size_t k = 0; k < n_replicate; k++) {
        for (size_t i = 0; i < bin->n; i++)
            scratch[i] = check->replicate[point[i].row * n_replicate + k];
        n = sort_numbers(scratch, bin->n);
        for (int q = 0; q < CHECK_N_QUANTILE; q++)
            of[(size_t)q * n_replicate + k] = quantile(scratch, n, check_share[q]);
    }
    for (int q = 0; q < CHECK_N_QUANTILE; q++) {
        double *sorted = of + (size_t)q * n_replicate;
        n = sort_numbers(sorted, n_replicate);
        bin->lower[q] = quantile(sorted, n, 0.05);
        bin->middle[q] = quantile(sorted, n, 0.5);
        bin->upper[q] = quantile(sorted, n, 0.95);
    }
}

/* The end of the bin that begins at point i of an observable whose points end at `end`: those of a
 * time, if there are few times, otherwise as many points in each. */
static size_t bin_end(const struct check_point *point, size_t i, size_t end, size_t n_in_bin)
{
    size_t next = i + n_in_bin < end ? i + n_in_bin : end;
    while (next < end && point[next].time == point[next - 1].time)
        next++;
    return next;
}

static size_t count_times(const struct check_point *point, size_t n)
{
    size_t n_time = n > 0;
    for (size_t i = 1; i < n; i++)
        n_time += point[i].time != point[i - 1].time;
    return n_time;
}

static void make_bins(struct population_check *check, double *scratch)
{
    const struct check_point *point = check->point;
    for (size_t first = 0, end; first < check->n_point; first = end) {
        for (end = first; end < check->n_point
                          && point[end].observable == point[first].observable;)
            end++;
        size_t n = end - first, n_time = count_times(point + first, n);
        size_t n_in_bin = n_time <= CHECK_MOST_BIN ? 1 : n / CHECK_N_BIN + 1;
        for (size_t i = first, next; i < end; i = next) {
            next = bin_end(point, i, end, n_in_bin);
            struct check_bin *bin = &check->bin[check->n_bin++];
            *bin = (struct check_bin){.observable = point[i].observable, .n = next - i,
                                      .time = point[i + (next - i) / 2].time,
                                      .first = point[i].time, .last = point[next - 1].time};
            fill_bin(check, bin, point + i, scratch);
        }
    }
}

/* Missing measurements go; the others are sorted, judged and put into bins. */
static enum status summarise(struct population_check *check, uint32_t n_observable,
                             struct error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < check->n_point; i++)
        if (!isnan(check->point[i].value))
            check->point[kept++] = check->point[i];
    check->n_point = kept;
    double *scratch = calloc(kept + CHECK_N_QUANTILE * check->n_replicate + 1, sizeof *scratch);
    check->bin = calloc((size_t)n_observable * CHECK_MOST_BIN + 1, sizeof *check->bin);
    bool is_good = scratch && check->bin;
    if (is_good && kept > 1)
        qsort(check->point, kept, sizeof *check->point, compare_points);
    for (size_t i = 0; i < kept && is_good; i++)
        judge(check, &check->point[i], scratch);
    if (is_good)
        make_bins(check, scratch);
    free(scratch);
    return is_good ? STATUS_OK : no_memory(error);
}

enum status population_check_make(struct population_check *check, struct fitted *fitted,
                                  uint64_t seed, struct error *error)
{
    struct population_draw draw = {.n_room = 0};
    check->n_replicate = N_REPLICATE;
    enum status status = population_draw_init(&draw, fitted, seed, "the check", error);
    check->n_covariate = fitted->model.abi.n_covariate;
    check->r = status ? 0 : draw.population->r;
    if (!status)
        status = take_all(check, &draw, error);
    if (!status)
        status = summarise(check, fitted->model.abi.n_observable, error);
    population_draw_fini(&draw);
    return status;
}

void population_check_fini(struct population_check *check)
{
    free(check->point);
    free(check->bin);
    free(check->replicate);
    free(check->dataset);
    *check = (struct population_check){.n_point = 0};
}
