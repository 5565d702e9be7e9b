/* Residuals around the mode of a dataset's random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/population_draw.h"

#include "fit/objective/matrix.h"
#include "use/occasions.h"

#include <math.h>
#include <string.h>

/* Steps of differences, in standard deviations over the population, and the tolerance for these. */
static const double DIFFERENCE = 0.01, TIGHTER = 1e-2;
/* The symmetric root of a covariance costs some 20 n^3; beyond so many measurements Cholesky's
 * factor takes its place. */
enum { MOST_SYMMETRIC = 128 };

struct around {
    struct population_draw *draw;
    const struct fitted_dataset *data;
    struct measurements measured;
    struct residual_kind errors;
    size_t n, n_experiment, r, q;
    double *p;                 /* n_parameter: at the mode, natural scale */
    double *moved;             /* n_parameter: scratch */
    double *effect, *other;    /* n_experiment x q */
    double *by;                /* n x (r + q): derivatives on the optimiser's scale */
};

static size_t experiment_of(const struct around *around, size_t i)
{
    const size_t *row = around->data->block->row;
    size_t e = around->data->first;
    while (row[e + 1] - row[around->data->first] <= i)
        e++;
    return e - around->data->first;
}

/* A prediction as residuals are of it. */
static double predicted(const struct around *around, size_t i)
{
    double value = around->draw->prediction[i];
    return around->errors.loss[around->measured.observable[i]].is_log ? log(value) : value;
}

/* Column `to` gets the derivatives by parameter i, or by what each experiment adds to it (o). */
static void differ(struct around *around, size_t i, const size_t *o, double deviation, double *to)
{
    struct population_draw *draw = around->draw;
    size_t n_parameter = problem_n_parameter(draw->fitted->problem), q = around->q;
    double h = DIFFERENCE * deviation;
    for (int side = 1; side >= -1 && deviation > 0; side -= 2) {
        memcpy(around->moved, around->p, n_parameter * sizeof *around->moved);
        memcpy(around->other, around->effect, around->n_experiment * q * sizeof *around->other);
        if (!o)
            around->moved[i] = occasions_shift(draw->fitted, i, around->p[i], side * h);
        for (size_t e = 0; o && e < around->n_experiment; e++)
            around->other[e * q + *o] += side * h;
        population_draw_predict(draw, around->data, around->moved, around->other);
        for (size_t k = 0; k < around->n; k++)
            to[k] = side > 0 ? predicted(around, k) : (to[k] - predicted(around, k)) / (2 * h);
    }
}

/* The random parameter i at the mode less its mean, on the optimiser's scale. */
static double effect_of(const struct around *around, size_t a)
{
    const struct result_population *population = around->draw->population;
    double value = around->p[around->draw->random[a]];
    if (!strncmp(population->scale[a], "log", 3))
        value = strcmp(population->scale[a], "log10") ? log(value) : log10(value);
    return value - population->mean[a];
}

/* The covariance of rows i and j but for the errors. */
static double covariance_of(const struct around *around, size_t i, size_t j, bool is_same)
{
    const struct result_population *population = around->draw->population;
    size_t r = around->r, n = around->n;
    double sum = 0;
    for (size_t a = 0; a < r; a++)
        for (size_t b = 0; b < r; b++)
            sum +=
                around->by[i + a * n] * population->covariance[a * r + b] * around->by[j + b * n];
    for (size_t o = 0; o < around->q && is_same; o++) {
        double deviation = population->occasion_deviation[o];
        sum += around->by[i + (r + o) * n] * deviation * deviation * around->by[j + (r + o) * n];
    }
    return sum;
}

/* y less its expectation in the linearised model. */
static double expected_residual(const struct around *around, size_t i, double residual)
{
    size_t e = experiment_of(around, i), n = around->n;
    for (size_t a = 0; a < around->r; a++)
        residual += around->by[i + a * n] * effect_of(around, a);
    for (size_t o = 0; o < around->q; o++)
        residual += around->by[i + (around->r + o) * n] * around->effect[e * around->q + o];
    return residual;
}

/* x = V^-1/2 x (n), V destroyed. False: V has no root, or out of memory. */
static bool whiten(size_t n, double *v, double *x, bool *is_there, struct arena *arena)
{
    uint32_t *index = arena_calloc(arena, n + 1, sizeof *index);
    double *factor, *values, *vectors, *along;
    if (!index || !ARENA_DOUBLES(arena, {&factor, n, n}, {&values, n, 1}, {&vectors, n, n},
                                 {&along, n, 1}))
        return false;
    for (uint32_t i = 0; i < n; i++)
        index[i] = i;
    *is_there = n > 0 && matrix_factor(n, v, n, index, factor);
    if (!*is_there)
        return true;
    if (n > MOST_SYMMETRIC) {
        matrix_solve_lower(n, factor, x);
        return true;
    }
    matrix_singular(n, n, v, NULL, values, vectors);
    for (size_t k = 0; k < n; k++)
        along[k] = matrix_dot(n, vectors + k * n, x) / sqrt(values[k]);
    for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        for (size_t k = 0; k < n; k++)
            x[i] += vectors[i + k * n] * along[k];
    }
    return true;
}

