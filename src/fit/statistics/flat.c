/* Groups are found from the projector onto the flat directions, because a basis of them may be
 * any mixture. In the projector, two independent combinations of parameters are two blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/statistics/flat.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <string.h>

/* A parameter with a smaller share than this of a flat direction is not part of it. The share
 * must also exceed the uncertainty of the direction (the smallest singular value that counts
 * over the next known one), up to the second number. */
static const double PART_OF_FLAT = 1e-3, PART_MOST = 0.1;

/* Of equal candidates the first is taken in every fit, although rounding makes one of them the
 * largest. */
static const double CLEARLY = 1.01;

/* A standard deviation of ten decades, or of ten times the range of the bounds, carries no
 * information, and the derivatives are not valid that far away. */
static const double DECADES_MOST = 10, BOUNDS_MOST = 10;

/* A direction is unbounded if censored measurements give all its information but the first part,
 * and less than the second part of what they would give if their values were known (as one 3.1
 * standard deviations within its limit does). */
static const double PART_OF_VALUES = 0.01, LEFT_LEAST = 0.01;

bool fit_flat_init(struct fit_flat *flat, size_t n_free, struct arena *arena)
{
    *flat =
        (struct fit_flat){.projector = arena_calloc(arena, n_free + 1, n_free * sizeof(double) + 1),
                          .is_flat = arena_calloc(arena, n_free + 1, 1),
                          .through = arena_calloc(arena, n_free + 1, sizeof(uint32_t)),
                          .group = arena_calloc(arena, n_free + 1, sizeof(uint32_t))};
    return flat->projector && flat->is_flat && flat->through && flat->group;
}

static void project(struct fit_flat *flat)
{
    size_t n = flat->spectrum->n;
    memset(flat->projector, 0, n * n * sizeof *flat->projector);
    for (size_t k = flat->spectrum->n_known; k < n; k++) {
        const double *v = flat->spectrum->v + k * n;
        for (size_t d = 0; d < n; d++)
            for (size_t c = 0; c < n; c++)
                flat->projector[c + d * n] += v[c] * v[d];
    }
}

void fit_flat_take(struct fit_flat *flat, struct fit_spectrum *spectrum)
{
    size_t n = spectrum->n, n_known = spectrum->n_known;
    double uncertain = n_known > 0 && n_known < n ? spectrum->least / spectrum->s[n_known - 1] : 0;
    flat->spectrum = spectrum;
    flat->is_one_sided = false;
    flat->part = fmax(PART_OF_FLAT, fmin(uncertain, PART_MOST));
    for (size_t k = 0; k < n; k++) {
        flat->is_flat[k] = k >= n_known;
        flat->through[k] = flat->group[k] = 0;
    }
    if (n_known < n)
        project(flat);
}

/* Whether parameter c takes part in a direction without influence. */
static bool is_part(const struct fit_flat *flat, size_t c)
{
    size_t n = flat->spectrum->n;
    return flat->spectrum->n_known < n && flat->projector[c + c * n] > flat->part * flat->part;
}

/* The largest meaningful standard deviation on the optimiser's scale. */
static double widest(const struct fit_map *map, size_t j)
{
    double decades = map->scale[j] == SCALE_LOG     ? DECADES_MOST * 2.302585092994045684
                     : map->scale[j] == SCALE_LOG10 ? DECADES_MOST
                                                    : INFINITY;
    return fmin(decades, BOUNDS_MOST * (map->upper[j] - map->lower[j]));
}

void fit_censored_fill(const struct fit_censored *censored, const struct fit_asker *asker,
                       const struct fit_point *point)
{
    const struct fit_objective *objective = &asker->objective;
    struct fit_answer answer = fit_point_answer(asker, point);
    size_t n = asker->map.n_free, n_row = censored->n_row;
    memset(censored->slope, 0, n_row * n * sizeof *censored->slope);
    for (size_t i = 0; i < n_row; i++) {
        double r, weight, value;
        censored->curvature[i] = censored->factor[i] = 0;
        if (fit_objective_plain(objective, &answer, i, &r, &weight, &value))
            continue;
        censored->curvature[i] = fit_objective_censored(objective, &answer, i, r).curvature;
        censored->factor[i] =
            fit_objective_loss(objective, i)->is_log ? weight / answer.prediction[i] : weight;
        for (size_t j = 0; j < n; j++)
            censored->slope[i + j * n_row] = answer.d_prediction[i + j * n_row] * answer.chain[j];
    }
}

