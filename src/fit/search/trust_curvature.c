/* Estimates of the second derivatives that Gauss and Newton omit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/trust_curvature.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* The gradient must grow along a step by this part of both lengths, in the trust region's
 * metric; otherwise the update would not be bounded. */
static const double LEAST_GROWTH = 1e-8;
/* A model that errs by no more than the first part of the decrease stays in use. Along a
 * restricted step the second derivatives are given up only if the error without them is below
 * the second part of that with them: along short steps in a valley both models predict much the
 * same, which tells nothing of the directions in which only one of them is right. Steps that
 * nothing restricts end the fit, and Gauss and Newton's model, which converges fastest where it
 * is right, is to judge what is left. */
static const double GOOD = 0.25, BETTER = 0.5;

/* A difference's step changes the residuals by this part of their size, and the parameter by at
 * most this part of its own. */
static const double DIFFERENCE = 1e-3;

bool trust_curvature_init(struct trust_curvature *curvature, const struct fit_asker *asker,
                          struct arena *arena)
{
    size_t n = asker->map.n_free;
    *curvature = (struct trust_curvature){.n = n};
    return ARENA_DOUBLES(arena, {&curvature->s, n, n}, {&curvature->step, n, 1},
                         {&curvature->y, n, 1}, {&curvature->z, n, 1}, {&curvature->scaled, n, 1},
                         {&curvature->v, n, n}, {&curvature->rows, 2 * n, n + 1});
}

void trust_curvature_forget(struct trust_curvature *curvature)
{
    memset(curvature->s, 0, curvature->n * curvature->n * sizeof *curvature->s);
    curvature->is_used = curvature->has_any = false;
}

/* x'S x; S x goes to curvature->scaled. */
static double along(const struct trust_curvature *curvature, const double *x)
{
    size_t n = curvature->n;
    for (size_t i = 0; i < n; i++)
        curvature->scaled[i] = matrix_dot(n, curvature->s + i * n, x);
    return matrix_dot(n, x, curvature->scaled);
}

bool trust_curvature_choose(struct trust_curvature *curvature, const double *step,
                            bool is_restricted, double promise, double decrease)
{
    if (!curvature->has_any || !isfinite(decrease))
        return false;
    double more = 0.5 * along(curvature, step),
           other = curvature->is_used ? promise + more : promise - more;
    double error = fabs(promise - decrease), other_error = fabs(other - decrease);
    bool is_good = error <= GOOD * fabs(decrease);
    bool changes = !curvature->is_used ? !is_good && other_error < error
                   : is_restricted     ? !is_good && other_error < BETTER * error
                                       : other_error < error;
    curvature->is_used = curvature->is_used != changes;
    return changes;
}

/* With the step s, the change y of the gradient, and z, the part of it that is not due to Gauss
 * and Newton's matrix: S is shrunk if it is too large along s, and then gets the least change,
 * in a metric that maps s to y, for which S s = z. */
void trust_curvature_note(struct trust_curvature *curvature, const struct fit_asker *asker,
                          const double *scale, const struct fit_point *from,
                          const struct fit_point *to)
{
    size_t n = curvature->n;
    double length = 0, growth = 0;
    double *s = curvature->step, *y = curvature->y, *z = curvature->z;
    struct fit_answer answer = fit_point_answer(asker, to);
    answer.chain = from->chain;
    answer.d_prediction = from->d_prediction;
    answer.d_noise = from->d_noise;
    fit_objective_gradient(&asker->objective, &answer, z);
    for (size_t j = 0; j < n; j++) {
        s[j] = to->theta[j] - from->theta[j];
        y[j] = to->gradient[j] - from->gradient[j];
        z[j] = to->gradient[j] - z[j];
        length += scale[j] * s[j] * scale[j] * s[j];
        growth += y[j] / scale[j] * (y[j] / scale[j]);
    }
    double before = along(curvature, s), sy = matrix_dot(n, s, y);
    double size = before != 0 ? fmin(1, fabs(matrix_dot(n, s, z) / before)) : 1;
    for (size_t i = 0; i < n * n; i++)
        curvature->s[i] *= size;
    curvature->has_any = true;
    if (!(sy > LEAST_GROWTH * sqrt(length) * sqrt(growth)))
        return;
    for (size_t j = 0; j < n; j++)
        z[j] -= size * curvature->scaled[j];
    double left = matrix_dot(n, s, z);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            curvature->s[i + j * n] +=
                (z[i] * y[j] + y[i] * z[j]) / sy - left * y[i] * y[j] / (sy * sy);
}

