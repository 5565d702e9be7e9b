/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/population_view.h"

#include "base/random.h"
#include "fit/objective/distribution.h"
#include "fit/objective/matrix.h"
#include "use/population_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The stream of what is drawn for censored measurements. */
enum { PURPOSE_CENSORED = 5 };

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the check of a population");
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

size_t view_sort(double *number, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(number[i]))
            number[kept++] = number[i];
    qsort(number, kept, sizeof *number, compare_numbers);
    return kept;
}

double view_quantile(const double *sorted, size_t n, double share)
{
    double place = share * (double)(n - 1);
    size_t low = n ? (size_t)place : 0;
    if (n == 0)
        return NAN;
    return low + 1 < n ? sorted[low] + (place - (double)low) * (sorted[low + 1] - sorted[low])
                       : sorted[n - 1];
}

enum status population_view_init(struct population_view *view, struct fitted *fitted,
                                 uint64_t seed, size_t n_replicate, const char *who,
                                 struct error *error)
{
    view->n_replicate = n_replicate;
    return population_draw_init(&view->draw, fitted, seed, who, error);
}

void population_view_fini(struct population_view *view)
{
    population_draw_fini(&view->draw);
    free(view->typical);
    free(view->replicate);
    *view = (struct population_view){.n = 0};
}

static enum status reserve(struct population_view *view, size_t n, struct error *error)
{
    view->n = n;
    if (n < view->n_room)
        return STATUS_OK;
    free(view->typical);
    free(view->replicate);
    size_t room = view->n_room = 2 * n + 1;
    view->replicate = calloc(room * view->n_replicate + 1, sizeof *view->replicate);
    double *next = view->typical = calloc(8 * room, sizeof *view->typical);
    if (!view->replicate || !next)
        return no_memory(error);
    view->individual = next += room;
    view->weighted = next += room;
    view->conditional = next += room;
    view->middle = next += room;
    view->value = next += room;
    view->score = next += room;
    view->decorrelated = next + room;
    return STATUS_OK;
}

/* The share of the replicates of measurement i that are below `value`, with ties halved. */
static double rank_of(const double *replicate, size_t n_replicate, double value)
{
    double below = 0;
    size_t n = 0;
    for (size_t k = 0; k < n_replicate; k++) {
        below += replicate[k] < value ? 1 : 0.5 * (replicate[k] == value);
        n += !isnan(replicate[k]);
    }
    return (below + 0.5) / ((double)n + 1);
}

/* A share, from 0 to 1, of the replicates of a censored measurement that are possible for it;
 * share: of those below its value. */
static double possible_share(const struct measurements *measured, size_t i, const double *replicate,
                             size_t n_replicate, double share, double u)
{
    bool is_left = measured->censored[i] > 0;
    double other = is_left ? 0 : 1;
    if (measurements_in_interval(measured, i))
        other = rank_of(replicate, n_replicate, measured->limit[i]);
    return is_left ? other + u * (share - other) : other - u * (other - share);
}

static double clip(const struct measurements *measured, size_t i, double value)
{
    double a = measured->value[i], b = measured->limit[i];
    return fmin(fmax(value, fmin(a, b)), fmax(a, b));
}

/* Medians, values and scores. */
static void find_scores(struct population_view *view, const struct fitted_dataset *data,
                        double *sorted)
{
    double *value = view->value;
    const struct measurements measured =
        measurements_from(&data->block->measured, data->block->row[data->first]);
    uint64_t dataset = data->block->dataset[data->row];
    for (size_t i = 0; i < view->n; i++) {
        const double *replicate = view->replicate + i * view->n_replicate;
        double share = rank_of(replicate, view->n_replicate, measured.value[i]);
        value[i] = measured.value[i];
        view->middle[i] = view->score[i] = NAN;
        memcpy(sorted, replicate, view->n_replicate * sizeof *sorted);
        size_t n = view_sort(sorted, view->n_replicate);
        if (isnan(value[i]) || n == 0)
            continue;
        if (measured.censored[i]) {
            double u = random_uniform(view->draw.seed, random_stream(dataset, PURPOSE_CENSORED), i);
            share = possible_share(&measured, i, replicate, view->n_replicate, share, u);
            value[i] = view_quantile(sorted, n, share);
            if (measurements_in_interval(&measured, i)) /* perhaps no replicate is in it */
                value[i] = clip(&measured, i, value[i]);
        }
        view->middle[i] = view_quantile(sorted, n, 0.5);
        view->score[i] = distribution_normal_quantile(share);
    }
}

