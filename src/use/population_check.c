/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/population_check.h"

#include "use/population_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Only every so many datasets are used if there are more numbers than
 * MOST, or more datasets than MOST_DATASETS; or more than FEW that take MOST_STEPS of the
 * integrator, about 20 s. */
enum { MOST = 10000000 };
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

static void take_parameters(struct population_check *check, const struct population_draw *draw,
                            const struct fitted_dataset *data)
{
    size_t n = check->n_covariate + check->r;
    double *to = check->dataset + check->n_dataset * n;
    memcpy(to, data->block->experiment[data->first].covariate,
           check->n_covariate * sizeof *to);
    for (size_t i = 0; i < check->r; i++)
        to[check->n_covariate + i] =
            data->p ? data->record->parameter[draw->random[i]] : (double)NAN;
}

/* What the population says of a dataset's measurements. */
static void take_dataset(struct population_check *check, const struct population_view *view,
                         const struct fitted_dataset *data)
{
    const struct problem_block *block = data->block;
    size_t at = check->n_point;
    const struct measurements measured =
        measurements_from(&block->measured, block->row[data->first]);
    struct check_point *point = check->point + at;
    take_parameters(check, &view->draw, data);
    for (size_t i = 0; i < view->n; i++) {
        bool in_interval = measurements_in_interval(&measured, i);
        point[i] = (struct check_point){
            .observable = measured.observable[i], .time = measured.time[i],
            .value = in_interval ? view->value[i] : measured.value[i],
            .censored = in_interval ? 0 : measured.censored[i],
            .typical = view->typical[i], .individual = view->individual[i],
            .conditional = view->conditional[i], .score = view->score[i],
            .decorrelated = view->decorrelated[i], .row = at + i};
    }
    memcpy(check->replicate + at * check->n_replicate, view->replicate,
           view->n * check->n_replicate * sizeof *check->replicate);
    check->n_point += view->n;
    check->n_dataset++;
}

/* Every how many datasets are used; the record is of the first one. */
static uint64_t choose_each(const struct problem_info *info, const struct fit_record *record,
                            size_t n_replicate)
{
    double steps = record->n_evaluation > 0
                       ? (double)record->n_step / (double)record->n_evaluation : 0;
    double most =
        fmax(FEW, fmin(MOST_DATASETS, MOST_STEPS / ((double)n_replicate * fmax(steps, 1))));
    uint64_t by_numbers = info->n_measurement * n_replicate / MOST + 1;
    uint64_t by_datasets = (uint64_t)ceil((double)info->n_dataset / floor(most));
    return by_numbers > by_datasets ? by_numbers : by_datasets;
}

static enum status take_all(struct population_check *check, struct population_view *view,
                            struct error *error)
{
    struct fitted *fitted = view->draw.fitted;
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
            each = choose_each(info, data.record, check->n_replicate);
        if (data.fault || d % each)
            continue;
        status = population_view_dataset(view, &data, error);
        const size_t *row = data.block->row;
        if (!status && !reserve(check, &room, row[data.end] - row[data.first]))
            status = no_memory(error);
        if (!status)
            take_dataset(check, view, &data);
    }
    return status;
}

/* A number of that point as the bins have it. */
static double corrected(const struct check_point *point, double value, bool corrects)
{
    return corrects ? value * point->factor + point->shift : value;
}

/* The values of a bin's points, or of replicate k (from 0) of them, sorted. What is below the
 * limit of a left-censored one, or above that of a right-censored one, counts as this limit: the
 * data do not say more. */
static size_t sort_bin(const struct population_check *check, size_t n,
                       const struct check_point *point, bool corrects, const size_t *k,
                       double *sorted)
{
    double lowest = -INFINITY, highest = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double limit = corrected(&point[i], point[i].value, corrects);
        if (point[i].censored > 0 && limit > lowest)
            lowest = limit;
        if (point[i].censored < 0 && limit < highest)
            highest = limit;
    }
    for (size_t i = 0; i < n; i++) {
        double value =
            k ? check->replicate[point[i].row * check->n_replicate + *k] : point[i].value;
        value = corrected(&point[i], value, corrects);
        sorted[i] = isnan(value) ? value : fmin(fmax(value, lowest), highest);
    }
    return view_sort(sorted, n);
}

