/* A few quadratic steps within one step of the search: first with reweighted squares, which always lead downhill but creep
 * along kinks; then Newton's with the rounded kinks, which find the right kinks at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/trust_model.h"

#include "fit/matrix.h"

#include <math.h>
#include <string.h>

bool trust_kinks_init(struct trust_kinks *kinks, const struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    return ARENA_DOUBLES(arena, {&kinks->theta, n, 1}, {&kinks->step, n, 1}, {&kinks->prediction, n_row, 1},
                         {&kinks->weight, n_row, 1}, {&kinks->residual, n_row, 1}, {&kinks->noise, n_row, 1},
                         {&kinks->p, asker->map.n_parameter, 1});
}

/* to = from + slopes (n_row x n) times chain times step. */
static void go(size_t n_row, const struct fit_point *best, size_t n, const double *slopes, const double *from,
               const double *step, double *to)
{
    memcpy(to, from, n_row * sizeof *to);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n_row && step[j] != 0; i++)
            to[i] += slopes[i + j * n_row] * (best->chain[j] * step[j]);
}

double trust_kinks_value(struct trust_kinks *kinks, const struct fit_asker *asker, const struct fit_point *best,
                         const double *step, struct fit_answer *answer)
{
    size_t n = asker->map.n_free, n_row = asker->objective.n_row;
    for (size_t j = 0; j < n; j++)
        kinks->theta[j] = best->theta[j] + step[j];
    if (!fit_map_natural(&asker->map, kinks->theta, kinks->p))
        return INFINITY;
    go(n_row, best, n, best->d_prediction, best->prediction, step, kinks->prediction);
    *answer = fit_point_answer(asker, best);
    answer->prediction = kinks->prediction;
    answer->theta = kinks->theta;
    answer->p = kinks->p;
    answer->weight = kinks->weight;
    answer->residual = kinks->residual;
    if (best->noise) {
        go(n_row, best, n, best->d_noise, best->noise, step, kinks->noise);
        answer->noise = kinks->noise;
        for (size_t i = 0; i < n_row; i++)
            if (!(kinks->noise[i] > 0))
                return INFINITY;
    }
    double value = fit_objective_value(&asker->objective, answer);
    return isfinite(value) ? value : INFINITY;
}

/* Sets up the model, seen from `best`, with rows at best + step; its minimum is the next step. */
static void take_rows(struct trust_model *model, const struct fit_answer *answer, const double *step, bool newton)
{
    size_t n = model->n, n_row = model->reduced.n_row;
    double *a = model->reduced.rows, *b = model->reduced.rhs;
    fit_objective_rows(&model->asker->objective, answer, newton ? CURVATURE_KINKS : CURVATURE_ABOVE, a, b);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n_row && step[j] != 0; i++)
            b[i] -= a[i + j * n_row] * step[j];
    matrix_triangle(n_row, n, a, b, model->triangle, model->rhs);
    trust_model_forget_singular(model);
}

/* Logarithms and noise are not convex, and linear predictions may leave their domain: halves the model's step until it is
 * better than no step. Returns its value. */
static double cut(struct trust_kinks *kinks, struct trust_model *model, const struct fit_point *best, double first)
{
    struct fit_answer answer;
    double value = INFINITY;
    for (int i = 0; i < TRUST_KINKS_CUT && !(value < first); i++) {
        for (size_t j = 0; j < model->n; j++)
            model->step[j] *= 0.5;
        value = trust_kinks_value(kinks, model->asker, best, model->step, &answer);
    }
    model->is_restricted = true;
    return value;
}

void trust_kinks_step(struct trust_kinks *kinks, struct trust_model *model, const struct fit_point *best)
{
    size_t bytes = model->n * sizeof *kinks->step;
    struct fit_answer answer;
    bool newton = false, is_restricted = false;
    memset(kinks->step, 0, bytes);
    double first = trust_kinks_value(kinks, model->asker, best, kinks->step, &answer), least = first;
    for (int i = 0; i < TRUST_KINKS_INNER; i++) {
        trust_kinks_value(kinks, model->asker, best, kinks->step, &answer);
        take_rows(model, &answer, kinks->step, newton);
        trust_model_step(model, best);
        double value = trust_kinks_value(kinks, model->asker, best, model->step, &answer);
        if (i == 0 && !(value < first))
            value = cut(kinks, model, best, first);
        double gain = least - value;
        bool better = gain > 0;
        if (better) {
            memcpy(kinks->step, model->step, bytes);
            is_restricted = model->is_restricted;
            least = value;
        } else if (!newton) {
            break;
        }
        if (better && gain <= TRUST_KINKS_LITTLE * (first - least))
            break;
        newton = better;
    }
    double *zero = kinks->theta;
    memset(zero, 0, bytes);
    answer = fit_point_answer(model->asker, best);
    take_rows(model, &answer, zero, false);
    memcpy(model->step, kinks->step, bytes);
    model->promise = fmax(first - least, 0);
    model->length = trust_model_length(model, model->step);
    model->is_restricted = is_restricted;
}
