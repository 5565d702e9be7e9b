/* An orthogonal factorisation with columns scaled to one length, and singular values if columns
 * might be dependent. No products of derivatives are formed, so badly determined directions cost
 * well-determined ones no digits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/spectrum.h"

#include "fit/objective/matrix.h"
#include "fit/search/trust_model.h"

#include <math.h>
#include <string.h>

/* A direction whose derivatives, relative to those of its parameters one by one, are smaller
 * than this many times their accuracy cannot be distinguished from a direction without
 * influence. */
static const double FLAT = 30;

bool fit_spectrum_room(struct fit_spectrum *spectrum, size_t n, size_t n_row, struct arena *arena)
{
    *spectrum = (struct fit_spectrum){.loose = arena_calloc(arena, n + 1, sizeof *spectrum->loose)};
    return spectrum->loose
           && ARENA_SPACE(arena, {&spectrum->rows, n_row, n}, {&spectrum->rhs, n_row, 1})
           && ARENA_DOUBLES(arena, {&spectrum->triangle, n, n}, {&spectrum->basis, n, n},
                            {&spectrum->v, n, n}, {&spectrum->q, n, 1}, {&spectrum->scale, n, 1},
                            {&spectrum->s, n, 1}, {&spectrum->beyond, n, 1});
}

bool fit_spectrum_init(struct fit_spectrum *spectrum, const struct fit_asker *asker,
                       struct arena *arena)
{
    return fit_spectrum_room(spectrum, asker->map.n_free, fit_objective_n_row(&asker->objective),
                             arena);
}

static bool is_held(const struct fit_map *map, const struct fit_point *point, size_t j)
{
    double g = point->gradient[j], natural = point->p[map->file_index[j]];
    return (natural <= map->natural_lower[j] && g >= 0) ||
           (natural >= map->natural_upper[j] && g <= 0);
}

struct fit_spectrum_unit fit_spectrum_unit(const struct fit_asker *asker,
                                           struct fit_accuracy accuracy, double size, double n_row)
{
    double error = asker->prediction_error;
    if (isnan(error)) /* not measured */
        error = fit_asker_rtol(asker, accuracy.tighter) * size;
    if (accuracy.gradient == GRADIENT_differences)
        error = fmax(error, fit_asker_accuracy(asker, accuracy) * size);
    return (struct fit_spectrum_unit){fmax(error, FIT_QUOTIENT_ROUNDING * size),
                                      FIT_QUOTIENT_ROUNDING * sqrt(n_row)};
}

/* A change by the parameter's own size, or by its start's; if 0 is all that is known of its
 * size, any change. */
bool fit_spectrum_is_idle(const struct fit_map *map, size_t j, double theta,
                          const struct fit_spectrum_unit *unit, double norm, double beyond)
{
    double change = fit_map_size(map, j, theta), width = map->upper[j] - map->lower[j];
    if (map->size[j] == 0 && map->scale[j] == SCALE_LIN) { /* 0 is no size */
        if (!(width < INFINITY)) /* what its influence should be compared with is unknown */
            return !(norm > 0) && !(beyond > 0);
        change = fmax(change, width);
    }
    return !(norm * change > unit->error) && !(beyond * change > unit->rounding);
}

/* Stores R with columns of length 1 (0 for a parameter without influence) in `to`. */
static void take_columns(const struct fit_spectrum *spectrum, double *to)
{
    size_t n = spectrum->n;
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < n; i++)
            to[i + c * n] =
                spectrum->scale[c] > 0 ? spectrum->triangle[i + c * n] / spectrum->scale[c] : 0;
}

/* True: all directions are known, and the basis is computed. */
static bool is_all_known(struct fit_spectrum *spectrum)
{
    double least = matrix_invert(spectrum->n, spectrum->triangle, spectrum->scale, spectrum->basis);
    return spectrum->n_idle == 0 && least > fmax(spectrum->least, MATRIX_WELL_CONDITIONED);
}