/* The quantiles of a bin's measurements, and of their replicates. */
static void fill_bin(const struct population_check *check, struct check_bin *bin,
                     const struct check_point *point, bool corrects, double *scratch)
{
    size_t n_replicate = check->n_replicate;
    double *of = scratch + bin->n; /* CHECK_N_QUANTILE x n_replicate */
    size_t n = sort_bin(check, bin->n, point, corrects, NULL, scratch);
    for (int q = 0; q < CHECK_N_QUANTILE; q++)
        bin->data[q] = view_quantile(scratch, n, check_share[q]);
    for (size_t k = 0; k < n_replicate; k++) {
        n = sort_bin(check, bin->n, point, corrects, &k, scratch);
        for (int q = 0; q < CHECK_N_QUANTILE; q++)
            of[(size_t)q * n_replicate + k] = view_quantile(scratch, n, check_share[q]);
    }
    for (int q = 0; q < CHECK_N_QUANTILE; q++) {
        double *sorted = of + (size_t)q * n_replicate;
        n = view_sort(sorted, n_replicate);
        bin->lower[q] = view_quantile(sorted, n, 0.05);
        bin->middle[q] = view_quantile(sorted, n, 0.5);
        bin->upper[q] = view_quantile(sorted, n, 0.95);
    }
}

/* How each value of a bin's points is made one of a point with the bin's median prediction: by a
 * ratio, or by a difference (Bergstrand et al. 2011, equations 3 and 4, with a lower bound of
 * 0). */
static void correct(struct check_point *point, size_t n, bool by_difference, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = point[i].typical;
    double middle = view_quantile(scratch, view_sort(scratch, n), 0.5);
    for (size_t i = 0; i < n; i++) {
        bool is_same = point[i].typical == middle; /* both may be 0 */
        point[i].factor = is_same || by_difference ? 1 : middle / point[i].typical;
        point[i].shift = by_difference ? middle - point[i].typical : 0;
        if (!isfinite(point[i].factor) || !isfinite(point[i].shift))
            point[i].factor = NAN;
    }
}

bool population_check_differs(const struct population_check *check, uint32_t observable)
{
    for (size_t i = 0; i < check->n_point; i++)
        if (check->point[i].observable == observable && check->point[i].typical < 0)
            return true;
    return false;
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
    struct check_point *point = check->point;
    for (size_t first = 0, end; first < check->n_point; first = end) {
        bool by_difference = population_check_differs(check, point[first].observable);
        for (end = first; end < check->n_point
                          && point[end].observable == point[first].observable;)
            end++;
        size_t n = end - first, n_time = count_times(point + first, n);
        size_t n_in_bin = n_time <= CHECK_MOST_BIN ? 1 : n / CHECK_N_BIN + 1;
        for (size_t i = first, next; i < end; i = next) {
            next = bin_end(point, i, end, n_in_bin);
            struct check_bin *bin = &check->bin[check->n_bin];
            struct check_bin *other = &check->corrected[check->n_bin++];
            *bin = (struct check_bin){.observable = point[i].observable, .n = next - i,
                                      .time = point[i + (next - i) / 2].time,
                                      .first = point[i].time, .last = point[next - 1].time};
            *other = *bin;
            fill_bin(check, bin, point + i, false, scratch);
            correct(point + i, bin->n, by_difference, scratch);
            fill_bin(check, other, point + i, true, scratch);
        }
    }
}

/* Missing measurements go; the others are sorted and put into bins. */
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
    check->corrected = calloc((size_t)n_observable * CHECK_MOST_BIN + 1, sizeof *check->bin);
    bool is_good = scratch && check->bin && check->corrected;
    if (is_good && kept > 1)
        qsort(check->point, kept, sizeof *check->point, compare_points);
    if (is_good)
        make_bins(check, scratch);
    free(scratch);
    return is_good ? STATUS_OK : no_memory(error);
}

enum status population_check_make(struct population_check *check, struct fitted *fitted,
                                  const struct check_options *options, struct error *error)
{
    struct population_view view = {.n = 0};
    check->n_replicate = options->n_replicate;
    enum status status = population_view_init(&view, fitted, options->seed, options->n_replicate,
                                              "the check", error);
    check->n_covariate = fitted->model.abi.n_covariate;
    check->r = status ? 0 : view.draw.population->r;
    if (!status)
        status = take_all(check, &view, error);
    if (!status)
        status = summarise(check, fitted->model.abi.n_observable, error);
    population_view_fini(&view);
    return status;
}

void population_check_fini(struct population_check *check)
{
    free(check->point);
    free(check->bin);
    free(check->corrected);
    free(check->replicate);
    free(check->dataset);
    *check = (struct population_check){.n_point = 0};
}