/* The change of row i along a direction (n, optimiser's scale), in standard deviations; 0 for
 * rows that are not censored. */
static double censored_change(const struct fit_flat *flat, const struct fit_censored *censored,
                              size_t i, const double *direction)
{
    double change = 0;
    for (size_t c = 0; c < flat->spectrum->n; c++)
        change += censored->slope[i + flat->spectrum->loose[c] * censored->n_row] * direction[c];
    return change * censored->factor[i];
}

/* Of information 1 if known; otherwise of length 1 in units of the parameters' sizes. */
static void take_direction(const struct fit_flat *flat, const struct fit_map *map,
                           const double *theta, size_t k, double *direction)
{
    const struct fit_spectrum *spectrum = flat->spectrum;
    for (size_t c = 0; c < spectrum->n; c++) {
        size_t j = spectrum->loose[c];
        double size = map->scale[j] == SCALE_LIN ? fit_map_size(map, j, theta[j]) : 1;
        direction[c] = spectrum->v[c + k * spectrum->n];
        direction[c] *= k < spectrum->n_known ? 1 / spectrum->s[k] / spectrum->scale[c] : size;
    }
}

/* Replaces the known directions by others of information 1 each, ordered by how much censored
 * rows would say about them if their values were known. Otherwise each could mix what is known
 * with what is not. */
static void separate(const struct fit_flat *flat, const struct fit_censored *censored,
                     const struct fit_map *map, const double *theta, double *scratch)
{
    struct fit_spectrum *spectrum = flat->spectrum;
    size_t n = spectrum->n, m = spectrum->n_known, n_row = censored->n_row;
    double *changes = spectrum->rows, *turned = spectrum->rows;
    memset(spectrum->rhs, 0, n_row * sizeof *spectrum->rhs);
    for (size_t k = 0; k < m; k++) {
        take_direction(flat, map, theta, k, scratch);
        for (size_t i = 0; i < n_row; i++)
            changes[i + k * n_row] = censored_change(flat, censored, i, scratch);
    }
    matrix_triangle(n_row, m, changes, spectrum->rhs, spectrum->basis, spectrum->q);
    matrix_singular(m, m, spectrum->basis, NULL, spectrum->q, scratch);
    memset(turned, 0, n * m * sizeof *turned);
    for (size_t l = 0; l < m; l++)
        for (size_t k = 0; k < m; k++)
            for (size_t c = 0; c < n; c++)
                turned[c + l * n] += spectrum->v[c + k * n] / spectrum->s[k] * scratch[k + l * m];
    memcpy(spectrum->v, turned, n * m * sizeof *turned);
    for (size_t k = 0; k < m; k++)
        spectrum->s[k] = 1;
}

/* Marks the parameters that direction k mainly leaves open. */
static void open_direction(struct fit_flat *flat, size_t k, const double *covariance)
{
    const struct fit_spectrum *spectrum = flat->spectrum;
    size_t n = spectrum->n;
    flat->is_flat[k] = 1;
    for (size_t c = 0; c < n; c++) {
        double part = spectrum->v[c + k * n] / spectrum->s[k] / spectrum->scale[c];
        if (!is_part(flat, c) && part * part > 0.5 * covariance[c + c * n])
            flat->through[c] = (uint32_t)k + 1;
    }
}

void fit_flat_open(struct fit_flat *flat, const struct fit_censored *censored,
                   const struct fit_map *map, const double *theta, const double *covariance,
                   double *scratch)
{
    struct fit_spectrum *spectrum = flat->spectrum;
    if (censored->n_row == 0)
        return;
    fit_spectrum_directions(spectrum);
    separate(flat, censored, map, theta, scratch);
    for (size_t k = 0; k < spectrum->n; k++) {
        bool is_known = k < spectrum->n_known;
        double left = 0, full = 0;
        take_direction(flat, map, theta, k, scratch);
        for (size_t i = 0; i < censored->n_row; i++) {
            double change = censored_change(flat, censored, i, scratch);
            left += censored->curvature[i] * change * change;
            full += change * change;
        }
        bool is_open = is_known ? 1 - left < PART_OF_VALUES && left < LEFT_LEAST * full : full > 1;
        flat->is_one_sided |= is_open;
        if (is_open && is_known)
            open_direction(flat, k, covariance);
    }
}