/* q, unless NULL, becomes U'q. */
static void find_directions(struct fit_spectrum *spectrum, double *q)
{
    take_columns(spectrum, spectrum->basis);
    matrix_singular(spectrum->n, spectrum->n, spectrum->basis, q, spectrum->s, spectrum->v);
    for (size_t c = 0; c < spectrum->n; c++)
        spectrum->scale[c] = spectrum->scale[c] > 0 ? spectrum->scale[c] : 1;
    spectrum->has_directions = true;
}

void fit_spectrum_directions(struct fit_spectrum *spectrum)
{
    if (!spectrum->has_directions)
        find_directions(spectrum, NULL);
}

void fit_spectrum_decompose(struct fit_spectrum *spectrum, double accuracy)
{
    size_t n = spectrum->n;
    spectrum->least = FLAT * accuracy;
    spectrum->n_idle = 0;
    for (size_t c = 0; c < n; c++)
        spectrum->n_idle += !(spectrum->scale[c] > 0);
    spectrum->has_directions = false;
    spectrum->n_known = n;
    if (is_all_known(spectrum))
        return;
    find_directions(spectrum, spectrum->q);
    spectrum->n_known = 0;
    while (spectrum->n_known < n && spectrum->s[spectrum->n_known] > spectrum->least)
        spectrum->n_known++;
    for (size_t k = 0; k < spectrum->n_known; k++)
        for (size_t c = 0; c < n; c++)
            spectrum->basis[c + k * n] =
                spectrum->v[c + k * n] / spectrum->s[k] / spectrum->scale[c];
}

void fit_spectrum_take(struct fit_spectrum *spectrum, const struct fit_asker *asker,
                       struct fit_accuracy accuracy, const struct fit_point *point,
                       bool information)
{
    const struct fit_objective *objective = &asker->objective;
    struct fit_answer answer = fit_point_answer(asker, point);
    spectrum->n = 0;
    for (size_t j = 0; j < asker->map.n_free; j++)
        if (!is_held(&asker->map, point, j))
            spectrum->loose[spectrum->n++] = (uint32_t)j;
    size_t n = spectrum->n, n_row = fit_objective_n_row(objective);
    fit_objective_rows(objective, &answer, information ? CURVATURE_EXPECTED : CURVATURE_ABOVE,
                       spectrum->rows, spectrum->rhs);
    for (size_t c = 0; c < n; c++)
        if (spectrum->loose[c] != c)
            memcpy(spectrum->rows + c * n_row, spectrum->rows + spectrum->loose[c] * n_row,
                   n_row * sizeof *spectrum->rows);
    for (size_t c = 0; c < n; c++)
        spectrum->beyond[c] = sqrt(matrix_squares(n_row - objective->n_row,
                                                  spectrum->rows + objective->n_row + c * n_row));
    matrix_triangle(n_row, n, spectrum->rows, spectrum->rhs, spectrum->triangle, spectrum->q);
    struct fit_spectrum_unit unit = fit_spectrum_unit(asker, accuracy, fit_point_size(asker, point),
                                                      (double)objective->n_row);
    for (size_t c = 0; c < n; c++) {
        double length = sqrt(matrix_squares(n, spectrum->triangle + c * n));
        size_t j = spectrum->loose[c];
        bool none = fit_spectrum_is_idle(&asker->map, j, point->theta[j], &unit, length,
                                         spectrum->beyond[c]);
        spectrum->scale[c] = none ? 0 : length;
    }
    fit_spectrum_decompose(spectrum, fit_asker_accuracy(asker, accuracy));
}

double fit_spectrum_decrease(const struct fit_spectrum *spectrum, const struct fit_map *map)
{
    double decrease = 0;
    for (size_t k = 0; k < spectrum->n_known; k++) {
        /* the step, in units of the longest one for which the derivatives mean anything */
        double q = spectrum->q[k], most = 1;
        for (size_t c = 0; c < spectrum->n; c++)
            most = fmax(most, fabs(spectrum->basis[c + k * spectrum->n] * q)
                              / trust_model_longest_step(map->scale[spectrum->loose[c]]));
        double part = 1 / most;
        decrease += 0.5 * q * q * part * (2 - part);
    }
    return decrease;
}
