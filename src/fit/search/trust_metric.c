/* The trust region's metric, in which lengths have no units; predicted decreases that need no
 * factorisation; and how radius and reach follow the ratio of actual to predicted decrease.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/search/trust_model.h"

#include "fit/objective/matrix.h"

#include <math.h>

/* The reach's first part of the longest valid step. It must then grow fast: with a slow growth,
 * badly determined parameters, which must go far, crept along curved valleys, and fits of a
 * reaction network took half as many evaluations again. */
static const double FIRST_PART = 0.125;

/* The parameter's own size on the optimiser's scale: a factor of e where that is logarithmic. */
static double size_of(const struct trust_model *model, const struct fit_point *point, size_t j)
{
    enum parameter_scale scale = model->asker->map.scale[j];
    return scale == SCALE_LOG     ? 1
           : scale == SCALE_LOG10 ? 0.4342944819032518 /* log10(e) */
                                  : fabs(point->theta[j]);
}

double trust_model_first_radius(const struct trust_model *model, const struct fit_point *point)
{
    double sum = 0;
    for (size_t j = 0; j < model->n; j++) {
        double size = size_of(model, point, j);
        if (model->scale[j] > 0)
            sum += model->scale[j] * size * model->scale[j] * size;
    }
    return sum > 0 ? sqrt(sum) : INFINITY;
}

void trust_model_replace_zeros(struct trust_model *model, const struct fit_point *point)
{
    double most = 0;
    for (size_t j = 0; j < model->n; j++)
        most = fmax(most, model->scale[j] * size_of(model, point, j));
    for (size_t j = 0; j < model->n; j++) {
        double size = size_of(model, point, j);
        if (!(model->scale[j] > 0))
            model->scale[j] = most > 0 && size > 0 ? -most / size : -1;
    }
}

double trust_model_promise_single(const struct trust_model *model, const struct fit_point *point)
{
    double most = 0;
    for (size_t j = 0; j < model->n; j++) {
        double g = point->gradient[j];
        if (!fit_point_is_held(&model->asker->map, point, j) && g != 0)
            most = fmax(most, 0.5 * g * g / matrix_squares(j + 1, model->triangle + j * model->n));
    }
    return most;
}

/* The numbers are MINPACK's (More, Garbow, Hillstrom 1980, lmder), but the first one. */
double trust_radius_part(double slope, double decrease)
{
    static const double UNKNOWN = 0.25, LEAST = 0.1, MOST = 0.5;
    if (!isfinite(decrease))
        return UNKNOWN;
    return decrease < 0 ? fmin(MOST, fmax(LEAST, 0.5 * slope / (slope + decrease))) : MOST;
}

struct trust_reach trust_reach_begin(bool is_near)
{
    return (struct trust_reach){.radius = INFINITY, .part = is_near ? 1 : FIRST_PART, .lost = 1};
}

void trust_reach_grow(struct trust_reach *reach, double by)
{
    reach->part = fmin(1, by * reach->part);
}

enum trust_radius trust_reach_adapt(struct trust_reach *reach, double length, bool is_restricted,
                                    double by, double ratio, double part)
{
    static const double LOST_MOST = 1024;
    double *radius = &reach->radius;
    if (!(ratio >= TRUST_RATIO_POOR)) {
        *radius = part * fmin(*radius, length);
        reach->lost = ratio == -INFINITY ? fmin(reach->lost / part, LOST_MOST) : 1;
        return TRUST_RADIUS_SHRINKS;
    }
    trust_reach_grow(reach, by);
    if (ratio <= TRUST_RATIO_GOOD && is_restricted)
        return TRUST_RADIUS_STAYS;
    *radius = fmax(*radius, 2 * reach->lost * length);
    reach->lost = 1;
    return TRUST_RADIUS_GROWS;
}
