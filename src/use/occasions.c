/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/occasions.h"

#include <math.h>
#include <string.h>

/* In standard deviations over experiments: the step of difference quotients; the step towards the
 * mode below which it counts as found; and the longest one. */
static const double DIFFERENCE = 0.02, FOUND = 1e-4, LONGEST = 2;
enum { MOST_STEPS = 30 };

static bool reserve(struct fitted *fitted, size_t n, size_t n_row)
{
    struct arena *arena = &fitted->of_occasions;
    struct occasions *own = fitted->occasions;
    size_t q = fitted->population->q, n_parameter = problem_n_parameter(fitted->problem);
    if (own && n <= own->n_experiment && n_row <= own->n_row)
        return true;
    n = own && own->n_experiment > n ? own->n_experiment : n;
    n_row = own && own->n_row > n_row ? own->n_row : n_row;
    arena_reset(arena);
    fitted->occasions = NULL;
    if (!(own = arena_calloc(arena, 1, sizeof *own))
        || !ARENA_DOUBLES(arena, {&own->effect, n, q}, {&own->other, n, q}, {&own->found, n, q},
                          {&own->found_by, n, n_parameter}, {&own->left, n, 1}, {&own->here, n, 1},
                          {&own->right, n, 1}, {&own->step, n, 1},
                          {&own->by_experiment, n, n_parameter}, {&own->prediction, n_row, 1},
                          {&own->noise, n_row, 1}))
        return false;
    own->n_experiment = n;
    own->n_row = n_row;
    fitted->occasions = own;
    return true;
}

double occasions_shift(const struct fitted *fitted, size_t i, double value, double by)
{
    const char *scale = problem_parameter_scale(fitted->problem)[i];
    double slope, factor = result_population_natural(scale, by, &slope);
    return strncmp(scale, "log", 3) ? value + by : value * factor;
}

void occasions_apply(const struct fitted *fitted, size_t n, const double *p, const double *effect,
                     double *by_experiment)
{
    size_t n_parameter = problem_n_parameter(fitted->problem), q = fitted->population->q;
    for (size_t e = 0; e < n; e++) {
        double *to = by_experiment + e * n_parameter;
        memcpy(to, p, n_parameter * sizeof *to);
        for (size_t o = 0; o < q && effect; o++) {
            size_t i = fitted->occasion[o];
            to[i] = occasions_shift(fitted, i, p[i], effect[e * q + o]);
        }
    }
}

/* What the measurements of each experiment, and what it adds, contribute to -log likelihood. An
 * experiment that cannot be simulated is infinitely unlikely. */
static void evaluate(struct fitted *fitted, const struct fitted_dataset *data, const double *effect,
                     double *value)
{
    struct occasions *occasions = fitted->occasions;
    const struct residual_kind errors = fitted_errors(fitted, data);
    const size_t *row = data->block->row;
    struct fitted_dataset there = *data;
    char reason[160];
    size_t q = fitted->population->q;
    there.by_experiment = occasions->by_experiment;
    occasions_apply(fitted, data->end - data->first, data->record->parameter, effect,
                    occasions->by_experiment);
    for (size_t e = data->first; e < data->end; e++) {
        size_t own = e - data->first;
        const struct predictor_rows rows = fitted_rows_at(fitted, &there, e);
        const struct measurements measured = measurements_from(&data->block->measured, row[e]);
        bool is_good = predictor_run(&fitted->predictor, &rows, occasions->prediction,
                                     occasions->noise, reason);
        value[own] = is_good ? 0 : INFINITY;
        for (size_t o = 0; o < q; o++) {
            double deviation = fitted->population->occasion_deviation[o];
            double z = deviation > 0 ? effect[own * q + o] / deviation : 0;
            value[own] += 0.5 * z * z;
        }
        for (size_t i = 0; i < row[e + 1] - row[e] && is_good; i++) {
            struct residual residual = residual_of(&errors, &measured, i, occasions->prediction[i],
                                                   occasions->noise[i]);
            if (!isnan(measured.value[i]))
                value[own] += isnan(residual.loss) ? INFINITY : residual.loss;
        }
    }
}

/* A step of each experiment's effect o towards its mode, by differences; returns the longest one in
 * standard deviations. Steps that do not lower the objective are shortened once, then left out. */
static double step_effect(struct fitted *fitted, const struct fitted_dataset *data, size_t o)
{
    struct occasions *own = fitted->occasions;
    size_t q = fitted->population->q, n = data->end - data->first;
    double deviation = fitted->population->occasion_deviation[o], longest = 0;
    double h = DIFFERENCE * deviation;
    memcpy(own->other, own->effect, n * q * sizeof *own->other);
    evaluate(fitted, data, own->effect, own->here);
    for (int side = -1; side <= 1; side += 2) {
        for (size_t e = 0; e < n; e++)
            own->other[e * q + o] = own->effect[e * q + o] + side * h;
        evaluate(fitted, data, own->other, side < 0 ? own->left : own->right);
    }
    for (size_t e = 0; e < n; e++) {
        double slope = (own->right[e] - own->left[e]) / (2 * h);
        double second = (own->right[e] - 2 * own->here[e] + own->left[e]) / (h * h);
        double step = -slope / fmax(second, 1 / (deviation * deviation));
        step = fmax(-LONGEST * deviation, fmin(LONGEST * deviation, step));
        own->step[e] = isfinite(step) ? step : 0;
    }
    for (int shortened = 0; shortened < 2; shortened++) {
        for (size_t e = 0; e < n; e++)
            own->other[e * q + o] = own->effect[e * q + o] + own->step[e];
        evaluate(fitted, data, own->other, own->left);
        for (size_t e = 0; e < n; e++) {
            bool is_lower = own->left[e] <= own->here[e];
            if (is_lower)
                own->effect[e * q + o] += own->step[e];
            longest = is_lower ? fmax(longest, fabs(own->step[e]) / deviation) : longest;
            own->step[e] *= is_lower ? 0 : 0.25;
        }
    }
    return longest;
}

/* Given the dataset's own parameters, what its experiments add is independent. */
bool occasions_find(struct fitted *fitted, const struct fitted_dataset *data)
{
    const size_t *row = data->block->row;
    size_t n = data->end - data->first, q = fitted->population->q;
    uint64_t dataset = data->block->dataset[data->row];
    double longest = INFINITY;
    if (fitted->occasions && fitted->occasions->is_found && fitted->occasions->dataset == dataset)
        return true;
    if (!reserve(fitted, n, row[data->end] - row[data->first] + 1))
        return false;
    struct occasions *own = fitted->occasions;
    memset(own->effect, 0, n * q * sizeof *own->effect);
    for (int i = 0; i < MOST_STEPS && longest > FOUND && !data->fault; i++) {
        longest = 0;
        for (size_t o = 0; o < q; o++)
            if (fitted->population->occasion_deviation[o] > 0)
                longest = fmax(longest, step_effect(fitted, data, o));
    }
    memcpy(own->found, own->effect, n * q * sizeof *own->found);
    occasions_apply(fitted, n, data->record->parameter, own->found, own->found_by);
    own->dataset = dataset;
    own->is_found = true;
    return true;
}
