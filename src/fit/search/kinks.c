/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/kinks.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* The most inner steps, the most often the first one and another one are shortened, and a part of
 * the gain so far: a smaller gain does not justify another step. */
enum { MAX_INNER = 60, MAX_CUT_FIRST = 30, MAX_CUT = 4 };
static const double LITTLE = 1e-6;

bool kinks_linear_init(struct kinks_linear *linear, const struct fit_asker *asker,
                       struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    return ARENA_DOUBLES(arena, {&linear->theta, n, 1}, {&linear->step, n, 1},
                         {&linear->prediction, n_row, 1}, {&linear->weight, n_row, 1},
                         {&linear->residual, n_row, 1}, {&linear->noise, n_row, 1},
                         {&linear->p, asker->map.n_parameter, 1});
}

/* to = from + slopes (n_row x n) times chain times step. */
static void go(size_t n_row, const struct fit_point *best, size_t n, const double *slopes,
               const double *from, const double *step, double *to)
{
    memcpy(to, from, n_row * sizeof *to);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n_row && step[j] != 0; i++)
            to[i] += slopes[i + j * n_row] * (best->chain[j] * step[j]);
}

double kinks_linear_value(struct kinks_linear *linear, const struct fit_asker *asker,
                          const struct fit_point *best, const double *step,
                          struct fit_answer *answer)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    for (size_t j = 0; j < n; j++)
        linear->theta[j] = best->theta[j] + step[j];
    if (!fit_map_natural(&asker->map, linear->theta, linear->p))
        return INFINITY;
    go(n_row, best, n, best->d_prediction, best->prediction, step, linear->prediction);
    *answer = fit_point_answer(asker, best);
    answer->prediction = linear->prediction;
    answer->theta = linear->theta;
    answer->p = linear->p;
    answer->weight = linear->weight;
    answer->residual = linear->residual;
    if (best->noise) {
        go(n_row, best, n, best->d_noise, best->noise, step, linear->noise);
        answer->noise = linear->noise;
        for (size_t i = 0; i < n_row; i++)
            if (!(linear->noise[i] > 0))
                return INFINITY;
    }
    double value = fit_objective_value(&asker->objective, answer);
    return isfinite(value) ? value : INFINITY;
}

/* Whether an inner step must become shorter: one that loses next to nothing ends the search. */
static bool is_too_long(const struct kinks_search *search, double value)
{
    double little = LITTLE * (search->first - search->least);
    return !(value < search->least) && !(value - search->least <= little);
}

enum asked kinks_run(struct kinks_search *search)
{
    const struct kinks_method *method = search->method;
    search->least = search->first;
    search->newton = false;
    for (int i = 0; i < MAX_INNER; i++) {
        double value;
        enum asked asked = method->step(search, &value);
        for (int k = 0; k < (i == 0 ? MAX_CUT_FIRST : MAX_CUT) && asked == ASKED_OK; k++) {
            if (!is_too_long(search, value))
                break;
            asked = method->shorten(search, &value);
        }
        if (asked != ASKED_OK)
            return asked;
        double gain = search->least - value;
        bool is_better = gain > 0;
        method->judged(search, is_better);
        search->least = is_better ? value : search->least;
        if (is_better ? gain <= LITTLE * (search->first - search->least) : !search->newton)
            break;
        search->newton = is_better;
    }
    return ASKED_OK;
}

bool kinks_init(struct kinks *kinks, struct trust_model *model, const struct fit_asker *asker,
                struct arena *arena)
{
    size_t n = model->n, n_row = fit_objective_n_row(&asker->objective);
    *kinks = (struct kinks){.model = model, .asker = asker};
    return kinks_linear_init(&kinks->linear, asker, arena) &&
           ARENA_DOUBLES(arena, {&kinks->rows, n_row, n}, {&kinks->rhs, n_row, 1},
                         {&kinks->triangle, n, n}, {&kinks->triangle_rhs, n, 1});
}

static double value_at(struct kinks *kinks, const double *step, struct fit_answer *answer)
{
    return kinks_linear_value(&kinks->linear, kinks->asker, kinks->best, step, answer);
}

/* Sets up the model, seen from the best point, with rows at the best inner step. */
static void take_rows(struct kinks *kinks)
{
    struct trust_model *model = kinks->model;
    const struct fit_objective *objective = &kinks->asker->objective;
    size_t n = model->n, n_row = fit_objective_n_row(objective);
    const double *step = kinks->linear.step;
    struct fit_answer answer;
    value_at(kinks, step, &answer);
    fit_objective_rows(objective, &answer,
                       kinks->search.newton ? CURVATURE_KINKS : CURVATURE_ABOVE, kinks->rows,
                       kinks->rhs);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n_row && step[j] != 0; i++)
            kinks->rhs[i] -= kinks->rows[i + j * n_row] * step[j];
    matrix_triangle(n_row, n, kinks->rows, kinks->rhs, model->triangle, model->rhs);
    trust_model_forget_singular(model);
}

static enum asked step(struct kinks_search *search, double *value)
{
    struct kinks *kinks = search->context;
    struct fit_answer answer;
    take_rows(kinks);
    trust_model_step(kinks->model, kinks->best);
    *value = value_at(kinks, kinks->model->step, &answer);
    return ASKED_OK;
}

/* Half of the way: Newton's steps overshoot, logarithms and noise are not convex, and linear
 * predictions may leave their domain. */
static enum asked shorten(struct kinks_search *search, double *value)
{
    struct kinks *kinks = search->context;
    struct trust_model *model = kinks->model;
    struct fit_answer answer;
    for (size_t j = 0; j < model->n; j++)
        model->step[j] = 0.5 * (model->step[j] + kinks->linear.step[j]);
    model->is_restricted = true;
    *value = value_at(kinks, model->step, &answer);
    return ASKED_OK;
}

static void judged(struct kinks_search *search, bool is_better)
{
    struct kinks *kinks = search->context;
    if (!is_better)
        return;
    memcpy(kinks->linear.step, kinks->model->step, kinks->model->n * sizeof *kinks->linear.step);
    kinks->is_restricted = kinks->model->is_restricted;
}

static const struct kinks_method single = {.step = step, .shorten = shorten, .judged = judged};

void kinks_step(struct kinks *kinks, const struct fit_point *best)
{
    struct trust_model *model = kinks->model;
    size_t bytes = model->n * sizeof(double);
    struct kinks_search *search = &kinks->search;
    struct fit_answer answer;
    kinks->best = best;
    kinks->is_restricted = false;
    memset(kinks->linear.step, 0, bytes);
    memcpy(kinks->triangle, model->triangle, model->n * bytes);
    memcpy(kinks->triangle_rhs, model->rhs, bytes);
    *search = (struct kinks_search){.method = &single, .context = kinks};
    search->first = value_at(kinks, kinks->linear.step, &answer);
    kinks_run(search);
    memcpy(model->triangle, kinks->triangle, model->n * bytes);
    memcpy(model->rhs, kinks->triangle_rhs, bytes);
    trust_model_forget_singular(model);
    memcpy(model->step, kinks->linear.step, bytes);
    model->promise = fmax(search->first - search->least, 0);
    model->length = trust_model_length(model, model->step);
    model->is_restricted = kinks->is_restricted;
}
