/* Computes the points and curves of one dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EXTRA = 400 }; /* times of doses, events and measurements in a grid, each */
/* The axis of time is logarithmic if half of the times lie in this part of it. */
static const double EARLY = 0.02;

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for a curve");
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int compare_points(const void *left, const void *right)
{
    const struct curve_point *a = left, *b = right;
    return a->observable != b->observable
               ? (a->observable > b->observable) - (a->observable < b->observable)
               : compare_numbers(&a->time, &b->time);
}

static void fill_point(struct curve_point *point, const struct residual_kind *errors,
                       const struct fitted_dataset *dataset, const struct measurements *measured,
                       size_t i, double prediction, double noise)
{
    const struct residual residual = residual_of(errors, measured, i, prediction, noise);
    bool has_sigma = isfinite(measured->sigma[i]) || isfinite(noise),
         is_log = errors->loss[measured->observable[i]].is_log;
    double value = measured->value[i], sigma = has_sigma ? residual.sigma : (double)NAN;
    *point = (struct curve_point){.time = measured->time[i],
                                  .value = value, .censored = measured->censored[i],
                                  .prediction = prediction,
                                  .low = is_log ? value * exp(-sigma) : value - sigma,
                                  .high = is_log ? value * exp(sigma) : value + sigma,
                                  .residual = residual.residual /
                                              (has_sigma ? residual.sigma
                                                         : dataset->record->residual_error),
                                  .observable = measured->observable[i]};
    if (measurements_in_interval(measured, i)) {
        point->low = fmin(value, measured->limit[i]);
        point->high = fmax(value, measured->limit[i]);
    }
}

static enum status fill_points(struct curves *curves, struct fitted *fitted,
                               const struct fitted_dataset *dataset, struct error *error)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->first];
    const struct measurements measured = measurements_from(&block->measured, first);
    const struct residual_kind errors = fitted_errors(fitted, dataset);
    for (size_t e = 0; e < curves->n_curve; e++) {
        struct curve *curve = &curves->curve[e];
        size_t i = block->row[dataset->first + e] - first,
               end = block->row[dataset->first + e + 1] - first;
        curve->experiment = problem_info(fitted->problem)->has_experiments
                                ? block->experiment[dataset->first + e].id
                                : "";
        curve->point = arena_alloc(&curves->arena, (end - i + 1) * sizeof *curve->point);
        if (!curve->point)
            return no_memory(error);
        for (; i < end; i++) {
            if (isnan(measured.value[i]) ||
                measured.observable[i] >= fitted->model.abi.n_observable)
                continue;
            if (!isfinite(measured.time[i]))
                curves->n_steady++;
            else
                fill_point(&curve->point[curve->n_point++], &errors, dataset, &measured, i,
                           fitted->prediction[i], fitted->noise[i]);
        }
        qsort(curve->point, curve->n_point, sizeof *curve->point, compare_points);
    }
    return STATUS_OK;
}

/* The observables that are shown, and the axis of time. */
static enum status choose_axes(struct curves *curves, const struct fitted *fitted,
                               struct error *error)
{
    size_t n = 0, n_observable = fitted->model.abi.n_observable;
    for (size_t e = 0; e < curves->n_curve; e++)
        n += curves->curve[e].n_point;
    unsigned char *seen = arena_calloc(&curves->arena, n_observable + 1, 1);
    double *time = arena_alloc(&curves->arena, (n + 1) * sizeof *time);
    curves->shown = arena_alloc(&curves->arena, (n_observable + 1) * sizeof *curves->shown);
    if (!seen || !time || !curves->shown)
        return no_memory(error);
    n = 0;
    for (size_t e = 0; e < curves->n_curve; e++)
        for (size_t i = 0; i < curves->curve[e].n_point; i++) {
            seen[curves->curve[e].point[i].observable] = 1;
            time[n++] = curves->curve[e].point[i].time;
        }
    for (uint32_t j = 0; j < n_observable; j++)
        if (seen[j] || n == 0)
            curves->shown[curves->n_shown++] = j;
    qsort(time, n, sizeof *time, compare_numbers);
    curves->is_log = n > 3 && time[0] > 0 && time[n / 2] < EARLY * time[n - 1];
    return STATUS_OK;
}

struct grid {
    size_t n, capacity;
    double *time, from, to;
};

static void add_time(struct grid *grid, double time)
{
    if (time >= grid->from && time <= grid->to && grid->n < grid->capacity)
        grid->time[grid->n++] = time;
}

/* The times at which the experiment is drawn, increasing. */
static enum status fill_grid(struct grid *grid, struct curves *curves, const struct curve *curve,
                             const struct predictor_rows *rows, size_t n_grid, struct error *error)
{
    double last = -INFINITY, first = INFINITY;
    size_t n_before = 0;
    for (size_t i = 0; i < curve->n_point; i++) {
        first = fmin(first, curve->point[i].time);
        last = fmax(last, curve->point[i].time);
    }
    grid->from = curves->is_log ? first : rows->experiment.t0;
    grid->to = fmax(last, rows->experiment.t0);
    grid->capacity = n_grid + 3 * MOST_EXTRA;
    grid->time = arena_alloc(&curves->arena, grid->capacity * sizeof *grid->time);
    if (!grid->time)
        return no_memory(error);
    if (!(last >= grid->from))
        return STATUS_OK;
    for (size_t i = 0; i < n_grid; i++) {
        double share = (double)i / (double)(n_grid - 1), ratio = log(grid->to / grid->from);
        add_time(grid, i + 1 == n_grid  ? grid->to
                       : curves->is_log ? grid->from * exp(share * ratio)
                                        : grid->from + share * (grid->to - grid->from));
    }
    for (size_t k = 0; k < rows->experiment.n_dose; k++) {
        const struct dose *dose = &rows->experiment.dose[k];
        for (uint32_t j = 0; j < dose->count && j < MOST_EXTRA && grid->n < n_grid + MOST_EXTRA;
             j++)
            add_time(grid, dose->time + j * dose->interval);
    }
    for (size_t k = 0; k < rows->experiment.n_call && k < MOST_EXTRA; k++)
        add_time(grid, rows->experiment.call[k].time);
    for (size_t i = 0; i < curve->n_point && i < MOST_EXTRA; i++)
        add_time(grid, curve->point[i].time);
    qsort(grid->time, grid->n, sizeof *grid->time, compare_numbers);
    for (size_t i = 0; i < grid->n; i++)
        if (n_before == 0 || grid->time[i] > grid->time[n_before - 1])
            grid->time[n_before++] = grid->time[i];
    grid->n = n_before;
    return STATUS_OK;
}