void fit_flat_widen(struct fit_flat *flat, const struct fit_map *map, const double *covariance,
                    double factor)
{
    struct fit_spectrum *spectrum = flat->spectrum;
    size_t n = spectrum->n;
    for (size_t c = 0; c < n; c++) {
        double limit = widest(map, spectrum->loose[c]), most = 0;
        if (is_part(flat, c) || !(factor * factor * covariance[c + c * n] > limit * limit))
            continue;
        fit_spectrum_directions(spectrum);
        for (size_t k = 0; k < spectrum->n_known; k++) {
            double part = fabs(spectrum->v[c + k * n] / spectrum->s[k]);
            if (part > most) {
                most = part;
                flat->through[c] = (uint32_t)k + 1;
            }
        }
        if (flat->through[c] > 0)
            flat->is_flat[flat->through[c] - 1] = 1;
    }
}

/* Gives both the same label. */
static void join(struct fit_flat *flat, size_t a, size_t b, uint32_t *n_label)
{
    uint32_t *group = flat->group;
    if (group[a] == 0)
        group[a] = ++*n_label;
    uint32_t from = group[b];
    group[b] = group[a];
    for (size_t c = 0; from > 0 && from != group[a] && c < flat->spectrum->n; c++)
        group[c] = group[c] == from ? group[a] : group[c];
}

/* Numbers the labels from 1 in the order of the parameters. */
static void renumber(struct fit_flat *flat, uint32_t n_label)
{
    size_t n = flat->spectrum->n;
    flat->n_group = 0;
    for (size_t c = 0; c < n; c++) {
        uint32_t old = flat->group[c];
        if (old == 0 || old > n_label) /* new numbers lie above the old ones */
            continue;
        flat->n_group++;
        for (size_t d = c; d < n; d++)
            if (flat->group[d] == old)
                flat->group[d] = n_label + (uint32_t)flat->n_group;
    }
    for (size_t c = 0; c < n; c++)
        flat->group[c] -= flat->group[c] > 0 ? n_label : 0;
}

void fit_flat_group(struct fit_flat *flat)
{
    const struct fit_spectrum *spectrum = flat->spectrum;
    size_t n = spectrum->n;
    uint32_t n_label = 0;
    flat->n_flat = 0;
    for (size_t k = 0; k < n; k++)
        flat->n_flat += flat->is_flat[k];
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d <= c; d++) {
            const double *p = flat->projector;
            double shared = p[c + d * n], least = flat->part * sqrt(p[c + c * n] * p[d + d * n]);
            bool is_shared = is_part(flat, c) && is_part(flat, d) && fabs(shared) > least;
            if (is_shared || (flat->through[c] > 0 && flat->through[c] == flat->through[d]))
                join(flat, c, d, &n_label);
        }
    renumber(flat, n_label);
}

/* A direction of group g, of any length: the one that moves a parameter of the group furthest,
 * which is that parameter's column of the projector. If only known directions leave the group
 * open, one of these with all its parameters. */
static void find_direction(const struct fit_flat *flat, size_t g, double *direction)
{
    const struct fit_spectrum *spectrum = flat->spectrum;
    size_t n = spectrum->n, most = n, through = n;
    for (size_t c = 0; c < n; c++) {
        if (flat->group[c] != g)
            continue;
        if (flat->through[c] == 0 &&
            (most == n || flat->projector[c + c * n] > CLEARLY * flat->projector[most + most * n]))
            most = c;
        if (flat->through[c] > 0)
            through = flat->through[c] - 1;
    }
    for (size_t c = 0; c < n; c++)
        direction[c] = most == n ? spectrum->v[c + through * n] / spectrum->scale[c]
                       : flat->group[c] == g ? flat->projector[c + most * n] / spectrum->scale[c]
                                             : 0;
}

/* The length of a vector, with the sign of its largest entry. */
static double signed_length(const double *x, size_t n)
{
    double sum = 0, largest = 0;
    for (size_t c = 0; c < n; c++) {
        sum += x[c] * x[c];
        largest = fabs(x[c]) > FIT_FLAT_LARGER * fabs(largest) ? x[c] : largest;
    }
    return copysign(sqrt(sum), largest);
}

void fit_flat_direction(const struct fit_flat *flat, double *direction, double *scratch)
{
    size_t n = flat->spectrum->n;
    memset(direction, 0, n * sizeof *direction);
    for (size_t g = 1; g <= flat->n_group; g++) {
        find_direction(flat, g, scratch);
        double length = signed_length(scratch, n);
        for (size_t c = 0; c < n; c++)
            direction[c] += scratch[c] / length;
    }
    double length = signed_length(direction, n);
    for (size_t c = 0; c < n; c++)
        direction[c] /= length;
}
