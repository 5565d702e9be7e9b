/* A model of the objective from the derivatives of all residuals, which every evaluation brings along.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/gauss_newton.h"

#include <math.h>
#include <string.h>

/* Just enough damping to factor a matrix that is singular in exact arithmetic. */
static const double DAMPING_JUDGE = 1e-8, DAMPING_LIMIT = 1e20;
/* How much of an earlier, larger diagonal is remembered: where a parameter has lost all influence the damping must not
 * vanish with it. */
static const double DIAGONAL_MEMORY = 1e-4;

bool gauss_newton_init(struct gauss_newton *model, const struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free;
    double *vectors = arena_calloc(arena, 7 * n + 1, sizeof *vectors);
    double *matrices = arena_calloc(arena, 3 * n + 1, (n + 1) * sizeof *matrices);
    uint32_t *loose = arena_calloc(arena, n + 1, sizeof *loose);
    if (!vectors || !matrices || !loose)
        return false;
    memset(model, 0, sizeof *model);
    model->asker = asker;
    model->n = n;
    model->curvature = matrices;
    model->damped = matrices + n * n;
    model->low = vectors;
    model->high = vectors + n;
    model->diagonal = vectors + 2 * n;
    model->box = (struct quadratic_box){.n = n, .matrix = model->damped, .low = model->low, .high = model->high,
                                        .step = vectors + 3 * n, .loose = loose, .factor = matrices + 2 * n * n,
                                        .scratch = vectors + 4 * n};
    return true;
}

/* Steps longer than two decades leave the region where a model of exponentials means anything. */
static double longest_step(enum parameter_scale scale)
{
    return scale == SCALE_LOG ? 4.605170185988091 : scale == SCALE_LOG10 ? 2 : INFINITY;
}

static void make_damped(struct gauss_newton *model)
{
    size_t n = model->n;
    memcpy(model->damped, model->curvature, n * n * sizeof *model->damped);
    for (size_t j = 0; j < n; j++)
        model->damped[j + j * n] += model->diagonal[j] > 0 ? model->damping * model->diagonal[j] : 1;
}

bool gauss_newton_step(struct gauss_newton *model, const struct fit_point *point)
{
    const struct fit_map *map = &model->asker->map;
    if (!model->is_current) {
        struct fit_answer answer = fit_point_answer(model->asker, point);
        fit_objective_curvature(&model->asker->objective, &answer, model->curvature);
        for (size_t j = 0; j < model->n; j++)
            model->diagonal[j] = fmax(model->curvature[j + j * model->n], DIAGONAL_MEMORY * model->diagonal[j]);
        model->is_current = true;
    }
    for (size_t j = 0; j < model->n; j++) {
        double longest = longest_step(map->scale[j]);
        model->low[j] = fmax(map->lower[j] - point->theta[j], -longest);
        model->high[j] = fmin(map->upper[j] - point->theta[j], longest);
    }
    model->box.gradient = point->gradient;
    for (make_damped(model); !quadratic_minimise(&model->box); make_damped(model)) {
        if (!(model->damping < DAMPING_LIMIT))
            return false;
        model->damping *= 10;
    }
    model->promise = -quadratic_value(model->n, model->curvature, point->gradient, model->box.step);
    return isfinite(model->promise);
}

double gauss_newton_promise_undamped(struct gauss_newton *model, const struct fit_point *point)
{
    double damping = model->damping, promise = INFINITY;
    if (damping <= DAMPING_JUDGE)
        return model->promise;
    model->damping = DAMPING_JUDGE;
    if (gauss_newton_step(model, point))
        promise = model->promise;
    model->damping = damping;
    return gauss_newton_step(model, point) ? promise : INFINITY;
}

double gauss_newton_promise_single(const struct gauss_newton *model, const struct fit_point *point)
{
    const struct fit_map *map = &model->asker->map;
    double most = 0;
    for (size_t j = 0; j < model->n; j++) {
        double g = point->gradient[j], curvature = model->curvature[j + j * model->n];
        bool held = (point->theta[j] <= map->lower[j] && g > 0) || (point->theta[j] >= map->upper[j] && g < 0);
        if (!held && g != 0)
            most = fmax(most, 0.5 * g * g / curvature);
    }
    return most;
}

bool gauss_newton_has_idle(const struct gauss_newton *model, const struct fit_point *point, double objective_scale)
{
    double accuracy = model->asker->options->accuracy, limit = 2 * accuracy * accuracy * objective_scale;
    for (size_t j = 0; j < model->n; j++) {
        double curvature = model->curvature[j + j * model->n], theta = point->theta[j];
        double change = model->asker->map.scale[j] == SCALE_LIN && theta != 0 ? theta : 1;
        if (curvature * change * change <= limit)
            return true;
    }
    return false;
}

double gauss_newton_decrement(struct gauss_newton *model, const double *gradient)
{
    const struct quadratic_box *box = &model->box;
    double sum = 0;
    for (size_t k = 0; k < box->n_loose; k++)
        box->scratch[k] = gradient[box->loose[k]];
    quadratic_solve_lower(box->n_loose, box->factor, box->scratch);
    for (size_t k = 0; k < box->n_loose; k++)
        sum += box->scratch[k] * box->scratch[k];
    return 0.5 * sum;
}

bool gauss_newton_meets_box(const struct gauss_newton *model)
{
    const struct quadratic_box *box = &model->box;
    for (size_t j = 0; j < model->n; j++)
        if (box->step[j] != 0 && (box->step[j] <= box->low[j] || box->step[j] >= box->high[j]))
            return true;
    return box->n_loose == 0;
}

void gauss_newton_target(const struct gauss_newton *model, const struct fit_point *point, double *theta)
{
    const struct fit_map *map = &model->asker->map;
    const struct quadratic_box *box = &model->box;
    for (size_t j = 0; j < model->n; j++) {
        bool to_lower = box->step[j] <= box->low[j] && box->low[j] == map->lower[j] - point->theta[j];
        bool to_upper = box->step[j] >= box->high[j] && box->high[j] == map->upper[j] - point->theta[j];
        double value = point->theta[j] + box->step[j];
        if (to_lower || value < map->lower[j])
            value = map->lower[j];
        else if (to_upper || value > map->upper[j])
            value = map->upper[j];
        theta[j] = value;
    }
}