/* Scratch of the decorrelation: n measurements that are known, and replicates without NaN. */
struct decorrelation {
    size_t n, n_replicate;
    size_t *row;           /* n: of the dataset */
    double *value;         /* n */
    double *replicate;     /* n_replicate x n, those of a replicate side by side */
    double *mean, *covariance, *factor;
    uint32_t *index;
};

static bool make_decorrelation(struct decorrelation *to, const struct population_view *view,
                               struct arena *arena)
{
    size_t n = view->n, most = view->n_replicate;
    to->row = arena_calloc(arena, n + 1, sizeof *to->row);
    to->index = arena_calloc(arena, n + 1, sizeof *to->index);
    for (size_t i = 0; to->row && i < n; i++)
        if (!isnan(view->score[i]))
            to->row[to->n++] = i;
    n = to->n;
    if (!to->row || !to->index
        || !ARENA_DOUBLES(arena, {&to->value, n, 1}, {&to->replicate, most, n}, {&to->mean, n, 1},
                          {&to->covariance, n, n}, {&to->factor, n, n}))
        return false;
    for (size_t k = 0; k < most; k++) {
        double *of = to->replicate + to->n_replicate * n;
        bool is_good = true;
        for (size_t i = 0; i < n; i++) {
            of[i] = view->replicate[to->row[i] * most + k];
            is_good = is_good && isfinite(of[i]);
        }
        to->n_replicate += is_good;
    }
    for (uint32_t i = 0; i < n; i++) {
        to->index[i] = i;
        to->value[i] = view->value[to->row[i]];
    }
    return true;
}

/* Mean and covariance of the replicates; false: it has no factor. */
static bool factor_replicates(struct decorrelation *of)
{
    size_t n = of->n, m = of->n_replicate;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++)
            of->mean[i] += of->replicate[i + k * n] / (double)m;
        of->value[i] -= of->mean[i];
        for (size_t k = 0; k < m; k++)
            of->replicate[i + k * n] -= of->mean[i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < m; k++)
                sum += of->replicate[i + k * n] * of->replicate[j + k * n];
            of->covariance[i + j * n] = of->covariance[j + i * n] = sum / (double)(m - 1);
        }
    return matrix_factor(n, of->covariance, n, of->index, of->factor);
}

static bool decorrelate(struct population_view *view, struct arena *arena)
{
    struct decorrelation of = {.n = 0};
    for (size_t i = 0; i < view->n; i++)
        view->decorrelated[i] = NAN;
    if (!make_decorrelation(&of, view, arena))
        return false;
    if (of.n == 0 || of.n_replicate < VIEW_REPLICATES_EACH * of.n || !factor_replicates(&of))
        return true;
    matrix_solve_lower(of.n, of.factor, of.value);
    for (size_t k = 0; k < of.n_replicate; k++)
        matrix_solve_lower(of.n, of.factor, of.replicate + k * of.n);
    for (size_t i = 0; i < of.n; i++) {
        double below = 0;
        for (size_t k = 0; k < of.n_replicate; k++) {
            double other = of.replicate[i + k * of.n];
            below += other < of.value[i] ? 1 : 0.5 * (other == of.value[i]);
        }
        view->decorrelated[of.row[i]] =
            distribution_normal_quantile((below + 0.5) / ((double)of.n_replicate + 1));
    }
    return true;
}

static void take_replicates(struct population_view *view, const struct fitted_dataset *data)
{
    for (size_t k = 0; k < view->n_replicate; k++) {
        population_draw_replicate(&view->draw, data, k + 1);
        for (size_t i = 0; i < view->n; i++)
            view->replicate[i * view->n_replicate + k] = view->draw.value[i];
    }
}

enum status population_view_dataset(struct population_view *view, const struct fitted_dataset *data,
                                    struct error *error)
{
    const size_t *row = data->block->row;
    struct population_draw *draw = &view->draw;
    struct arena arena = {0};
    double *sorted;
    enum status status = population_draw_dataset(draw, data, error);
    if (!status)
        status = reserve(view, row[data->end] - row[data->first], error);
    if (status)
        return status;
    bool is_good = ARENA_DOUBLES(&arena, {&sorted, view->n_replicate, 1});
    if (is_good) {
        population_draw_predict(draw, data, draw->start, NULL);
        memcpy(view->typical, draw->prediction, view->n * sizeof *view->typical);
        is_good = population_mode_residuals(draw, data, view->individual, view->weighted,
                                            view->conditional, &arena);
    }
    if (is_good) {
        take_replicates(view, data);
        find_scores(view, data, sorted);
        is_good = decorrelate(view, &arena);
    }
    arena_fini(&arena);
    return is_good ? STATUS_OK : no_memory(error);
}