/* Copies the predictions, of which there are n_side for each time; equal ones of a time once. */
static void keep_values(struct curve *curve, const struct grid *grid, size_t n_side, size_t n_shown,
                        const double *prediction)
{
    for (size_t i = 0; i < grid->n * n_side; i++) {
        bool is_new = i % n_side == 0;
        for (size_t j = 0; j < n_shown && !is_new; j++)
            is_new = prediction[i * n_shown + j] != prediction[(i - 1) * n_shown + j] &&
                     !isnan(prediction[i * n_shown + j]);
        if (is_new)
            curve->time[curve->n_time++] = grid->time[i / n_side];
        for (size_t j = 0; j < n_shown && is_new; j++)
            curve->value[j * grid->n * n_side + curve->n_time - 1] = prediction[i * n_shown + j];
    }
    for (size_t j = 1; j < n_shown; j++)
        memmove(curve->value + j * curve->n_time, curve->value + j * grid->n * n_side,
                curve->n_time * sizeof *curve->value);
}

static enum status fill_curve(struct curves *curves, struct curve *curve, struct fitted *fitted,
                              const struct fitted_dataset *dataset, size_t e, size_t n_grid,
                              struct error *error)
{
    struct predictor_rows rows = fitted_rows(fitted, dataset, e);
    const struct stiffit_model *abi = &fitted->model.abi;
    const struct experiment *is = &rows.experiment;
    size_t n_side =
        abi->n_event > 0 || abi->n_input > 0 || is->n_dose > 0 || is->n_call > 0 ? 2 : 1;
    struct grid grid = {.n = 0};
    struct arena *arena = &curves->arena;
    char reason[sizeof curves->reason];
    enum status status = fill_grid(&grid, curves, curve, &rows, n_grid, error);
    size_t n_time = grid.n * n_side, n = n_time * curves->n_shown;
    if (status || n == 0)
        return status;
    double *time = arena_alloc(arena, n * sizeof *time),
           *prediction = arena_alloc(arena, n * sizeof *prediction);
    uint32_t *observable = arena_alloc(arena, n * sizeof *observable);
    int8_t *side = arena_alloc(arena, n * sizeof *side);
    curve->time = arena_alloc(arena, n_time * sizeof *curve->time);
    curve->value = arena_alloc(arena, n * sizeof *curve->value);
    if (!time || !prediction || !observable || !side || !curve->time || !curve->value)
        return no_memory(error);
    for (size_t i = 0; i < n; i++) {
        time[i] = grid.time[i / (n_side * curves->n_shown)];
        observable[i] = curves->shown[i % curves->n_shown];
        side[i] = n_side == 1 ? 0 : i / curves->n_shown % 2 ? 1 : -1;
    }
    rows.n = n;
    rows.n_measured = 0;
    rows.measured = (struct measurements){.time = time,
                                          .observable = observable,
                                          .side = n_side > 1 ? side : NULL};
    if (predictor_run(&fitted->predictor, &rows, prediction, NULL, reason))
        keep_values(curve, &grid, n_side, curves->n_shown, prediction);
    else
        memcpy(curves->reason, reason, sizeof reason);
    return STATUS_OK;
}

enum status curves_make(struct curves *curves, struct fitted *fitted,
                        const struct fitted_dataset *dataset, size_t n_grid, struct error *error)
{
    struct arena arena = curves->arena;
    bool predicted;
    arena_reset(&arena);
    *curves = (struct curves){.arena = arena, .id = dataset->id, .record = dataset->record,
                              .n_curve = dataset->fault ? 0 : dataset->end - dataset->first};
    if (dataset->fault)
        snprintf(curves->reason, sizeof curves->reason, "%s", dataset->fault);
    else if (!dataset->p)
        snprintf(curves->reason, sizeof curves->reason, "the dataset has no best fit");
    curves->curve = arena_calloc(&curves->arena, curves->n_curve + 1, sizeof *curves->curve);
    if (!curves->curve)
        return no_memory(error);
    enum status status =
        curves->n_curve ? fitted_predict(fitted, dataset, &predicted, error) : STATUS_OK;
    if (!status && curves->n_curve)
        status = fill_points(curves, fitted, dataset, error);
    if (!status)
        status = choose_axes(curves, fitted, error);
    for (size_t e = 0; !status && n_grid && dataset->p && e < curves->n_curve; e++)
        status = fill_curve(curves, &curves->curve[e], fitted, dataset, dataset->first + e, n_grid,
                            error);
    return status;
}

void curves_fini(struct curves *curves) { arena_fini(&curves->arena); }