/* The residuals of rows that are known and not censored. */
static bool put_conditional(struct around *around, const double *residual, const double *sigma,
                            double *conditional, struct arena *arena)
{
    size_t n = 0, *row = arena_calloc(arena, around->n + 1, sizeof *row);
    double *v, *x;
    bool is_there;
    for (size_t i = 0; row && i < around->n; i++) {
        conditional[i] =
            isnan(residual[i]) ? (double)NAN : expected_residual(around, i, residual[i]);
        if (isfinite(conditional[i]))
            row[n++] = i;
        else
            conditional[i] = NAN;
    }
    if (!row || !ARENA_DOUBLES(arena, {&v, n, n}, {&x, n, 1}))
        return false;
    for (size_t i = 0; i < n; i++) {
        x[i] = conditional[row[i]];
        for (size_t j = 0; j <= i; j++) {
            bool is_same = experiment_of(around, row[i]) == experiment_of(around, row[j]);
            v[i + j * n] = v[j + i * n] = covariance_of(around, row[i], row[j], is_same)
                                          + (i == j ? sigma[row[i]] * sigma[row[i]] : 0);
        }
    }
    if (!whiten(n, v, x, &is_there, arena))
        return false;
    for (size_t i = 0; i < n; i++)
        conditional[row[i]] = is_there ? x[i] : (double)NAN;
    return true;
}

static bool make_around(struct around *around, struct population_draw *draw,
                        const struct fitted_dataset *data, struct arena *arena)
{
    const size_t *row = data->block->row;
    size_t n_parameter = problem_n_parameter(draw->fitted->problem);
    size_t n = row[data->end] - row[data->first], n_experiment = data->end - data->first;
    size_t r = draw->population->r, q = draw->population->q;
    *around = (struct around){.draw = draw, .data = data, .n = n, .n_experiment = n_experiment,
                              .r = r, .q = q, .errors = fitted_errors(draw->fitted, data),
                              .measured = measurements_from(&data->block->measured,
                                                            row[data->first])};
    return ARENA_DOUBLES(arena, {&around->p, n_parameter, 1},
                         {&around->moved, n_parameter, 1}, {&around->effect, n_experiment, q},
                         {&around->other, n_experiment, q}, {&around->by, n, r + q});
}

static bool find_conditional(struct around *around, const double *residual, const double *sigma,
                             double *conditional, struct arena *arena)
{
    struct population_draw *draw = around->draw;
    const struct result_population *population = draw->population;
    const struct fitted_dataset *data = around->data;
    struct fitted_dataset sharp = *data;
    struct fit_record record = *data->record;
    double rtol = draw->fitted->predictor.rtol;
    size_t n = around->n;
    record.rtol = TIGHTER * (record.rtol > 0 && record.rtol < rtol ? record.rtol : rtol);
    sharp.record = &record;
    around->data = &sharp;
    for (size_t a = 0; a < around->r; a++)
        differ(around, draw->random[a], NULL, population->standard_deviation[a],
               around->by + a * n);
    for (size_t o = 0; o < around->q; o++)
        differ(around, draw->fitted->occasion[o], &o, population->occasion_deviation[o],
               around->by + (around->r + o) * n);
    around->data = data;
    return put_conditional(around, residual, sigma, conditional, arena);
}

bool population_mode_residuals(struct population_draw *draw, const struct fitted_dataset *data,
                               double *individual, double *weighted, double *conditional,
                               struct arena *arena)
{
    struct around around;
    double *sigma, *residual;
    if (!make_around(&around, draw, data, arena)
        || !ARENA_DOUBLES(arena, {&sigma, around.n, 1}, {&residual, around.n, 1}))
        return false;
    for (size_t i = 0; i < around.n; i++)
        individual[i] = weighted[i] = conditional[i] = NAN;
    if (!data->p)
        return true;
    memcpy(around.p, data->record->parameter,
           problem_n_parameter(draw->fitted->problem) * sizeof *around.p);
    if (around.q > 0) {
        if (!occasions_find(draw->fitted, data))
            return false;
        memcpy(around.effect, draw->fitted->occasions->found,
               around.n_experiment * around.q * sizeof *around.effect);
    }
    if (!population_draw_predict(draw, data, around.p, around.effect))
        return true;
    memcpy(individual, draw->prediction, around.n * sizeof *individual);
    for (size_t i = 0; i < around.n; i++) {
        struct residual of = residual_of(&around.errors, &around.measured, i, individual[i],
                                         draw->noise[i]);
        sigma[i] = of.sigma;
        residual[i] = of.residual;
        weighted[i] = of.weighted;
    }
    return find_conditional(&around, residual, sigma, conditional, arena);
}
