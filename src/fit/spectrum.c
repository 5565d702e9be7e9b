/* An orthogonal factorisation, columns brought to one length, and their singular values. No products of derivatives are
 * formed, so that what the data hardly know costs no digits of what they know well.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/spectrum.h"

#include "fit/svd.h"

#include <math.h>
#include <string.h>

/* A direction whose derivatives are smaller than this many times their accuracy, against those of its parameters on their
 * own, cannot be told from one without influence. */
static const double FLAT = 30;
/* Relative accuracy of derivatives where nothing is integrated: difference quotients have it, formulas more. */
static const double CLOSED_FORM = 1e-11;

bool fit_spectrum_init(struct fit_spectrum *spectrum, const struct fit_asker *asker, struct arena *arena)
{
    size_t n = asker->map.n_free, n_row = fit_objective_n_row(&asker->objective);
    double *matrices = arena_calloc(arena, 3 * n + 3, (n + 1) * sizeof *matrices);
    double *rows = arena_calloc(arena, n + 1, (n_row + 1) * sizeof *rows);
    uint32_t *loose = arena_calloc(arena, n + 1, sizeof *loose);
    if (!matrices || !rows || !loose)
        return false;
    double *vectors = matrices + 3 * n * n; /* 3 n and more are left */
    *spectrum = (struct fit_spectrum){.loose = loose, .triangle = matrices, .u = matrices + n * n,
                                      .v = matrices + 2 * n * n, .q = vectors, .scale = vectors + n, .s = vectors + 2 * n,
                                      .rows = rows, .rhs = rows + n * n_row};
    return true;
}

static void find_loose(struct fit_spectrum *spectrum, const struct fit_map *map, const struct fit_point *point)
{
    spectrum->n = 0;
    for (size_t j = 0; j < map->n_free; j++) {
        double g = point->gradient[j], natural = point->p[map->model_index[j]];
        bool held = (natural <= map->natural_lower[j] && g >= 0) || (natural >= map->natural_upper[j] && g <= 0);
        if (!held)
            spectrum->loose[spectrum->n++] = (uint32_t)j;
    }
}

/* Whether a change by its own size or its start's (a logarithm: by 1) moves no prediction by more than its error: then the
 * derivatives are errors, too. */
static bool has_no_influence(const struct fit_asker *asker, const struct fit_point *point, size_t j, double norm,
                             double accuracy)
{
    double change = fmax(fabs(point->theta[j]), fabs(asker->map.start[j]));
    if (asker->map.scale[j] != SCALE_LIN || change == 0)
        change = 1;
    return !(norm * change > accuracy * sqrt(2 * fit_objective_scale(&asker->objective)));
}

void fit_spectrum_take(struct fit_spectrum *spectrum, const struct fit_asker *asker, const struct fit_point *point,
                       bool information)
{
    const struct fit_objective *objective = &asker->objective;
    struct fit_answer answer = fit_point_answer(asker, point);
    find_loose(spectrum, &asker->map, point);
    size_t n = spectrum->n, n_row = fit_objective_n_row(objective);
    (information ? fit_objective_information : fit_objective_rows)(objective, &answer, spectrum->rows, spectrum->rhs);
    for (size_t c = 0; c < n; c++)
        if (spectrum->loose[c] != c)
            memcpy(spectrum->rows + c * n_row, spectrum->rows + spectrum->loose[c] * n_row,
                   n_row * sizeof *spectrum->rows);
    svd_triangle(n_row, n, spectrum->rows, spectrum->rhs, spectrum->triangle, spectrum->q);
    double accuracy = asker->options->accuracy;
    if (asker->problem->model->abi.n_state == 0)
        accuracy = fmin(accuracy, CLOSED_FORM);
    for (size_t c = 0; c < n; c++) {
        double sum = 0, *column = spectrum->triangle + c * n;
        for (size_t i = 0; i <= c; i++)
            sum += column[i] * column[i];
        bool none = has_no_influence(asker, point, spectrum->loose[c], sqrt(sum), accuracy);
        spectrum->scale[c] = none ? 1 : sqrt(sum);
        for (size_t i = 0; i < n; i++)
            spectrum->u[i + c * n] = none ? 0 : column[i] / spectrum->scale[c];
    }
    svd_jacobi(n, n, spectrum->u, spectrum->s, spectrum->v);
    spectrum->least = FLAT * accuracy;
    spectrum->n_known = 0;
    while (spectrum->n_known < n && spectrum->s[spectrum->n_known] > spectrum->least)
        spectrum->n_known++;
}

double fit_spectrum_decrease(const struct fit_spectrum *spectrum)
{
    size_t n = spectrum->n;
    double decrease = 0;
    for (size_t k = 0; k < spectrum->n_known; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += spectrum->u[i + k * n] / spectrum->s[k] * spectrum->q[i];
        decrease += 0.5 * sum * sum;
    }
    return decrease;
}