/* Within the bounds; 0: there is no room. */
static double difference_step(const struct fit_map *map, size_t j, double theta, double size,
                              double length)
{
    double unit = map->scale[j] == SCALE_LIN ? fabs(theta) : 1, step = DIFFERENCE * size / length;
    if (!(length > 0))
        return 0;
    step = unit > 0 ? fmin(step, DIFFERENCE * unit) : step;
    return theta + step <= map->upper[j] ? step : theta - step >= map->lower[j] ? -step : 0;
}

/* The change of the gradient by parameter j, in `order`. */
static enum asked differentiate(struct fit_asker *asker, const struct fit_point *at,
                                struct fit_point *near, const uint32_t *order, size_t j,
                                double step, double *column)
{
    size_t n = asker->map.n_free;
    memcpy(near->theta, at->theta, n * sizeof *near->theta);
    near->theta[j] += step;
    step = near->theta[j] - at->theta[j];
    enum asked asked = fit_ask(asker, asker->accuracy, near, true);
    for (size_t i = 0; i < n && asked == ASKED_OK; i++)
        column[i] = (near->gradient[order[i]] - at->gradient[order[i]]) / step;
    return asked;
}

/* An entry of R'R. */
static double product(const double *triangle, size_t n, size_t i, size_t k)
{
    return matrix_dot((i < k ? i : k) + 1, triangle + i * n, triangle + k * n);
}

enum asked trust_curvature_ask(struct trust_curvature *curvature, struct fit_asker *asker,
                               const struct fit_point *at, const uint32_t *order, double weight,
                               const double *triangle, struct arena *arena)
{
    size_t n = curvature->n;
    struct fit_point near;
    double size = sqrt(fit_point_mean_square(asker, at) * (double)asker->objective.n_row), *second;
    if (!fit_point_init(&near, asker, asker->accuracy.gradient, arena) ||
        !ARENA_DOUBLES(arena, {&second, n, n}))
        return ASKED_FAILED;
    for (size_t k = 0; k < n; k++) {
        double length = sqrt(matrix_squares(k + 1, triangle + k * n) / weight);
        double step = difference_step(&asker->map, order[k], at->theta[order[k]], size, length);
        enum asked asked = step != 0 ? differentiate(asker, at, &near, order, order[k], step,
                                                     second + k * n)
                                     : ASKED_OK;
        if (asked != ASKED_OK)
            return asked;
        for (size_t i = 0; i < n && step == 0; i++) /* Gauss and Newton's */
            second[i + k * n] = product(triangle, n, i, k) / weight;
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            curvature->s[i + k * n] = 0.5 * weight * (second[i + k * n] + second[k + i * n]) -
                                      product(triangle, n, i, k);
    curvature->is_used = curvature->has_any = true;
    return ASKED_OK;
}

void trust_curvature_add(struct trust_curvature *curvature, const double *metric, double *triangle,
                         double *q)
{
    size_t n = curvature->n;
    double *v = curvature->v, *rows = curvature->rows, *right = rows + 2 * n * n,
           *scale = curvature->z;
    if (!curvature->is_used)
        return;
    for (size_t j = 0; j < n; j++) { /* in the metric of R's columns */
        scale[j] = sqrt(matrix_squares(j + 1, triangle + j * n));
        scale[j] = scale[j] > 0 ? scale[j] : metric[j] != 0 ? fabs(metric[j]) : 1;
    }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            rows[i + j * n] = curvature->s[i + j * n] / (scale[i] * scale[j]);
    matrix_singular(n, n, rows, NULL, curvature->y, v);
    memset(rows, 0, 2 * n * (n + 1) * sizeof *rows);
    for (size_t k = 0; k < n; k++) {
        for (size_t j = 0; j < n; j++)
            curvature->step[j] = v[j + k * n] / scale[j];
        /* the singular value with the eigenvalue's sign */
        double value = along(curvature, curvature->step);
        for (size_t j = 0; j < n && value > 0; j++)
            rows[n + k + j * 2 * n] = sqrt(value) * v[j + k * n] * scale[j];
    }
    for (size_t j = 0; j < n; j++)
        memcpy(rows + j * 2 * n, triangle + j * n, (j + 1) * sizeof *rows);
    memcpy(right, q, n * sizeof *right);
    matrix_triangle(2 * n, n, rows, right, triangle, q);
}
